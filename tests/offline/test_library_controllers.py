"""Controllers in shared libraries: our examples fly, and what others do wrong harms nobody else."""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from references import FLIGHTS, NO_FLIGHTS

from rotor.cli import main
from rotor_adapters.library.instance import Instance
from rotor_adapters.library.interface import HEADER, MOST_MOTORS, VERSION, declarations
from rotor_core.config.counterparts.library import LibraryControl
from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import InitialState
from rotor_core.errors import ConfigError
from rotor_flight.fly import fly
from rotor_flight.loop import ClosedLoop
from rotor_planning.trajectories.knots import through_knots
from rotor_recordings.crazyflies.grid import make_grid
from rotor_recordings.crazyflies.logs import read_crazyflie_team
from rotor_recordings.crazyflies.team_model import fit_team, team_scenario
from validation.real_flights.follow import fitted_laws, group_of

ROOT = Path(__file__).parents[2]
EXAMPLES, ODD = ROOT / "examples" / "library", ROOT / "tests" / "data" / "library" / "odd.c"

needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("c++") is None,
    reason="there is no C and C++ compiler",
)
pytestmark = needs_compiler
needs_flights = pytest.mark.skipif(not FLIGHTS.exists(), reason=NO_FLIGHTS)


def built(source: Path, folder: Path, *flags: str) -> Path:
    """The library of a source, as its first lines say that it is built."""
    compiler = "c++" if source.suffix == ".cpp" else "cc"
    out = folder / f"{source.stem}.so"
    command = [
        compiler,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-O2",
        "-shared",
        "-fPIC",
        "-I",
        str(HEADER.parent),
    ]
    subprocess.run([*command, *flags, str(source), "-lm", "-o", str(out)], check=True)
    return out


