"""Write docs/results/air.md and its figures: jets, the push on who flies below, thrust in climb and descent, cost.

./rotor python -m validation.air.report
"""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from rotor_core.config.air.wind import FrozenTurbulence
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import scenario_from_text
from rotor_core.config.schema import Scenario
from rotor_core.state import State
from rotor_sim.environment.frozen_turbulence import FrozenField
from rotor_sim.environment.inflow import air_factors
from rotor_sim.environment.wakes import wake_velocities
from rotor_sim.simulation import Simulation
from validation.speed.timing import medians

DOCS = Path(__file__).resolve().parents[2] / "docs"
G = 9.81
MEASURED = ((0.2, 10.0), (0.3, 8.0), (0.4, 6.0), (0.5, 4.0))
"""Distance, m, and push, grams: a Crazyflie below another. Shi et al., Neural-Swarm, ICRA 2020, figure 3, read off."""

SIZES = (2, 4, 8, 16, 32, 64)
"""Vehicles of the cost."""

ROUNDS, PERIODS = 5, 200

PAGE = """# The air between vehicles

Theory: [air](../theory/air.md). Made by `./rotor python -m validation.air.report`.

## A Crazyflie below another

Push on a hovering Crazyflie of {mass:.0f} g, straight below another, with the wakes of both and the default blades
(`inflow`). Nothing is fitted. Measured: Shi et al., Neural-Swarm, ICRA 2020, figure 3, read off; vehicles of 34 g.

| distance, m | push here, g | measured, g |
|---|---|---|
{pushes}

Near, both agree; further away the measured push falls off faster than that of the model.

![speed of the air below and beside a hovering Crazyflie, and the push by distance](../images/air_wakes.png)

## Thrust and torque in moving air

A rotor of solidity 0.12 and lift slope 5 at constant speed, over what it gives in hover.

![thrust and torque against the rate of climb](../images/air_inflow.png)

## Turbulence in space

Correlation of the velocities at two places, over 60 random fields; lines are Dryden's.

![correlations](../images/air_turbulence.png)

## Cost

Vehicles that hover in rows 1.5 m apart, CPU time of a control period (act and integrate five steps), us.

| vehicles | without wakes | with wakes | wakes, per vehicle |
|---|---|---|---|
{costs}
"""


def pair(distance: float) -> Scenario:
    """Two Crazyflies above each other, with wakes."""
    return scenario_from_text(
        "schema: 1\nmodel: {vehicles: [{use: crazyflie, name: top}, {use: crazyflie, name: low}]}\n"
        f"initial: [{{entity: top, position_m: [0, 0, 5]}}, {{entity: low, position_m: [0, 0, {5.0 - distance}]}}]\n"
        "environment: {wakes: {}}\ncontroller: {use: quadrotor}\ntrajectory: {type: hover}\n",
        "pair",
    )


def push(distance: float) -> float:
    """Force on the lower one, g."""
    scenario = pair(distance)
    simulation = Simulation(scenario)
    mass = scenario.model.vehicles[0].mass_kg
    simulation.act(np.tile([mass * G, 0.0, 0.0, 0.0], (2, 1)))
    fall = State(simulation.engine.update_kinematics()).acceleration[1, 2]
    return -1e3 * mass * fall / G


def draw_wakes(out: Path) -> None:
    """Speeds in a vertical plane, and the push against the distance."""
    scenario = pair(1.0)
    vehicle = scenario.model.vehicles[0]
    rotors = vehicle.rotors
    area, density = np.pi * rotors.radius_m**2, scenario.environment.air.density
    v = np.sqrt(vehicle.mass_kg * G / 4 / (2.0 * density * area))
    jets = np.column_stack(
        [rotors.positions, np.tile([0.0, 0.0, -1.0], (4, 1)), np.full(4, rotors.radius_m), np.full(4, v)]
    )  # fmt: skip
    jets = jets[np.argsort(jets[:, 0])]
    x, z = np.meshgrid(np.linspace(-0.25, 0.25, 161), np.linspace(-0.8, 0.05, 201))
    places = np.column_stack([x.ravel(), x.ravel(), z.ravel()])  # through two hubs
    speed = np.empty_like(places)
    wake_velocities(jets, np.zeros(4, int), 0.113, 10.0, places, np.full(len(places), -1), speed)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.2), layout="constrained")
    drawn = left.pcolormesh(
        np.sqrt(2.0) * x, z, np.linalg.norm(speed, axis=1).reshape(x.shape), cmap="viridis"
    )
    figure.colorbar(drawn, ax=left, label="speed of the air, m/s")
    left.set(
        xlabel="across, m", ylabel="below the vehicle, m", title="through two rotors of a Crazyflie"
    )
    distances = np.linspace(0.12, 1.5, 47)
    right.plot(distances, [push(d) for d in distances], label="here")
    right.plot(*np.array(MEASURED).T, "o", label="Neural-Swarm, figure 3")
    right.set(xlabel="distance, m", ylabel="push on the lower one, g", ylim=(0.0, None))
    right.legend()
    figure.savefig(out, dpi=110)
    plt.close(figure)


