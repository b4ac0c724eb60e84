"""The containers cannot be built here; what can be read is checked."""

import re
import stat
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text()


STAGE = re.compile(r"^FROM (\S+) AS (\S+)$", re.M)


def stages():
    """Base and instructions of every stage, in order."""
    parts = STAGE.split(DOCKERFILE.replace("\\\n", " "))
    for base, name, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        yield name, base, [line.strip() for line in text.splitlines() if re.match(r"[A-Z]+ ", line)]


def sources():
    """What `docker build` sends: files under version control that .dockerignore lets through."""
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    ignored = [line for line in (ROOT / ".dockerignore").read_text().split() if "*" not in line]
    return {
        f
        for f in files.stdout.split("\n")
        if f and not any(f == i or f.startswith(f"{i}/") for i in ignored)
    }


def below(files, folder):
    """Files of a folder, by their names inside."""
    return {
        str(PurePosixPath(f).relative_to(folder)): f
        for f in files
        if f == folder or f.startswith(f"{folder}/")
    }


def walk():
    """Files of every stage: name there, file of the repository or what a build installs. As `docker build` would go."""
    images = {}
    for name, base, lines in stages():
        assert base in images or re.fullmatch(r"\S+:\$\{ROS_DISTRO\}\S*", base), base
        files, here = dict(images.get(base, {})), PurePosixPath("/")
        for line in lines:
            word, rest = line.split(" ", 1)
            if word == "WORKDIR":
                here = here / rest
            elif word == "COPY":
                words = rest.split()
                stage = (
                    words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else None
                )
                source, target = words
                target = here / target
                there = {f: f for f in sources()} if stage is None else images[stage]
                copied = below(there, source)
                assert copied, f"{name}: COPY {source}: there is no such thing"
                for inside, full in copied.items():
                    files[str(target if inside == "." else target / inside)] = there[full]
            elif word == "RUN" and "-type f ! -name package.xml -delete" in rest:
                files = {f: s for f, s in files.items() if f.endswith("/package.xml")}
            elif word == "RUN" and "colcon build" in rest:
                files |= built(files, here, rest)
        images[name] = files
    return images


def built(files, workspace, command):
    """What `colcon build --merge-install` installs, as far as a stage can lack it: CMake's folders, packages, nodes."""
    assert "--merge-install" in command
    found = {}
    packages = {
        PurePosixPath(f).parent
        for f in files
        if f.startswith(f"{workspace}/src/") and f.endswith("/package.xml")
    }
    if match := re.search(r"--packages-select (\S+)", command):
        packages = {p for p in packages if p.name == match[1]}
        assert packages, command
    if match := re.search(r"--packages-skip (\S+)", command):
        packages = {p for p in packages if p.name != match[1]}
    install = workspace / "install"
    found[str(install / "local_setup.bash")] = "colcon"
    for package in packages:
        share = install / "share" / package.name
        found[str(share / "package.xml")] = files[str(package / "package.xml")]
        cmake = files.get(str(package / "CMakeLists.txt"))
        if cmake is None:
            assert str(package / "setup.py") in files, package
            for node in re.findall(
                r'"(\w+) = ', (ROOT / files[str(package / "setup.py")]).read_text()
            ):
                found[str(install / "lib" / package.name / node)] = "colcon"
            continue
        text = (ROOT / cmake).read_text()
        for name in re.findall(r"\$\{CMAKE_CURRENT_SOURCE_DIR\}/(\w+\.\w+)", text):
            assert str(package / name) in files, f"{package.name}: CMake reads {name}"
        for name in re.findall(r'"((?:msg|srv|action)/\w+\.\w+)"', text):
            assert str(package / name) in files, f"{package.name}: CMake reads {name}"
        if package.name != "rotor_vendor":  # colcon refuses a package whose dependency is not there
            there = files | found
            assert f"{install}/share/rotor_vendor/package.xml" in there, (
                f"{package.name}: needs rotor_vendor"
            )
        for folders in re.findall(r"foreach\(folder ([\w ]+)\)", text):
            repository = package.parents[2]  # as in CMakeLists.txt of rotor_bringup
            for folder in folders.split():
                copied = below(files, str(repository / folder))
                assert copied, f"{package.name}: CMake installs {folder}/, which this stage lacks"
                found |= {
                    str(share / folder / inside): files[full] for inside, full in copied.items()
                }
    return found