def children(pid: int) -> set[str]:
    """Processes that the main thread of a process has started and not taken leave of."""
    return set(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    for source in (EXAMPLES / "cascaded_pid.c", EXAMPLES / "team.cpp", ODD):
        built(source, folder)
    return folder


def scenario(
    folder: Path, controller: str, model: str = "vehicles: [{use: dragonfly}]", more: str = ""
):
    path = folder / "scenario.yaml"
    path.write_text(
        f"schema: 1\nmodel: {{{model}}}\ncontroller: {{type: library, {controller}}}\n{more}\n"
    )
    return load_scenario(str(path))


TEAM = (
    "vehicles: [{use: dragonfly}, {use: dragonfly}, {use: dragonfly}], payloads: [{use: point_mass}], "
    "attachments: [{type: mechanism, use: point3_0-5m}]"
)
TEAM_START = """
initial:
  - {entity: quad1, position_m: [0.2396, 0.0, 0.4386]}
  - {entity: quad2, position_m: [-0.1198, 0.2075, 0.4386]}
  - {entity: quad3, position_m: [-0.1198, -0.2075, 0.4386]}
  - {entity: payload, position_m: [0.0, 0.0, 0.0]}
"""


def test_a_vehicle_flies_a_circle_and_isolation_changes_no_bit(folder):
    """The example's error on the circle of 10 s: its loops have 1.7 and 0.6 rad/s to spare over 0.63."""
    circle = "trajectory: {use: circle_10s}"
    apart = fly(
        scenario(folder, "path: cascaded_pid.so, parameters: {kp: 6.0}", more=circle), duration=12.0
    )
    within = scenario(
        folder, "path: cascaded_pid.so, parameters: {kp: 6.0}, isolated: false", more=circle
    )
    inside = fly(within, duration=12.0)
    np.testing.assert_array_equal(apart.states, inside.states)
    wanted = apart.references[:, 0, :3]
    error = np.linalg.norm(apart["quad1"].position - wanted, axis=1)
    assert error.max() < 0.02 and error[-1] < 0.01


def test_inertial_units_have_errors_of_their_own(folder):
    """A biased gyroscope pushes it aside; the same errors in every flight and in a process of its own."""
    imu = "imu: {gyroscope_bias_rad_s: [0.05, 0, 0], gyroscope_density_rad_s_sqrt_hz: 1.0e-3}"
    clean = fly(scenario(folder, "path: cascaded_pid.so, isolated: false"), duration=2.0)
    flights = [
        fly(scenario(folder, f"path: cascaded_pid.so, {imu}, isolated: {apart}"), duration=2.0)
        for apart in ("false", "false", "true")
    ]
    for other in flights[1:]:
        np.testing.assert_array_equal(flights[0].states, other.states)
    # it holds against a moment that is not there: aside of its place
    aside = flights[0].states[-1, 0, 1] - clean.states[-1, 0, 1]
    assert 1e-3 < abs(aside) < 0.1


@needs_flights
@pytest.mark.parametrize("name", ["feb24_3cfs_window_geom_01", "feb24_3cfs_forest_opt_00"])
def test_recorded_references_fly_under_a_library(folder, name):
    """The payload of three Crazyflies on the reference that was flown, with their masses, lengths and motors."""
    team = read_crazyflie_team(FLIGHTS / f"{name}.npz")
    grid = make_grid(team)
    model, law = fit_team(team, grid), fitted_laws()[group_of(name)]
    base = team_scenario(
        team, model, lag=0.03, control=law.control, steering=(law.direction, law.rate)
    )
    # vehicles where the example's directions of rest are, half a radian from the vertical
    start = [InitialState("payload", position_m=tuple(map(float, grid.reference[0])))]
    for k, (vehicle, cable) in enumerate(zip(base.model.vehicles, base.model.cables, strict=True)):
        angle = 2.0 * np.pi * k / len(team.vehicles)
        away = np.array([np.sin(0.5) * np.cos(angle), np.sin(0.5) * np.sin(angle), np.cos(0.5)])
        place = grid.reference[0] + 0.999 * cable.length_m * away
        start.append(InitialState(vehicle.name, position_m=tuple(map(float, place))))
    library = LibraryControl("library", str(folder / "team.so"), isolated=False)
    flown = replace(base, controller=library, initial=tuple(start), plant=())
    times = grid.time - grid.time[0]
    plan = through_knots(times[::10], grid.reference[::10])
    flight = fly(flown, duration=float(times[-1]), plans={"payload": plan})
    rows = np.searchsorted(flight.elapsed, times[:-1])
    missed = np.linalg.norm(flight.states[rows, -1, :3] - grid.reference[:-1], axis=1)
    # its loops have 2 rad/s, the references change within a second: some centimetres
    assert np.sqrt(np.mean(missed**2)) < 0.03 and missed.max() < 0.06


def test_a_team_with_a_slow_part_carries_its_load_the_same_way_three_times(folder):
    flights = [
        fly(scenario(folder, "path: team.so, latency_s: 0.03", TEAM, TEAM_START), duration=4.0)
        for _ in range(3)
    ]
    for other in flights[1:]:
        np.testing.assert_array_equal(flights[0].states, other.states)
    prompt = fly(scenario(folder, "path: team.so, isolated: false", TEAM, TEAM_START), duration=4.0)
    assert not np.array_equal(flights[0].states, prompt.states)  # the latency is felt
    for flight in (flights[0], prompt):
        assert np.linalg.norm(flight["payload"].position[-1] - flight.references[-1, 0, :3]) < 0.05
        assert flight.tensions[-1].min() > 0.05


def test_statics_of_one_vehicle_are_not_those_of_another(folder):
    """Two vehicles under one library fly as each does alone, in the same process too."""
    two = "vehicles: [{use: dragonfly, name: a}, {use: dragonfly, name: b}]"
    starts = "initial: [{entity: a, position_m: [0.1, 0.0, 0.0]}, {entity: b, position_m: [0.0, 2.0, 0.3]}]"
    for how in ("isolated: true", "isolated: false"):
        control = f"path: cascaded_pid.so, {how}"
        both = fly(scenario(folder, control, two, starts), duration=2.0)
        for name, start in (("a", [0.1, 0.0, 0.0]), ("b", [0.0, 2.0, 0.3])):
            alone = scenario(
                folder, control, f"vehicles: [{{use: dragonfly, name: {name}}}]",
                f"initial: [{{entity: {name}, position_m: {start}}}]",
            )  # fmt: skip
            np.testing.assert_array_equal(
                both[name].position, fly(alone, duration=2.0)[name].position
            )


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        (1, "odd.so crashed (SIGSEGV) in its step, at t = 0.500 s"),
        (2, "odd.so asks for what is not finite"),
        (3, "odd.so has not returned for 0.3 s in its step; its process was ended, at t = 0.500 s"),
        (4, "odd.so reports the error 7 in its step"),
        (7, "odd.so gives an output of kind 9"),
    ],
)
def test_what_a_library_does_wrong_is_told_and_the_world_goes_on(folder, mode, text, capfd):
    """Its vehicle falls from half a second on, as a stone does; all rows of the flight are there."""
    flight = fly(
        scenario(folder, f"path: odd.so, patience_s: 0.3, parameters: {{mode: {mode}}}"),
        duration=1.0,
    )
    assert text in capfd.readouterr().err
    assert len(flight.time) == 201
    z, t = flight["quad1"].position[:, 2], flight.time - flight.time[0]
    np.testing.assert_allclose(z[t < 0.5], z[0], atol=1e-12)
    np.testing.assert_allclose(z[-1] - z[0], -0.5 * 9.81 * 0.5**2, rtol=1e-9)


