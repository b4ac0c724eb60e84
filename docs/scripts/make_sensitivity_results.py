"""Measure derivatives, optimal flights and predictive control; write docs/results/sensitivities.md with its pictures.

    ./rotor python docs/scripts/make_sensitivity_results.py [--drake PYTHON]

Takes about ten minutes; nothing else should run. Drake is measured by another Python that has it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import mujoco
import numpy as np

from rotor_core.config.controllers import PredictiveControl
from rotor_core.config.loader import load_scenario
from rotor_core.config.parameters import Variations
from rotor_core.config.schema import Scenario
from rotor_core.numbers.duals import DIRECTIONS
from rotor_core.numbers.packing import Packed
from rotor_core.state import FULL_STATE
from rotor_dynamics.sensitivities.shooting import Shooting
from rotor_flight.compiled.flights import Call, fly_world, periods_of, stretches
from rotor_flight.flight import Flight
from rotor_flight.fly import fly
from rotor_flight.loop import ClosedLoop
from rotor_flight.optimal.ddp import Solution
from rotor_flight.optimal.planning import Planning, Report
from rotor_flight.optimal.results import write
from rotor_flight.optimal.task import load_task
from rotor_flight.sensitivities.flights import fly_duals, sensitivities
from rotor_recordings.identify.parameters import applied, chosen, default_names
from rotor_recordings.identify.rollouts import prediction_residuals
from rotor_recordings.identify.slopes import prediction_slopes
from rotor_recordings.identify.windows import make_windows
from rotor_sim.simulation import Simulation

mpl.use("Agg")
import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1]
IMAGES = DOCS / "images"
REPEATS = 7

TASKS = ("throw", "swing_over", "slalom", "courtyard", "banked")


def median_time(work: Any, repeats: int = REPEATS) -> float:
    """Of some calls, s."""
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def cost_of_flights() -> list[str]:
    """Rows: plain flight, flight with derivatives, per direction, over a plain one."""
    rows = []
    for name, seconds in (
        ("three_dragonflies_triangular_1m", 10.0),
        ("six_dragonflies_box", 10.0),
        ("arm_coupled", 10.0),
        ("hexacopter_wind", 10.0),
    ):
        scenario = load_scenario(name)

        def begin(scenario: Scenario = scenario, seconds: float = seconds) -> tuple:
            loop = ClosedLoop(scenario)
            n = periods_of(loop, seconds)
            return Call(loop, n, 1).arguments(next(stretches(loop, n, at_once=n + 1)))

        plain, varied = [], []
        fly_world(*begin())
        fly_duals(Packed(begin()).tree)
        for _ in range(REPEATS):
            arguments = begin()
            began = time.perf_counter()
            fly_world(*arguments)
            plain.append(time.perf_counter() - began)
            tree = Packed(begin()).tree
            began = time.perf_counter()
            fly_duals(tree)
            varied.append(time.perf_counter() - began)
        a, b = np.median(plain), np.median(varied)
        rows.append(
            f"| `{name}` | {1e3 * a:.1f} | {1e3 * b:.1f} | {b / a:.2f} | {b / a / DIRECTIONS:.2f} |"
        )
    return rows


def final_state(flight: Flight) -> np.ndarray:
    """What the curves of errors look at."""
    return flight.states[-1]


def picture_of_differences() -> str:
    """Errors of central differences over their step, on a smooth flight and through a snap; smallest of each."""
    fig, axis = plt.subplots(figsize=(6.4, 4.0))
    told = []
    for name, words in (
        ("three_dragonflies_triangular_1m", "no event"),
        ("collision_triangular", "through slack and snap"),
    ):
        scenario, place = load_scenario(name), "plant.payload.mass_kg"
        value = Variations(scenario, [place]).value(place)
        found = sensitivities(scenario, [place], 2.0)
        exact = found[place].states[-1]
        steps, errors = np.logspace(-1.5, -9.0, 26), []
        for step in steps:
            ends = [
                final_state(fly(scenario.changed(place, value * (1 + s * step)), duration=2.0))
                for s in (1, -1)
            ]
            slope = (ends[0] - ends[1]) / (2.0 * step * value)
            errors.append(np.abs(slope - exact).max() / np.abs(exact).max())
        axis.loglog(steps, errors, "o-", ms=3, label=f"{words} ({len(found.flight.events)} events)")
        told.append(f"{words}: {min(errors):.1e}")
    axis.set_xlabel("step of the central difference, relative to the payload's mass")
    axis.set_ylabel("difference from the derivative told, relative")
    axis.legend()
    axis.grid(alpha=0.3)
    fig.tight_layout()
    fig.savefig(IMAGES / "sensitivities_differences.png", dpi=110)
    plt.close(fig)
    return "; ".join(told)


MJCF = """<mujoco><option timestep="0.001"/>
<worldbody>{bodies}</worldbody><tendon>{tendons}</tendon></mujoco>"""

TASK_HEAD = (
    "| task | duration, s | periods with a slack cable | clearance, mm | violation, mm | iterations | solved in, s | "
    "disturbed flights that arrive | worst miss of 100, mm |\n|---|---|---|---|---|---|---|---|---|"
)


def mujoco_cost() -> tuple[float, float, int]:
    """MuJoCo: a step, and its derivatives by centred differences (mjd_transitionFD), in steps; directions."""
    bodies = (
        '<body name="load" pos="0 0 1"><freejoint/><geom type="box" size=".3 .3 .02" mass=".28"/>'
    )
    places = ((0.3, 0.0), (-0.3, 0.3), (-0.3, -0.3))
    bodies += (
        "".join(f'<site name="b{i}" pos="{x} {y} 0"/>' for i, (x, y) in enumerate(places))
        + "</body>"
    )
    tendons = ""
    for i, (x, y) in enumerate(places):
        bodies += f'<body name="q{i}" pos="{x} {y} 2"><freejoint/><site name="a{i}"/>'
        bodies += '<geom type="sphere" size=".1" mass=".25" contype="0" conaffinity="0"/></body>'
        tendons += (
            f'<spatial limited="true" range="0 1"><site site="a{i}"/><site site="b{i}"/></spatial>'
        )
    model = mujoco.MjModel.from_xml_string(MJCF.format(bodies=bodies, tendons=tendons))
    data = mujoco.MjData(model)
    for _ in range(50):
        mujoco.mj_step(model, data)
    n = 2 * model.nv + model.na
    A = np.zeros((n, n))
    step = median_time(lambda: [mujoco.mj_step(model, data) for _ in range(200)]) / 200
    whole = (
        median_time(
            lambda: [
                mujoco.mjd_transitionFD(model, data, 1e-6, True, A, None, None, None)
                for _ in range(20)
            ]
        )
        / 20
    )
    return step, whole / step, n


def our_cost() -> tuple[float, float, int]:
    """The same of this engine: a step of three vehicles and a plate, and its derivatives, in steps; directions."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    engine = Simulation(scenario).engine
    wrenches = np.zeros((3, 4))
    wrenches[:, 0] = 3.36
    world = Shooting(
        engine.system, engine.motion[:, FULL_STATE].copy(), wrenches, step=1e-3, steps=100
    )
    step = median_time(lambda: world.period(*world.start, wrenches)) / 100
    whole = median_time(lambda: world.linearize([world.start], wrenches[None], threads=1)) / 100
    return step, whole / step, world.n + 13


