"""The containers cannot be built here; what can be read is checked."""

import re
import stat
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text()


def test_stages_follow_each_other():
    """Every stage builds on one that exists, copies what exists, and no image is `latest` or untagged."""
    known = set()
    for base, name in re.findall(r"^FROM (\S+) AS (\S+)$", DOCKERFILE, re.M):
        assert base in known or re.fullmatch(r"\S+:\$\{ROS_DISTRO\}\S*", base), base
        known.add(name)
    assert known == {"manifests", "deps", "build", "runtime", "desktop"}
    for source, target in re.findall(r"^COPY --from=(\S+)", DOCKERFILE, re.M) and re.findall(
        r"^COPY (?!--from)(\S+) (\S+)$", DOCKERFILE, re.M
    ):
        assert (ROOT / source).exists(), source
        assert target
    for stage in re.findall(r"--from=(\S+)", DOCKERFILE):
        assert stage in known
    assert "latest" not in DOCKERFILE


def test_nothing_that_is_copied_is_ignored():
    ignored = (ROOT / ".dockerignore").read_text().split()
    for source in re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.M):
        assert source not in ignored and source.split("/")[0] not in ignored


def test_numpy_stays_what_the_message_modules_were_built_for():
    assert '"numpy<2"' in DOCKERFILE


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
