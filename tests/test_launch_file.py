"""The launch file under the real launch stack, where that is installed (a ROS 2 distribution, or its public sources)."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("launch_ros", reason="the launch stack is not installed")
pytest.importorskip("ros2launch", reason="the launch stack is not installed")

import domain_coordinator
from rosbags.rosbag2 import Reader

from rotor_core.config.loader import load_scenario
from rotor_flight.warm import warm
from rotor_recordings.formats.bag_flights import read_flight
from validation.autopilots.peers import peers, vehicle_keys

ROOT = Path(__file__).parents[1]
LAUNCH = ROOT / "launch" / "sim.launch.py"
NODES = ("simulator", "visualizer", "planner", "controller")


@pytest.fixture(scope="module", autouse=True)
def kernels():
    """Compiled before: flights are short here, and compiling has tests of its own."""
    warm()


@pytest.fixture
def environment(tmp_path):
    with domain_coordinator.domain_id() as domain:
        yield {
            **os.environ,
            "ROS_DOMAIN_ID": str(domain),
            "ROS_LOG_DIR": str(tmp_path / "log"),
            "ROS_HOME": str(tmp_path),
            "PYTHONUNBUFFERED": "1",
        }


def ros2(environment, *words, timeout=90.0):
    code = "import sys; from ros2cli.cli import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        env=environment, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


def finished_cleanly(text):
    """Names of the nodes that launch says so of."""
    return set(re.findall(r"\[(\w+)-\d+\]: process has finished cleanly", text))


def test_arguments_read_well(environment):
    out = ros2(environment, "launch", LAUNCH, "--show-args").stdout
    for name in (
        "scenario",
        "rviz",
        "record",
        "controller",
        "seed",
        "pacing",
        "bag",
        "log_level",
        "foxglove",
    ):
        assert f"'{name}':" in out
    assert "Valid choices are: ['node', 'external']" in out
    assert "no description" not in out


def test_a_flight_with_a_bag(environment, tmp_path):
    """It ends when the simulator does; every node stops by itself, the bag is closed and complete."""
    bag = tmp_path / "bag"
    run = ros2(
        environment, "launch", LAUNCH, "scenario:=dragonfly_point_mass", "record:=true", f"bag:={bag}",
        "duration:=2", "seed:=3", "log_level:=info",
    )  # fmt: skip
    text = run.stdout + run.stderr
    assert run.returncode == 0, text
    assert finished_cleanly(text) == {*NODES, "recorder"} and "Traceback" not in text
    flight = read_flight(bag)
    assert flight.time[-1] - flight.time[0] == pytest.approx(2.0, abs=0.02)
    assert flight.scenario.seed == 3


def test_ctrl_c_closes_the_bag(environment, tmp_path):
    bag = tmp_path / "bag"
    code = "import sys; from ros2cli.cli import main; sys.exit(main())"
    words = [
        sys.executable,
        "-c",
        code,
        "launch",
        str(LAUNCH),
        "scenario:=hover",
        "record:=true",
        f"bag:={bag}",
    ]
    with (tmp_path / "out").open("w") as out:
        process = subprocess.Popen(
            words, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        end = time.monotonic() + 60.0
        while "recording to" not in (tmp_path / "out").read_text() and time.monotonic() < end:
            time.sleep(0.2)
        time.sleep(2.0)
        os.killpg(process.pid, signal.SIGINT)
        process.wait(40.0)
    text = (tmp_path / "out").read_text()
    assert "Traceback" not in text and finished_cleanly(text) == {*NODES, "recorder"}, text
    with Reader(bag) as reader:
        assert reader.message_count > 500


@pytest.mark.parametrize(
    "argument, words",
    [
        ("scenario:=slalon", 'did you mean "slalom"?'),
        ("controller:=mine", "Valid options are: ['node', 'external', "),
        ("rviz_config:=overvew", "overvew"),
        ("namespace:=lab", "namespace: must look like /lab2, got 'lab'"),
        ("seed:=abc", "seed: must be a whole number, got 'abc'"),
        ("real_time_factor:=fast", "real_time_factor: must be a number, got 'fast'"),
    ],
)
def test_mistakes_are_one_line(environment, argument, words):
    extra = ["rviz:=true"] if "rviz" in argument else []
    run = ros2(environment, "launch", LAUNCH, argument, *extra)
    text = run.stdout + run.stderr
    assert run.returncode == 1 and words in text and "Traceback" not in text
    assert "process started" not in text


def test_the_yaml_twin(environment, tmp_path):
    """A launch file in YAML that includes ours: what the README shows works."""
    twin = tmp_path / "mine.launch.yaml"
    twin.write_text(
        (ROOT / "launch" / "slalom.launch.yaml")
        .read_text()
        .replace('{name: rviz, value: "true"}', '{name: duration, value: "1"}')
        .replace('{name: record, value: "true"}', '{name: record, value: "false"}')
    )
    run = ros2(environment, "launch", twin)
    text = run.stdout + run.stderr
    assert run.returncode == 0 and "configured 'slalom'" in text, text


@pytest.mark.parametrize("kind, port", [("ardupilot", 9002), ("px4", 4560)])
def test_an_autopilot_in_the_loop(environment, tmp_path, kind, port):
    """``autopilot:=`` in place of the scenario's controller, at the ports that they have by themselves.

    The scripted PX4 flies by motion capture, which this scenario does not send: it stays on the ground.
    """
    bag, place = tmp_path / "bag", [0.0, 0.0, -2.0]
    vehicle = vehicle_keys(load_scenario("x500_hover", autopilot=kind), 0)
    keys = {"port": port, "vehicle": vehicle, "place": place, "boot": 2, "arm_after": 4, "ki": 0.5}
    with peers(kind, [keys], tmp_path, patience=20.0, frames=100000) as told:
        run = ros2(
            environment, "launch", LAUNCH, "scenario:=x500_hover", f"autopilot:={kind}", "record:=true",
            f"bag:={bag}", "duration:=8",
        )  # fmt: skip
    text = run.stdout + run.stderr
    assert run.returncode == 0 and "Traceback" not in text, text
    assert finished_cleanly(text) == {*NODES, "recorder"}
    assert "answers, armed" in text
    flight = read_flight(bag)
    assert flight.elapsed[-1] == pytest.approx(8.0, abs=0.05)
    height = flight["quad1"].position[-1, 2]
    assert height == pytest.approx(2.0 if kind == "ardupilot" else 0.073, abs=0.1)
    assert told["peers"][0]["n" if kind == "px4" else "replies"] > 1900


# --- how a launch ends ------------------------------------------------------------------------------


class Launched:
    """A `ros2 launch` in the background."""

    def __init__(self, environment, folder, *arguments):
        self.out = folder / "out"
        code = "import sys; from ros2cli.cli import main; sys.exit(main())"
        with self.out.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code, "launch", str(LAUNCH), *arguments],
                env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    @property
    def text(self):
        return self.out.read_text()

    def wait_for(self, words, patience=60.0):
        end = time.monotonic() + patience
        while words not in self.text and time.monotonic() < end:
            time.sleep(0.1)
        assert words in self.text, self.text

    def nodes(self):
        """Process ids by label."""
        found = re.findall(r"\[(\w+)-\d+\]: process started with pid \[(\d+)\]", self.text)
        return {name: int(pid) for name, pid in found}

    def left(self, patience=10.0):
        """Nodes that still run after a while."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            running = {n for n, pid in self.nodes().items() if Path(f"/proc/{pid}").exists()}
            if not running:
                return set()
            time.sleep(0.1)
        return running


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_node_outlives_launch(environment, tmp_path, number):
    """Neither of these lets launch stop anything; the nodes see to it, and the bag is whole."""
    bag = tmp_path / "bag"
    launched = Launched(environment, tmp_path, "scenario:=hover", "record:=true", f"bag:={bag}")
    launched.wait_for("recording to", 240.0)
    time.sleep(1.0)
    assert set(launched.nodes()) == {*NODES, "recorder"}
    launched.process.send_signal(number)
    launched.process.wait(20.0)
    assert launched.left() == set()
    with Reader(bag) as reader:
        assert reader.message_count > 100