def drake_cost(python: str) -> tuple[float, float, int, str]:
    """Drake: a step, all its derivatives in steps, directions, and its version, by a Python that has it."""
    script = DOCS.parent / "validation" / "benchmarks" / "drake_derivatives.py"
    told = subprocess.run([python, script], check=True, capture_output=True, text=True)
    found = json.loads(told.stdout)
    return (
        1e-6 * found["step_us"], found["derivatives_in_steps"], found["directions"], found["version"]
    )  # fmt: skip


def engine_rows(drake: str | None) -> list[str]:
    """Rows: derivatives of a step in the engines."""
    engines = [
        ("here, RK4", "cables, exact, through events too", *our_cost()),
        (f"MuJoCo {mujoco.__version__}, Euler", "tendons, `mjd_transitionFD` centred, 1e-6", *mujoco_cost()),
    ]  # fmt: skip
    if drake is not None:
        *found, version = drake_cost(drake)
        engines.append((f"Drake {version}, RK3", "springs, `AutoDiffXd`, exact", *found))
    return [
        f"| {name} | {what} | {1e6 * step:.1f} | {n} | {cost:.0f} | {cost / n:.2f} | {1e6 * step * cost / n:.1f} |"
        for name, what, step, cost, n in engines
    ]


def identification_cost() -> tuple[int, int, float, float]:
    """Windows, parameters, and s of a Jacobian of their predictions: exact, and by one-sided differences."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    windows = make_windows(fly(scenario, duration=14.0), scenario, 0.4, 1.0)
    parameters = chosen(scenario, default_names(scenario))
    values = np.array([p.nominal for p in parameters])
    there = applied(scenario, parameters, values)
    exact = median_time(lambda: prediction_slopes(windows, parameters, values), 3)
    one = median_time(lambda: prediction_residuals(windows, *there), 3)
    return (
        len(prediction_residuals(windows, *there)),
        len(parameters),
        exact,
        one * (1 + len(parameters)),
    )


def flown_again(name: str, planning: Planning, solution: Solution, report: Report) -> str:
    """Row: a plan flown by the law ``planned`` in the simulator, with the plant as it is and with 5 % more payload."""
    with tempfile.TemporaryDirectory() as folder:
        *_, file = write(planning, solution, report, {}, Path(folder), name)
        again = load_scenario(file)
        row = again.model.index(planning.task.entity)
        cells = []
        for share in (1.0, 1.05):
            plant = again
            if share != 1.0:
                heavier = share * again.model.payloads[0].mass_kg
                plant = again.changed(f"plant.{again.model.payloads[0].name}.mass_kg", heavier)
            flight = fly(plant, duration=float(report.times[-1]))
            at = np.searchsorted(flight.time - flight.time[0], report.times[:-1])
            apart = np.linalg.norm(flight.states[at, row, :3] - report.states[:-1, row, :3], axis=1)
            cells.append(f"{1e3 * np.sqrt(np.mean(apart**2)):.1f} | {1e3 * apart[-1]:.1f}")
    return f"| `{name}` | {' | '.join(cells)} |"


def draw(name: str, planning: Planning, report: Report) -> None:
    """Picture of an optimized flight from the side, and from above where it has width; on rigid links from ahead."""
    states, tensions = report.states, report.tensions
    names = [e.name for e in planning.scenario.model.entities]
    load = names.index(planning.task.entity)
    wide = np.ptp(states[:, :, 1]) > 0.2
    fig, axes = plt.subplots(1 + wide, 1, figsize=(9.0, 3.2 * (1 + wide)), squeeze=False)
    rigid = not tensions.shape[1]
    views = ((0, 2), (1, 2) if rigid else (0, 1))
    for axis, (i, j) in zip(axes[:, 0], views, strict=False):
        for k in range(0, len(states), 3):
            for v in range(len(names)):
                if v != load:
                    ends = states[k, [v, load]]
                    slack = not rigid and tensions[k, min(v, tensions.shape[1] - 1)] <= 0.0 < k
                    axis.plot(ends[:, i], ends[:, j], "r:" if slack else "k-", lw=0.6)
        for v, entity in enumerate(names):
            axis.plot(states[:, v, i], states[:, v, j], "o-", ms=2, label=entity)
        for obstacle in planning.scenario.environment.obstacles:
            middle, size = np.array(obstacle.position_m), getattr(obstacle.shape, "size_m", None)
            if size is None:
                axis.plot(middle[i], middle[j], "s", color="0.6", ms=6)
            else:
                low = middle - 0.5 * np.array(size)
                axis.add_patch(plt.Rectangle((low[i], low[j]), size[i], size[j], color="0.8"))
        axis.set_xlabel(f"{'xyz'[i]}, m")
        axis.set_ylabel(f"{'xyz'[j]}, m")
        axis.set_aspect("equal")
        axis.legend(fontsize=7, loc="upper left")
    fig.tight_layout()
    fig.savefig(IMAGES / f"optimal_{name}.png", dpi=110)
    plt.close(fig)


def optimal_flights() -> tuple[list[str], list[str]]:
    """Rows of the table of tasks, and of their plans flown again; draws each."""
    rows, again = [], []
    for name in TASKS:
        task, scenario, _ = load_task(name)
        planning = Planning(task, scenario)
        began = time.perf_counter()
        solution = planning.solve()
        took = time.perf_counter() - began
        report = planning.judge(solution)
        draw(name, planning, report)
        again.append(flown_again(name, planning, solution, report))
        slack = int((report.tensions[1:] <= 0.0).any(axis=1).sum())
        clearance = "-" if np.isinf(report.clearance) else f"{1e3 * report.clearance:.0f}"
        rows.append(
            f"| `{name}` | {planning.duration(solution):.2f} | {slack} of {task.periods} | {clearance} | "
            f"{1e3 * solution.violation:.1f} | "
            f"{solution.iterations} | {took:.0f} | {100 * report.within:.0f} % | {1e3 * np.max(report.misses):.2g} |"
        )
    return rows, again


def rmse(flight: Flight) -> float:
    """Of the payload's place, mm."""
    return 1e3 * float(np.sqrt(np.mean(np.sum(flight.position_error() ** 2, axis=1))))


