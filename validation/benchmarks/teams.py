"""Cost of large teams: up to 100 vehicles on one payload, or in teams of four in one world.

Writes docs/results/teams.md and its picture where asked.

    ./rotor python validation/benchmarks/teams.py [--report docs]
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from rotor_core.config.loader import dump_scenario, scenario_from_tree
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.tree import Tree, tree_of
from rotor_core.reference import Reference
from rotor_core.state import State
from rotor_flight.loop import ClosedLoop
from rotor_flight.warm import warm
from rotor_sim.simulation import Simulation
from validation.benchmarks.graph import run

SIZES = (4, 8, 16, 32, 64, 100)
GRAPH_SIZES, GRAPH_SECONDS = (16, 48, 100), 10.0
WARM_STEPS, ROUNDS = 200, 7


def _scenario(document: dict[str, Any], name: str) -> Scenario:
    return scenario_from_tree(tree_of(document, Tree(None, name, 1)), name)


def teams_of_four(n: int) -> Scenario:
    """N vehicles in teams of four, each team with a box, on a grid."""
    teams = [[f"quad{4 * t + i + 1}" for i in range(4)] for t in range(n // 4)]
    side = math.ceil(math.sqrt(len(teams)))
    document = {
        "schema": 1,
        "model": {
            "vehicles": [{"use": "dragonfly", "name": name} for team in teams for name in team],
            "payloads": [{"use": "box", "name": f"box{t + 1}"} for t in range(len(teams))],
            "attachments": [
                {
                    "type": "mechanism",
                    "use": "box4_0-5m",
                    "vehicles": team,
                    "payload": f"box{t + 1}",
                }
                for t, team in enumerate(teams)
            ],
        },
        "initial": [
            {"entity": f"box{t + 1}", "position_m": [4.0 * (t % side), 4.0 * (t // side), 0.0]}
            for t in range(len(teams))
        ],
        "controller": {"use": "cable_team"},
        "trajectory": {"use": "circle_10s"},
    }
    return _scenario(document, f"teams_{n}")


def one_payload(n: int) -> Scenario:
    """N vehicles around one disc, whose radius and mass grow with them."""
    radius = max(0.5, 0.6 * n / (2.0 * np.pi))
    mass = 0.05 * n
    inertia = [0.25 * mass * radius**2, 0.25 * mass * radius**2, 0.5 * mass * radius**2]
    angles = 2.0 * np.pi * np.arange(n) / n
    vehicles = [f"quad{i + 1}" for i in range(n)]
    document = {
        "schema": 1,
        "model": {
            "vehicles": [{"use": "dragonfly", "name": name} for name in vehicles],
            "payloads": [{"name": "disc", "mass_kg": mass, "inertia_kg_m2": inertia}],
            "attachments": [
                {
                    "type": "cable", "a": name, "b": "disc", "length_m": 0.8,
                    "b_point_m": [radius * math.cos(a), radius * math.sin(a), 0.0],
                }
                for name, a in zip(vehicles, angles.tolist(), strict=True)
            ],
        },
        "controller": {
            "use": "cable_team", "attitude_n_m": [x * mass * radius**2 for x in (5.0, 5.0, 5.0)],
            "rate_n_m_s": [x * mass * radius**2 for x in (2.0, 2.0, 2.0)],
        },
        "trajectory": {"use": "circle_10s"},
    }  # fmt: skip
    return _scenario(document, f"disc_{n}")


def us_per_step(scenario: Scenario) -> float:
    """CPU of a step of 1 ms with all cables taut, us; the median of rounds."""
    simulation = Simulation(scenario)
    loop = ClosedLoop(scenario)
    loop.period(acts=lambda: False)
    command = loop.controller.commands.copy()
    simulation.act(command)
    simulation.engine.run(WARM_STEPS)
    steps = max(20, round(2e4 / len(simulation.names)))
    found = []
    for _ in range(ROUNDS):
        simulation.reset()
        simulation.act(command)
        began = time.process_time()
        simulation.engine.run(steps)
        found.append((time.process_time() - began) / steps)
    assert simulation.engine.taut.all()
    return 1e6 * float(np.median(found))


def times_real(scenario: Scenario, seconds: float = 2.0) -> tuple[float, float]:
    """Closed loop without ROS over real time, and the largest position error of a payload meanwhile, m."""
    loop = ClosedLoop(scenario)
    names = [team.entity for team in loop.controller.teams]
    rows = [loop.simulation.names.index(n) for n in names]
    largest = 0.0

    def record(_: np.ndarray) -> None:
        nonlocal largest
        wanted = Reference(loop.controller.references).position
        errors = wanted - State(loop.simulation.motion).position[rows]
        largest = max(largest, float(np.linalg.norm(errors, axis=1).max()))

    began = time.process_time()
    for _ in range(round(seconds / scenario.time.control_s)):
        loop.period(record)
    return seconds / (time.process_time() - began), largest


def measure() -> dict[str, list[dict[str, float]]]:
    """Both kinds, all sizes."""
    out: dict[str, list[dict[str, float]]] = {}
    for kind, make in (("teams of four", teams_of_four), ("one payload", one_payload)):
        for n in SIZES:
            scenario = make(n)
            speed, error = times_real(scenario)
            row = {"vehicles": n, "us": us_per_step(scenario), "speed": speed, "error": error}
            print(f"{kind}: {row}", flush=True)
            out.setdefault(kind, []).append(row)
    return out


def graphs() -> list[dict[str, float]]:
    """The node graph in lockstep with teams of four: real processes over DDS, one TeamState for all vehicles."""
    out = []
    for n in GRAPH_SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"teams_{n}.yaml"
            path.write_text(dump_scenario(teams_of_four(n)))
            found = run(str(path), "lockstep", GRAPH_SECONDS)
        keys = ("real_time_factor", "command_latency_ms_median", "command_latency_ms_p99")
        out.append({"vehicles": float(n)} | {k: float(str(found[k])) for k in keys})
        print(f"graph: {out[-1]}", flush=True)
    return out


def exponent(rows: list[dict[str, float]], least: int = 16) -> float:
    """Power of the number of vehicles with which the cost of a step grows, from ``least`` on."""
    kept = [r for r in rows if r["vehicles"] >= least]
    x, y = np.log([r["vehicles"] for r in kept]), np.log([r["us"] for r in kept])
    return float(np.polyfit(x, y, 1)[0])


def report(
    docs: Path, found: dict[str, list[dict[str, float]]], graph: list[dict[str, float]]
) -> None:
    """Write the page and its picture."""
    figure, axes = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
    text = [
        "# Large teams",
        "Made by `./rotor python validation/benchmarks/teams.py --report docs`; one core.",
    ]
    for kind, rows in found.items():
        n, us = [r["vehicles"] for r in rows], [r["us"] for r in rows]
        axes.loglog(n, us, "o-", label=f"{kind}: grows with power {exponent(rows):.2f} from 16 on")
        text += [
            f"## {kind.capitalize()}",
            "| vehicles | us per step of 1 ms | us per vehicle | closed loop, times real time | "
            "largest error on a circle, 2 s |\n"
            "|---|---|---|---|---|\n"
            + "\n".join(
                f"| {r['vehicles']} | {r['us']:.1f} | {r['us'] / r['vehicles']:.2f} | {r['speed']:.1f} | "
                f"{100.0 * r['error']:.2f} cm |"
                for r in rows
            ),
        ]
    text += [
        "## The node graph",
        f"Teams of four in lockstep, {GRAPH_SECONDS:g} s: simulator, planner and controller as processes over DDS. "
        "One `TeamState` and one `TeamCommand` a control period carry all vehicles; odometry, cables, TF and "
        "markers go out beside them.",
        "| vehicles | times real time | state out to command in, median | p99 |\n|---|---|---|---|\n"
        + "\n".join(
            f"| {g['vehicles']:.0f} | {g['real_time_factor']:.2f} | {g['command_latency_ms_median']:.2f} ms | "
            f"{g['command_latency_ms_p99']:.2f} ms |"
            for g in graph
        ),
    ]
    axes.set_xlabel("vehicles")
    axes.set_ylabel("us per step of 1 ms")
    axes.legend(fontsize=8)
    figure.savefig(docs / "images" / "teams.png", dpi=120)
    text.insert(2, "![cost of a step](../images/teams.png)")
    (docs / "results" / "teams.md").write_text("\n\n".join(text) + "\n")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--report", type=Path, metavar="DOCS", help="write the page there")
    options = parser.parse_args()
    os.environ.setdefault("ROS_DOMAIN_ID", "95")
    warm()
    found = measure()
    for kind, rows in found.items():
        print(f"{kind}: cost grows with power {exponent(rows):.2f} of the vehicles")
    if options.report:
        report(options.report, found, graphs())


if __name__ == "__main__":
    main()
