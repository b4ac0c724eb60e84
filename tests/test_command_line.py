"""The command line as a user meets it: results, one-line errors, Ctrl-C, nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
ROTOR = [sys.executable, "-m", "rotor.cli"]


def rotor(*arguments, **options):
    return subprocess.run(
        [*ROTOR, *arguments], capture_output=True, text=True, timeout=120, check=False, **options
    )


def children(environment):
    """Node processes in the ROS domain of a test that are alive."""
    own = f"ROS_DOMAIN_ID={environment['ROS_DOMAIN_ID']}".encode()
    out = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().decode(errors="replace")
            domain = own in (path.parent / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        nodes = (f"/lib/rotor_{p}/" for p in ("sim", "lab", "control", "planning"))
        if domain and any(node in command for node in nodes):
            out.append(command)
    return out


@pytest.fixture
def domain():
    domain_coordinator = pytest.importorskip("domain_coordinator")
    with domain_coordinator.domain_id() as number:
        yield {**os.environ, "ROS_DOMAIN_ID": str(number)}


def test_scenarios_lists_every_file():
    from rotor_core.config.catalog import shipped

    out = rotor("scenarios")
    assert out.returncode == 0
    for name in shipped("scenarios"):
        assert name in out.stdout


def test_what_scenarios_are_made_of_is_listed_with_what_it_is():
    from rotor_core.config.catalog import shipped

    out = rotor("scenarios", "--parts").stdout
    told = {line.split()[0]: line for line in out.splitlines() if line.startswith("  ")}
    for folder in ("vehicles", "payloads", "attachments", "controllers", "trajectories"):
        assert f"{folder}:" in out
        assert all(len(told[name].split()) > 1 for name in shipped(folder))
    assert "Pappalardo et al. 2023" in told["delivery_drone"]
    few = rotor("scenarios", "--parts", "--search", "helicopter", "slung").stdout
    assert [line.split()[0] for line in few.splitlines() if line.startswith("  ")] == [
        "helicopter_slung_load"
    ]


def test_print_config_can_be_loaded(tmp_path):
    from rotor_core.config.loader import load_scenario

    out = rotor("fly", "slalom", "--print-config", "--seed", "9")
    path = tmp_path / "mine.yaml"
    path.write_text(out.stdout)
    again = load_scenario(path)
    assert again.name == "mine" and again.seed == 9 and again.model == load_scenario("slalom").model


def test_doctor_reports():
    out = rotor("doctor")
    assert out.returncode == 0
    for word in ("Python", "RMW", "domain", "cores", "kernels", "numpy"):
        assert word in out.stdout


def test_fly_writes_its_results(tmp_path):
    out = rotor("fly", "dragonfly_point_mass", "--duration", "3", "--out", str(tmp_path / "r"))
    assert out.returncode == 0, out.stderr
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert summary["flight_time_s"] == pytest.approx(3.0)
    assert summary["teams"]["payload"]["position_rmse_m"] < 0.1
    from matplotlib.image import imread

    for name in ("path_3d", "path", "errors", "tensions"):
        picture = imread(tmp_path / "r" / f"{name}.png")
        assert picture.shape[0] > 300 and np.ptp(picture[..., :3]) > 0.5
    assert "position RMSE" in out.stdout and "real-time factor" in out.stdout


def test_changes_after_the_end_are_noted(tmp_path):
    """A cut at 8 s of a flight of 2 s had not happened, without a word; one of 1 s says nothing."""
    text = Path(HERE.parent / "config/scenarios/dragonfly_point_mass.yaml").read_text()
    path = tmp_path / "cut.yaml"
    for at, noted in ((8.0, True), (1.5, False)):
        path.write_text(f"{text}changes: [{{at_s: {at}, cut: 1}}]\n")
        out = rotor("fly", str(path), "--duration", "2")
        words = "changes: 1 of 1 come after the end of this flight of 2 s (the first at_s: 8)"
        assert (words in out.stderr) == noted and ("cut" in out.stdout)
    gust = "environment: {wind: {gusts: [{start_s: 400, duration_s: 2, peak_m_s: [0, 5, 0]}]}}"
    outage = "sensing: {outages: [{entity: hexa, from_s: 500, duration_s: 1}]}"
    model = "model: {vehicles: [{use: hexacopter, name: hexa}]}\ncontroller: {use: quadrotor}"
    path.write_text(f"schema: 1\n{model}\ntrajectory: {{type: hover}}\n{gust}\n{outage}\n")
    told = rotor("fly", str(path), "--duration", "1").stderr
    assert "environment.wind.gusts: 1 of 1 come after the end" in told
    assert "sensing.outages: 1 of 1 come after the end" in told


def test_replay_writes_samples_and_events(tmp_path):
    out = rotor(
        "replay", str(HERE / "data" / "pendulum.json"), "--out", str(tmp_path / "sub" / "x.npz")
    )
    assert out.returncode == 0, out.stderr
    with np.load(tmp_path / "sub" / "x.npz") as z:
        assert z["t"].shape == (51,) and z["x"].shape == (51, 2, 3) and z["taut"].dtype == bool
    assert {e["type"] for e in json.loads((tmp_path / "sub" / "x.json").read_text())} >= {
        "snap",
        "cut",
    }


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["fly", "slalmo"], 'did you mean "slalom"?'),
        (["fly", "nowhere/x.yaml"], "there is no such file"),
        (["fly", "hover", "--duration", "-1"], "must be > 0"),
        (["fly", "hover", "--seed", "-1"], "must be >= 0"),
        (["fly", "hover", "--out", "/proc/nothing"], "cannot be made"),
        (["replay", "missing.json", "--out", "x.npz"], "cannot be read"),
        (["replay", "missing.json", "--out", "x.json"], "must end in .npz"),
        (["fly", "hover", "--duration", "inf"], "must be > 0 and finite"),
        (["demo", "slalmo"], 'did you mean "slalom"?'),
        (["dance"], "no command 'dance'"),
        (["fly", "hover", "--out", "~nosuchuser/x"], "cannot be made"),
        (["fly", "hover", "--out", "x" * 300], "cannot be made"),
        (["up", "hover", "--rviz", "~nosuchuser/x"], "no RViz configuration of this name"),
        (["up", "hover", "--rviz", "x" * 300], "no RViz configuration of this name"),
        (["play", "it's"], "it's"),
        (["play", "bag", "--start", "1e-320"], "start_s"),
        (["play", b"\xff"], "arguments of the node"),
        (["fly"], "required"),
    ],
)
def test_mistakes_are_one_clear_line(arguments, message, tmp_path):
    out = rotor(*arguments, cwd=tmp_path)
    assert out.returncode == 2
    assert message in out.stderr
    assert "Traceback" not in out.stderr
    assert list(tmp_path.iterdir()) == []


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(
        "schema: 1\nmodel: {vehicles: [{use: crazyflie, mas_kg: 0.03}]}\n"
        "controller: {use: quadrotr}\ntrajectory: {type: hover}\nseed: many\n"
    )
    out = rotor("fly", str(file), cwd=tmp_path)
    assert out.returncode == 2 and "Traceback" not in out.stderr
    lines = out.stderr.splitlines()
    assert all(line.startswith(f"error: {file}:") for line in lines)
    for place in (":2: model.vehicles[0].mas_kg", ":3: controller.use", ":5: seed"):
        assert sum(place in line for line in lines) == 1


def test_results_are_never_overwritten(tmp_path):
    (tmp_path / "precious.txt").write_text("keep")
    out = rotor("fly", "hover", "--out", str(tmp_path))
    assert out.returncode == 2 and "is not empty" in out.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["precious.txt"]


def test_every_command_has_help_with_an_example():
    top = rotor("--help")
    for command in ("demo", "fly", "up", "replay", "scenarios", "doctor"):
        assert command in top.stdout
        assert "example: ./rotor" in rotor(command, "--help").stdout


def test_demo_from_start_to_end(tmp_path, domain):
    """Four processes over DDS, a bag that the file alone decodes, a table, pictures, no process left."""
    folder = tmp_path / "demo"
    out = rotor("demo", "--duration", "3", "--out", str(folder), env=domain)
    assert out.returncode == 0, out.stderr + out.stdout
    for word in (
        "payload: position RMSE",
        "payload: attitude RMSE",
        "tension",
        "events",
        "real-time factor",
        "missed deadlines",
    ):
        assert word in out.stdout
    assert {p.name for p in folder.iterdir()} >= {
        "bag",
        "log",
        "scenario.yaml",
        "summary.json",
        "path.png",
        "path_3d.png",
        "errors.png",
        "tensions.png",
    }
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["flight_time_s"] == pytest.approx(3.0, abs=0.02)
    assert summary["teams"]["payload"]["position_error_max_m"] < 0.02
    assert summary["events"] == {"snap": 0, "slack": 0, "settle": 0, "cut": 0}

    from rosbags.rosbag2 import Reader
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    with Reader(folder / "bag") as reader:
        types = {}
        for connection in reader.connections:
            types.update(get_types_from_msg(connection.msgdef.data, connection.msgtype))
        store.register({k: v for k, v in types.items() if k not in store.fielddefs})
        counts = {}
        for connection, stamp, raw in reader.messages():
            store.deserialize_cdr(raw, connection.msgtype)
            counts[connection.topic] = counts.get(connection.topic, 0) + 1
            assert stamp >= 10**9
    assert (
        counts["/rotor/team_state"] >= 590
        and counts["/payload/ground_truth"] >= 290
        and counts["/tf_static"] >= 1
    )
    assert not children(domain)


@pytest.mark.parametrize("after", [0.8, 2.5, 5.0])
def test_interruption_closes_the_bag_and_leaves_nothing(tmp_path, domain, after):
    """Ctrl-C at different moments: while starting, at the beginning, in flight."""
    folder = tmp_path / "demo"
    process = subprocess.Popen(
        [*ROTOR, "demo", "--out", str(folder)],
        env=domain,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    # a shell shows 130 for both: Python ends by the signal itself where it came inside exec() of a text,
    # as dataclasses have while they are imported, although the interruption was caught
    assert process.returncode in (130, -signal.SIGINT), stdout + stderr
    assert "Traceback" not in stderr + stdout
    assert not children(domain)
    if (folder / "bag" / "metadata.yaml").exists():
        from rosbags.rosbag2 import Reader

        with Reader(folder / "bag") as reader:
            assert sum(1 for _ in reader.messages()) == reader.message_count
    else:
        assert not (folder / "bag").exists()


def test_demo_without_cables(tmp_path, domain):
    """A free vehicle has no tensions to draw."""
    folder = tmp_path / "demo"
    out = rotor(
        "demo", "hover", "--duration", "1", "--pacing", "lockstep", "--out", str(folder), env=domain
    )
    assert out.returncode == 0, out.stderr + out.stdout
    assert "quad1: position RMSE" in out.stdout and "tension" not in out.stdout
    assert (folder / "path.png").exists() and not (folder / "tensions.png").exists()


def test_a_second_run_in_the_same_domain_is_refused(tmp_path, domain):
    first = subprocess.Popen(
        [*ROTOR, "up", "hover", "--out", str(tmp_path / "a")], env=domain, stdout=subprocess.DEVNULL
    )
    try:
        time.sleep(1.5)
        second = rotor("up", "hover", "--out", str(tmp_path / "b"), env=domain)
        assert second.returncode == 2
        assert not (tmp_path / "b").exists()
        assert "another simulator runs there" in second.stderr and "ROS_DOMAIN_ID=" in second.stderr
    finally:
        first.send_signal(signal.SIGINT)
        first.wait(timeout=30)
    assert not children(domain)


def test_worlds_in_namespaces_do_not_see_each_other(tmp_path, domain):
    """The end of one was taken for the end of the other, with its verdict."""
    log = (tmp_path / "first.log").open("w")
    first = subprocess.Popen(
        [*ROTOR, "up", "hover", "--namespace", "/lab1", "--paused", "--out", str(tmp_path / "a")],
        env=domain, stdout=log, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        time.sleep(3.0)
        again = rotor(
            "up", "hover", "--namespace", "/lab1", "--out", str(tmp_path / "b"), env=domain
        )
        assert again.returncode == 2 and "namespace /lab1: another simulator" in again.stderr
        options = ("--pacing", "lockstep", "--duration", "2", "--out", str(tmp_path / "c"))
        second = rotor("up", "hover", "--namespace", "/lab2", *options, env=domain)
        assert second.returncode == 0, second.stderr + second.stdout
        saved = rotor("save", str(tmp_path / "half"), "--namespace", "/lab1", env=domain)
        assert saved.returncode == 0, saved.stderr
        assert saved.stdout.endswith(f"--resume {tmp_path / 'half'} --namespace /lab1\n")
        time.sleep(1.5)  # the other would have heard of it by now
        assert first.poll() is None
    finally:
        first.send_signal(signal.SIGINT)
        first.wait(timeout=30)
    assert "2.00" not in (tmp_path / "first.log").read_text()
    assert not children(domain)


def test_a_node_that_cannot_start_ends_the_run_with_its_words(tmp_path, domain):
    """The simulator refuses to run in real time without compiled kernels; the user sees why, and nothing stays."""
    out = rotor(
        "up",
        "hover",
        "--out",
        str(tmp_path / "r"),
        "--duration",
        "1",
        env={**domain, "ROTOR_UNCOMPILED": "1"},
    )
    assert out.returncode == 2
    assert (
        "the simulator ended with code 2" in out.stderr
        and "kernels are not compiled" in out.stderr
        and "allow_uncompiled" in out.stderr
    )
    assert not children(domain)