def predictive_control() -> list[str]:
    """Rows: law of the scenario, predictive law, milliseconds per solution."""
    rows = []
    cases: tuple[tuple[str, float, dict[str, float]], ...] = (
        ("three_dragonflies_triangular_1m", 10.0, {}),
        ("three_dragonflies_triangular_1m", 10.0, {"plant.payload.mass_kg": 1.2}),
        ("three_dragonflies_triangular_1m", 10.0, {"plant.payload.mass_kg": 0.8}),
        ("slalom", 22.0, {}),
        ("four_dragonflies_box", 10.0, {}),
        ("six_dragonflies_box", 10.0, {}),
    )
    for name, seconds, changes in cases:
        scenario = load_scenario(name)
        words = ""
        for place, share in changes.items():
            scenario = scenario.changed(place, share * scenario.model.payloads[0].mass_kg)
            words = f", payload {share:g} times as heavy"
        loop = ClosedLoop(replace(scenario, controller=PredictiveControl("predictive")))
        law: Any = loop.controller.laws[0]
        times, solve = [], law._solve

        def timed(*arguments: Any, solve: Any = solve, times: list[float] = times) -> None:
            began = time.perf_counter()
            solve(*arguments)
            times.append(time.perf_counter() - began)

        law._solve = timed
        flown = fly(loop.simulation.scenario, duration=seconds, loop=loop)
        own = fly(scenario, duration=seconds)
        rows.append(
            f"| `{name}`{words} | {rmse(own):.2f} | {rmse(flown):.2f} | {1e3 * np.median(times):.1f} | "
            f"{1e3 * np.quantile(times, 0.99):.1f} |"
        )
    return rows