def test_a_new_start_loads_a_new_copy(folder):
    loop = ClosedLoop(scenario(folder, "path: odd.so, parameters: {mode: 4}"))
    law = loop.controller.laws[0]
    for _ in range(120):
        loop.period()
    assert "reports the error 7" in law.faults["quad1"]
    loop.simulation.reset()
    loop.controller.reset()
    assert not law.faults
    loop.period()
    assert law.logs()["quad1"]["calls"] == 1.0
    loop.controller.close()


def test_what_a_library_sees(folder):
    """At rest an accelerometer shows one g up; the asynchronous part counts every 20 ms, so every fifth period of 5 ms."""
    loop = ClosedLoop(scenario(folder, "path: odd.so, latency_s: 0.02, isolated: false"))
    for _ in range(61):
        loop.period()
    logs = loop.controller.laws[0].logs()["quad1"]
    assert logs["up"] == pytest.approx(9.81, abs=1e-9)
    assert logs["up_g"] == pytest.approx(9.81 / 9.80665, abs=1e-9)
    assert logs["down_m"] == pytest.approx(-loop.simulation.motion[0, 2], abs=1e-12)
    assert logs["calls"] == 61 and logs["n_team"] == 1 and logs["time"] == pytest.approx(0.3)
    assert logs["collected"] == 15  # begun at 0, collected at 20 ms and begun again, ...
    loop.controller.close()


def test_forces_and_duties_become_wrenches(folder):
    """Equal forces are the weight; a quarter of the duty is a quarter of the way from the smallest to the largest speed."""
    for mode in (5, 6):
        loop = ClosedLoop(
            scenario(folder, f"path: odd.so, isolated: false, parameters: {{mode: {mode}}}")
        )
        loop.period()
        vehicle = loop.simulation.scenario.model.vehicles[0]
        low, high = vehicle.rotors.speed_rpm
        speed = low + 0.25 * (high - low)
        thrust = 4.0 * vehicle.rotors.thrust_n_per_rpm2 * speed**2
        expected = vehicle.mass_kg * 9.81 if mode == 5 else thrust
        np.testing.assert_allclose(loop.controller.commands[0], [expected, 0, 0, 0], atol=1e-12)
        loop.controller.close()