def test_launch_fails_with_the_node_that_fails(environment, tmp_path):
    (tmp_path / "bag").mkdir()
    run = ros2(
        environment, "launch", LAUNCH, "scenario:=hover", "record:=true", f"bag:={tmp_path / 'bag'}"
    )
    text = run.stdout + run.stderr
    assert run.returncode == 1 and "exists already" in text, text
    assert "the recorder ended with code 2; what it said stands above" in text
    assert "Traceback" not in text


def test_launch_fails_with_a_node_that_is_killed(environment, tmp_path):
    launched = Launched(environment, tmp_path, "scenario:=hover")
    launched.wait_for("configured 'hover'", 240.0)
    os.kill(launched.nodes()["controller"], signal.SIGKILL)
    assert launched.process.wait(30.0) == 1
    assert "the controller was killed (SIGKILL)" in launched.text
    assert launched.left() == set()


def test_everything_is_checked_before_the_first_process_starts(environment):
    from ament_index_python.packages import get_packages_with_prefixes

    for argument, package in (("rviz:=true", "rviz2"), ("foxglove:=true", "foxglove_bridge")):
        if package in get_packages_with_prefixes():
            continue
        run = ros2(environment, "launch", LAUNCH, argument, "record:=true")
        text = run.stdout + run.stderr
        assert run.returncode == 1 and f"the package {package} is not installed here" in text
        assert "process started" not in text and "Traceback" not in text


@pytest.mark.parametrize("after", [0.6, 1.0])
def test_ctrl_c_while_nodes_are_imported_leaves_no_trace(environment, tmp_path, after):
    launched = Launched(environment, tmp_path, "scenario:=hover")
    launched.wait_for("[controller-4]: process started")  # the last of them
    time.sleep(after)
    os.killpg(launched.process.pid, signal.SIGINT)
    assert launched.process.wait(20.0) == 0
    assert "Traceback" not in launched.text and launched.left() == set()


def test_a_flight_is_saved_at_its_end_and_taken_up_again(environment, tmp_path):
    saved = tmp_path / "saved"
    launched = Launched(environment, tmp_path, "scenario:=hover", f"save_on_exit:={saved}")
    launched.wait_for("controlling quad1", 240.0)
    time.sleep(2.0)
    os.killpg(launched.process.pid, signal.SIGINT)
    assert launched.process.wait(30.0) == 0 and launched.left() == set(), launched.text
    nodes = ("simulator", "planner", "controller")
    assert {p.name for p in saved.iterdir()} == {*(f"{n}.saved" for n in nodes), "scenario.yaml"}
    run = ros2(
        environment, "launch", LAUNCH, f"scenario:={saved / 'scenario.yaml'}", "pacing:=lockstep", f"resume:={saved}",
        "duration:=100",
    )  # fmt: skip
    text = run.stdout + run.stderr
    assert run.returncode == 0 and "Traceback" not in text, text
    assert {n for n in nodes if f"[{n}]: goes on from {saved / n}.saved" in text} == set(nodes)