def kept() -> list[str]:
    """Rows: what costs of distance and tension keep, without and with them."""
    scenario = load_scenario("three_dragonflies_triangular_1m")
    shape = {"type": "cylinder", "radius_m": 0.05, "height_m": 4.0}
    post = {"name": "post", "shape": shape, "position_m": [0.55, 1.0, 0.0]}
    line = {"type": "line", "relative": True}
    aside = {**line, "waypoints_m": [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]]}
    down = {
        **line,
        "waypoints_m": [[0, 0, 0], [0, 0, -1.5]],
        "speed_m_s": 4.0,
        "acceleration_m_s2": 9.0,
    }
    near = scenario.changed("trajectory", aside).changed("environment.obstacles", [post])
    fast = scenario.changed("trajectory", down)

    def flown(where: Scenario, seconds: float, **keys: Any) -> Flight:
        return fly(
            replace(where, controller=PredictiveControl("predictive", **keys)), duration=seconds
        )

    def distance(flight: Flight) -> float:
        return 1e3 * min(m.distance for m in flight.margins if "post" in m.names)

    def tension(flight: Flight) -> float:
        return float(flight.tensions[20:].min())

    apart, pulls = (
        {"clearance_m": 0.25, "clearance": 4000.0},
        {"tension_n": (0.45, 4.0), "tension": 2000.0},
    )
    pairs: list[tuple[str, Any, Scenario, float, dict[str, Any]]] = [
        (
            "a post beside the path, least distance, mm (`clearance_m: 0.25`)",
            distance,
            near,
            4.0,
            apart,
        ),
        ("a dive, least tension, N (`tension_n: [0.45, 4]`)", tension, fast, 1.4, pulls),
    ]
    rows = []
    for words, of, where, seconds, keys in pairs:
        plain, with_cost = flown(where, seconds), flown(where, seconds, **keys)
        rows.append(
            f"| {words} | {of(plain):.3g} | {of(with_cost):.3g} | {rmse(plain):.1f} | {rmse(with_cost):.1f} |"
        )
    return rows


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--drake", help="a Python that has Drake, to be measured too")
    drake = parser.parse_args().drake
    flights, smallest = cost_of_flights(), picture_of_differences()
    engines, (windows, parameters, exact, differenced) = engine_rows(drake), identification_cost()
    (tasks, again), laws, within = optimal_flights(), predictive_control(), kept()
    page = f"""# Derivatives through snaps, optimal flights, predictive control

Written by `docs/scripts/make_sensitivity_results.py`. How: [theory](../theory/sensitivities.md), [optimal
flights](../theory/planning.md), [how to](../how-to/optimize.md).

## Cost

A flight under its law with {DIRECTIONS} derivatives, over the same flight without, medians of {REPEATS} (10 s of
flight):

| scenario | plain, ms | with {DIRECTIONS} derivatives, ms | ratio | per direction |
|---|---|---|---|---|
{chr(10).join(flights)}

Central differences cost 2 flights per direction. Besides, every parameter of a scenario costs four set-ups of it
(some 10 ms each).

All derivatives of one smooth step of three vehicles and a plate, by state (and here by input), on one core:

| engine | how | a step, us | directions | all of them, in steps | per direction | per direction, us |
|---|---|---|---|---|---|---|
{chr(10).join(engines)}

Identification: a Jacobian of {windows} windows of 0.4 s by {parameters} parameters takes {1e3 * exact:.0f} ms; by
one-sided differences of the same compiled windows {1e3 * differenced:.0f} ms.

## Truth

![errors of differences](../images/sensitivities_differences.png)

Derivative of the state after 2 s with the mass of the payload: central differences come to it as near as they can
(smallest: {smallest}) and go away again with their
rounding. Through a snap they are a hundred times worse at the same step; the derivative told has no step. The same
on 199 random worlds with up to fifty events is a test (`test_sensitivities.py`), and so are all reference cases of
`replay` (`test_sensitivities_of_cases.py`; 10 s of the longest): they agree to 6e-9, 1e-6 is asked; two snaps
at one instant are doubted.

## Optimal flights

{TASK_HEAD}
{chr(10).join(tasks)}

Disturbed: the whole team begins 3 cm (standard deviation) and 5 cm/s off, and is flown with the feedback of the
plan in steps of a millisecond.

Plans flown again by the law [`planned`](../how-to/optimize.md) in the simulator, payload's distance from the plan, mm:

| task | RMS | at the end | payload 5 % heavier, RMS | at the end |
|---|---|---|---|---|
{chr(10).join(again)}

![throw](../images/optimal_throw.png)

`throw`: the vehicle backs up, swings its payload forward and lets it fly over itself; the cable hangs (dotted), the
payload is caught and stilled three metres from the start. Found from a hover, with no hint but where it must be
above the vehicle.

![swing](../images/optimal_swing_over.png)

![slalom](../images/optimal_slalom.png)

![courtyard](../images/optimal_courtyard.png)

`courtyard`: a winch lowers a parcel between two houses that its vehicle must stay above, and brings it back, in ten
seconds with the least energy at the shafts of the rotors.

![banked](../images/optimal_banked.png)

`banked`: three vehicles and a plate on rigid links, half way banked by 60 degrees as if through a slit that is narrower
than they are; in the lower picture from ahead. The team sinks aside, swings up into it
and back. Rotors that give a quarter more than the weight get six seconds for it; in three not even 45 degrees were
found.

## Predictive control

Payload position, RMS over the flight, mm; one core:

| scenario | law of the scenario | `predictive` | solution, median ms | 99 % ms |
|---|---|---|---|---|
{chr(10).join(laws)}

What its costs of distance and tension keep:

| | without | with | payload RMS without, mm | with, mm |
|---|---|---|---|---|
{chr(10).join(within)}
"""
    (DOCS / "results" / "sensitivities.md").write_text(page)


if __name__ == "__main__":
    main()