def test_the_header_is_what_is_read():
    text = HEADER.read_text()
    assert f"#define ROTOR_CONTROLLER_VERSION {VERSION}\n" in text
    assert f"#define ROTOR_MOTORS {MOST_MOTORS}\n" in text
    assert len(text.splitlines()) < 90 and "#" not in declarations()


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("path: nowhere.so", r"scenario.yaml:3.*path: there is no file 'nowhere.so'"),
        ("path: scenario.yaml", "scenario.yaml cannot be loaded: scenario.yaml: "),
        ("path: other.so", "was built for version 99 of rotor_controller.h, this is 1"),
        (
            "path: empty.so",
            "lacks rotor_version, rotor_create, rotor_destroy, rotor_set, rotor_step",
        ),
        ("path: odd.so, parameters: {gain: 2.0}", "refuses the parameter 'gain' = 2"),
        ("path: odd.so, parameters: {mode: fast}", "controller.parameters.mode: must be a number"),
        ("path: odd.so, parameters: 3", "controller.parameters: must be a mapping"),
        ("path: odd.so, patience_s: 0", "controller.patience_s: must be > 0"),
    ],
)
@pytest.mark.parametrize("isolated", ["true", "false"])
def test_libraries_that_cannot_be_used_are_refused(folder, keys, text, isolated):
    if not (folder / "other.so").exists():
        built(ODD, folder, "-DOTHER_VERSION").rename(folder / "other.so")
        (folder / "empty.c").write_text("int nothing;\n")
        built(folder / "empty.c", folder)
        built(ODD, folder)
    with pytest.raises(ConfigError, match=text):
        ClosedLoop(scenario(folder, f"{keys}, isolated: {isolated}"))


def test_a_vehicle_that_a_library_refuses_is_told(folder):
    with pytest.raises(ConfigError, match="rotor_create returned NULL"):
        ClosedLoop(scenario(folder, "path: odd.so", "vehicles: [{use: hexacopter}]"))
    with pytest.raises(ConfigError, match="without arms; 'quad1' is another vehicle"):
        ClosedLoop(scenario(folder, "path: odd.so", "vehicles: [{use: picker}]"))


def test_such_a_flight_cannot_be_saved(folder, tmp_path, capsys):
    scenario(folder, "path: odd.so")
    assert main(["fly", str(folder / "scenario.yaml"), "--save", str(tmp_path / "x")]) == 2
    assert "nobody knows what that keeps" in capsys.readouterr().err


def test_nothing_is_left_behind(folder, tmp_path, monkeypatch):
    """Copies, memory and processes are gone after a flight."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", None)
    before = children(os.getpid())
    fly(scenario(folder, "path: cascaded_pid.so"), duration=0.1)
    assert not list(tmp_path.iterdir())
    assert not children(os.getpid()) - before


def test_a_call_without_end_ends_with_whoever_flies(folder):
    """Nobody is left to kill it when the simulator is killed."""
    scenario(folder, "path: odd.so, patience_s: 1000, parameters: {mode: 3}")
    code = f"from rotor_flight.fly import fly; import rotor; fly(rotor.load_scenario({str(folder / 'scenario.yaml')!r}))"
    flying = subprocess.Popen([sys.executable, "-c", code])

    deadline = time.monotonic() + 60.0
    while not (found := children(flying.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert found
    time.sleep(2.0)  # by now it is in that call
    flying.kill()
    flying.wait()
    child = Path("/proc") / found.pop()
    while child.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not child.exists()


def test_the_instance_is_the_same_without_a_flight(folder):
    """Parameters are set before the first step."""
    law = ClosedLoop(
        scenario(folder, "path: odd.so, isolated: false, parameters: {mode: 6}")
    ).controller.laws[0]
    assert isinstance(law._members[0]._instance, Instance)
    states = np.zeros((1, 13))
    states[0, 3] = 1.0
    out = np.zeros((1, 4))
    law(states, np.zeros(28), out)  # 13 columns: nobody told the accelerations
    assert out[0, 0] > 0.0
    law.close()