def test_every_stage_has_what_its_build_reads():
    images = walk()
    assert set(images) == {"manifests", "deps", "vendor", "build", "runtime", "desktop"}
    assert "latest" not in DOCKERFILE
    runtime = images["runtime"]
    for name in re.findall(r"^source (/rotor\S+)$", (DOCKER / "entrypoint.sh").read_text(), re.M):
        assert name in runtime, f"entrypoint.sh sources {name}"
    packages = {p.parent.name for p in (ROOT / "ros2_ws" / "src").glob("*/package.xml")}
    installed = {
        PurePosixPath(f).parent.name
        for f in runtime
        if f.endswith("/package.xml") and "/share/" in f
    }
    assert installed == packages
    share = "/rotor/ros2_ws/install/share/rotor_bringup"
    assert f"{share}/launch/sim.launch.py" in runtime
    assert (
        f"{share}/examples/12_one_controller_each.py" in runtime
    )  # of one_controller_each.launch.py
    assert "/rotor/ros2_ws/install/lib/rotor_sim/simulator" in runtime


def test_a_stage_that_lacks_something_is_found(monkeypatch):
    """The walk fails where a build would."""
    monkeypatch.setattr(
        sys.modules[__name__], "DOCKERFILE", DOCKERFILE.replace("COPY examples examples\n", "")
    )
    with pytest.raises(AssertionError, match="CMake installs examples/, which this stage lacks"):
        walk()
    monkeypatch.setattr(
        sys.modules[__name__], "DOCKERFILE", DOCKERFILE.replace("COPY rviz rviz", "COPY rwiz rviz")
    )
    with pytest.raises(AssertionError, match="COPY rwiz"):
        walk()


@pytest.mark.parametrize("name", ["entrypoint.sh", "novnc.sh"])
def test_scripts_become_their_command(name):
    path = DOCKER / name
    assert path.stat().st_mode & stat.S_IXUSR
    lines = path.read_text().splitlines()
    assert lines[0] == "#!/usr/bin/env bash" and lines[-1].startswith("exec ")


def test_compose():
    """Services use stages that exist; nothing listens beyond the loopback interface."""
    compose = YAML(typ="safe").load((DOCKER / "compose.yaml").read_text())
    services = compose["services"]
    assert set(services) == {"sim", "rviz-novnc", "rviz-x11", "foxglove"}
    for service in services.values():
        assert service["network_mode"] == "host" and service["ipc"] == "host"
        assert service["environment"]["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SYSTEM_DEFAULT"
        profile = service["environment"]["FASTRTPS_DEFAULT_PROFILES_FILE"]
        _, inside = profile.split("/share/rotor_bringup/")  # of the installed workspace
        assert (ROOT / inside).is_file()
        assert "ports" not in service  # with the host's network they would not apply
        assert not service["image"].endswith("latest")
        target = service.get("build", {}).get("target")
        assert target is None or f" AS {target}\n" in DOCKERFILE
    assert services["sim"]["stop_signal"] == "SIGINT"  # as Ctrl-C: the recorder closes its bag
    assert "127.0.0.1" in services["foxglove"]["command"]
    assert "127.0.0.1:6080" in (DOCKER / "novnc.sh").read_text()
    launch = services["sim"]["command"]
    arguments = re.findall(r"(\w+):=", launch)
    declared = (ROOT / "launch" / "sim.launch.py").read_text()
    assert all(f'("{a}", ' in declared for a in arguments)
