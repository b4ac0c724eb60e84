"""Why the simulator missed the real flights: one suspect after the other, with its share of the miss.

``python -m validation.real_flights.february.elimination FOLDER`` prints the table; the page of results is
docs/results/real_flights_cause.md (docs/scripts/make_real_flights.py).
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from rotor_core.math.rotations import rotation_matrices
from rotor_core.state import State
from rotor_recordings.crazyflies.grid import STEP
from rotor_recordings.crazyflies.team_model import SETTLED
from validation.real_flights.february.balance import VehicleBalance, balances, velocity_gain
from validation.real_flights.february.fitted import Fitted, fit_flight
from validation.real_flights.february.fly import PERIOD, Variant, fly_flown, miss
from validation.real_flights.february.law import Identified, identify
from validation.real_flights.february.logs import (
    MASS,
    Flown,
    Hover,
    hover,
    read_flown,
)
from validation.real_flights.february.sharing import Sharing, explain
from validation.real_flights.on_board import ESTIMATOR, filtered_attitudes

WHOLE = "everything as found"
LOGGED = "cables share the force as logged, not by the program"
REPLAYS = {
    "attitudes": Variant(logged=("attitude",)),
    "velocities of the vehicles": Variant(logged=("velocity",)),
    "place and velocity of the payload": Variant(logged=("payload",)),
    "thrusts": Variant(logged=("thrust",)),
}
"""What is told or asked as in the log, by what it is called: these open the loop."""

VARIANTS = {
    WHOLE: Variant(),
    "the truth in place of the estimate": Variant(estimated="none"),
    "the truth, but attitude with the bias of the hover": Variant(estimated="none", biases=True),
    "of the estimate only the attitude": Variant(estimated="attitude"),
    "of the estimate only position and velocity": Variant(estimated="velocity"),
    "without the planned rates of the cables": Variant(feedforward=False),
    "thrust gains 1": Variant(thrust_gains=False),
    "thrust gains that do not fall": Variant(thrust_gain_per_s=0.0),
    "laws that never begin anew": Variant(stops=False),
    LOGGED: Variant(logged_sharing=True),
    "integrals begin at zero": Variant(memory=False),
    "without wakes": Variant(wakes=False),
    "without drag of the payload": Variant(drag=False),
    "thrust by speed of the rotors alone (without inflow and wakes)": Variant(inflow=False),
    "air that does nothing": Variant(inflow=False, drag=False),
}
VARIANTS |= REPLAYS
"""What is replaced, by what it is called."""


@dataclass(frozen=True)
class Studied:
    """One flight.

    Attributes:
        flown, law, balance: the log, the law in it, the hover in it.
        misses: root mean square, m, by variant.
        tracking: of the recorded payload to its reference, m: the miss of who expects perfect tracking.
        path: of the simulated payload with everything as found.
        sharing: what the program explains of how cables shared the force.
        numbers: what the balance of forces tells of each vehicle.
        velocity_gains: told over true velocities of the vehicles in the closed loop with everything as found.
        filter_error: of the attitude of the filter fed with the log, to the logged one, rad rms about x and y.
        logged_tilt: of the logged attitude, rad rms.
        fitted: the flight with what physics leaves open fitted to its own path.
    """

    flown: Flown
    law: Identified
    balance: Hover
    misses: dict[str, float]
    tracking: float
    path: np.ndarray
    sharing: Sharing
    numbers: list[VehicleBalance]
    velocity_gains: list[float]
    filter_error: float
    logged_tilt: float
    fitted: Fitted


def flights(folder: Path) -> list[Path]:
    """Normal flights of February 2024."""
    index = json.loads((folder / "index.json").read_text())
    normal = [e["name"] for e in index if e["group"] == "normal" and e["name"].startswith("feb24")]
    return [folder / f"{name}.npz" for name in normal]


def filtered(flown: Flown, balance: Hover) -> np.ndarray:
    """Axes of thrust as the filter has them when it hears what was logged, (T, n, 3): gyroscope, position, thrust."""
    attitudes = filtered_attitudes(
        ESTIMATOR, flown.position, flown.velocity[0], flown.attitude[0], flown.gyro, balance.gain * flown.thrust / MASS,
    )  # fmt: skip
    return rotation_matrices(attitudes.reshape(-1, 4))[:, :, 2].reshape(flown.position.shape)


def study(path: Path, names: tuple[str, ...] = tuple(VARIANTS)) -> Studied:
    """Everything about one flight."""
    flown = read_flown(path)
    balance, logged = hover(flown), flown.axes
    misses, whole = {}, np.zeros((0, 3))
    told: list[np.ndarray] = []
    true: list[np.ndarray] = []

    def watch(t: State, s: State) -> None:
        told.append(t.velocity.copy())
        true.append(s.velocity.copy())

    for name in names:
        _, simulated = fly_flown(path, VARIANTS[name], watch if name == WHOLE else None)
        misses[name] = miss(flown, simulated)
        whole = simulated if name == WHOLE else whole
    rows = flown.time > SETTLED
    apart = (filtered(flown, balance) - logged)[rows, :, :2]
    return Studied(
        flown, identify(flown), balance, misses, miss(flown, flown.reference[:, 0]), whole,
        explain(flown), balances(path, flown), _velocity_gains(told, true, flown),
        float(np.sqrt(np.mean(apart**2))), float(np.sqrt(np.mean(logged[rows, :, :2] ** 2))),
        fit_flight(path),
    )  # fmt: skip


def _velocity_gains(told: list[np.ndarray], true: list[np.ndarray], flown: Flown) -> list[float]:
    """Of every vehicle, from velocities of all entities in every control period."""
    each = round(STEP / PERIOD)
    rows = flown.time[flown.first :][: len(told) // each] > SETTLED
    here, there = (np.array(v[::each])[: len(rows)][rows] for v in (told, true))
    return [velocity_gain(here[:, i], there[:, i]).value for i in range(len(flown.vehicles))]


def study_all(folder: Path, names: tuple[str, ...] = tuple(VARIANTS)) -> list[Studied]:
    """All flights, on all cores."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(partial(study, names=names), flights(folder)))


def main() -> None:
    """Print the misses of all flights."""
    studied = study_all(Path(sys.argv[1]))
    for s in studied:
        told = "  ".join(f"{1e3 * s.misses[name]:6.1f}" for name in VARIANTS)
        print(f"{s.flown.name:28s} {1e3 * s.tracking:6.1f}  {told}")
    for n in (2, 3):
        group = [s for s in studied if len(s.flown.vehicles) == n]
        for name in VARIANTS:
            print(n, f"{1e3 * np.median([s.misses[name] for s in group]):6.1f}", name)


if __name__ == "__main__":
    main()