def draw_inflow(out: Path) -> None:
    """Factors of thrust and torque against the rate of climb at several speeds across."""
    radius, thrust, tip = 0.12, 0.014, 60.0
    hover = np.sqrt(thrust / 2.0)
    climbs = np.linspace(-3.0, 2.0, 301)
    n = len(climbs)
    blades = np.tile([radius, thrust, 1.3 * hover * thrust, 0.6], (n, 1))
    figure, axes = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained", sharex=True)
    for across in (0.0, 1.0, 2.0, 4.0):
        factors = np.empty(n), np.empty(n)
        v = hover * tip
        air_factors(
            blades, np.full(n, tip / radius), climbs * v, np.full(n, across * v), np.ones(n), *factors
        )  # fmt: skip
        for ax, factor in zip(axes, factors, strict=True):
            ax.plot(climbs, factor, label=f"{across:g}")
    for ax, what in zip(axes, ("thrust", "torque"), strict=True):
        ax.axvspan(-2.0, 0.0, color="0.92", zorder=0)
        ax.set(xlabel="rate of climb over inflow of hover", ylabel=f"{what} over that of hover")
    axes[0].legend(title="speed across,\nover inflow of hover")
    axes[0].text(-1.0, axes[0].get_ylim()[0] + 0.1, "vortex ring", ha="center", color="0.4")
    figure.savefig(out, dpi=110)
    plt.close(figure)


def draw_turbulence(out: Path) -> None:
    """Correlations along and across the distance."""
    r = np.linspace(0.0, 8.0, 25)
    random = np.random.default_rng(1)
    places = random.uniform(-50.0, 50.0, (300, 3))
    found = np.zeros((2, len(r)))
    fields = 60
    for seed in range(fields):
        field = FrozenField(FrozenTurbulence(1.0, 2.0, modes=400), np.zeros(3), seed)
        here = field.at(0.0, places)
        for k, distance in enumerate(r):
            there = field.at(0.0, places + [distance, 0.0, 0.0])
            found[:, k] += np.mean(here[:, :2] * there[:, :2], axis=0) / fields
    figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
    ax.plot(r / 2.0, np.exp(-r / 2.0), label="along, exp(-r/L)")
    ax.plot(r / 2.0, (1.0 - r / 4.0) * np.exp(-r / 2.0), label="across, (1 - r/2L) exp(-r/L)")
    ax.plot(r / 2.0, found[0], "o", color="C0", markersize=4)
    ax.plot(r / 2.0, found[1], "o", color="C1", markersize=4)
    ax.set(xlabel="distance over length", ylabel="correlation")
    ax.legend()
    figure.savefig(out, dpi=110)
    plt.close(figure)


def row_of(n: int, wakes: bool) -> Simulation:
    """``n`` Crazyflies in rows of eight, 1.5 m apart."""
    vehicles = ", ".join(f"{{use: crazyflie, name: cf{i}}}" for i in range(n))
    places = ", ".join(
        f"{{entity: cf{i}, position_m: [{1.5 * (i // 8)}, {1.5 * (i % 8)}, 2.0]}}" for i in range(n)
    )
    scenario = scenario_from_text(
        f"schema: 1\nmodel: {{vehicles: [{vehicles}]}}\ninitial: [{places}]\n"
        "controller: {use: quadrotor}\ntrajectory: {type: hover}\n"
        + ("environment: {wakes: {}}\n" if wakes else ""),
        "row",
    )
    simulation = Simulation(scenario)
    simulation.passing.is_given_all = True  # looking for touches is not what is timed
    return simulation


def costs() -> str:
    """Rows of the table of cost."""
    rows = []
    for n in SIZES:

        def task(wakes: bool, n: int = n):  # type: ignore[no-untyped-def]
            def make():  # type: ignore[no-untyped-def]
                simulation = row_of(n, wakes)
                hover = np.tile([0.030 * G, 0.0, 0.0, 0.0], (n, 1))
                states = initial_states(simulation.scenario)

                def go() -> None:
                    simulation.reset(states)
                    for _ in range(PERIODS):
                        simulation.step(hover)

                return go

            return make

        seconds = medians({"off": task(False), "on": task(True)}, ROUNDS)
        off, on = (1e6 * seconds[k] / PERIODS for k in ("off", "on"))
        rows.append(f"| {n} | {off:.0f} | {on:.0f} | {(on - off) / n:.1f} |")
    return "\n".join(rows)


def main() -> None:
    """Draw, measure and write."""
    began = time.perf_counter()
    images = DOCS / "images"
    draw_wakes(images / "air_wakes.png")
    draw_inflow(images / "air_inflow.png")
    draw_turbulence(images / "air_turbulence.png")
    pushes = "\n".join(f"| {d:g} | {push(d):.1f} | {g:g} |" for d, g in MEASURED)
    mass = 1e3 * pair(1.0).model.vehicles[0].mass_kg
    page = PAGE.format(mass=mass, pushes=pushes, costs=costs())
    (DOCS / "results" / "air.md").write_text(page)
    print(f"wrote docs/results/air.md in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
