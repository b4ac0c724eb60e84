"""Metrics of a flight, by name, and functions of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from rotor_core.config.teams import teams
from rotor_core.errors import ConfigError
from rotor_core.registry import Registry
from rotor_core.state import State
from rotor_flight.flight import Flight, largest, rms, smallest
from rotor_flight.studies.study import Study

Metric = Callable[[Flight], "float | Mapping[str, float]"]


def _errors(flight: Flight) -> np.ndarray:
    """Position errors of all planned entities, (n_teams, N) m."""
    return np.array(
        [
            np.linalg.norm(flight.position_error(i), axis=1)
            for i in range(flight.references.shape[1])
        ]
    )


def _vehicles(flight: Flight) -> np.ndarray:
    return flight.states[:, : len(flight.scenario.model.vehicles)]


def _tilt(flight: Flight) -> float:
    return float(np.degrees(State(_vehicles(flight)).tilt.max()))


def _attitude(flight: Flight) -> float:
    entities = flight.scenario.model
    solid = [
        i
        for i, team in enumerate(teams(entities))
        if entities.entities[entities.index(team.entity)].inertia_kg_m2 is not None
    ]
    return max((float(np.degrees(rms(flight.attitude_error(i)))) for i in solid), default=np.nan)


def _least_distance(flight: Flight) -> float:
    p = State(_vehicles(flight)).position
    n = p.shape[1]
    pairs = [
        np.linalg.norm(p[:, i] - p[:, j], axis=1).min() for i in range(n) for j in range(i + 1, n)
    ]
    return float(min(pairs)) if pairs else float("nan")


def _tensions(flight: Flight) -> np.ndarray:
    return flight.tensions[flight.taut] if flight.tensions.size else np.zeros(0)


ACCURACY = ("substeps", "error_rate_max", "energy_error_share")
"""Figures of :class:`rotor_dynamics.accuracy.Accuracy` that every flight of a study has."""


def _slack_share(flight: Flight) -> float:
    """Share of the time in which cables are slack, while they are known and not cut."""
    slack = flight.slack
    known = slack | flight.taut
    return float(slack.sum() / known.sum()) if known.any() else float("nan")


def _largest_thrust(flight: Flight) -> float:
    """Of multirotors, N: helicopters are told angles. NaN where there are none."""
    vehicles = flight.scenario.model.vehicles
    rows = [i for i, v in enumerate(vehicles) if v.helicopter is None]
    return largest(flight.commands[:, rows, 0]) if rows else float("nan")


def _integration(flight: Flight, *, figure: str) -> float:
    """A figure of error control; NaN in recordings, which do not have it."""
    value = flight.extra.get("integration", {}).get(figure)
    return float("nan") if value is None else float(value)


_OURS: dict[str, Metric] = {
    "position_rmse_m": lambda f: rms(_errors(f)),
    "position_error_max_m": lambda f: largest(_errors(f)),
    "final_error_m": lambda f: largest(_errors(f)[:, -1:]),
    "attitude_rmse_deg": _attitude,
    "tilt_max_deg": _tilt,
    "speed_max_m_s": lambda f: largest(np.linalg.norm(State(f.states).velocity, axis=2)),
    "height_min_m": lambda f: float(f.states[:, :, 2].min()),
    "thrust_max_n": _largest_thrust,
    "tension_min_n": lambda f: smallest(_tensions(f)),
    "tension_max_n": lambda f: largest(_tensions(f)),
    "slack_share": _slack_share,
    "snaps": lambda f: float(sum(e.type == "snap" for e in f.events)),
    "limited_periods": lambda f: float("nan") if (n := f.limited_periods) is None else float(n),
    "vehicle_distance_min_m": _least_distance,
    "lost": lambda f: float(f.verdict().kind == "lost"),
    **{name: partial(_integration, figure=name) for name in ACCURACY},
}
"""Of all planned entities, vehicles or cables together: the largest error, the smallest distance and so on."""


METRICS: Registry[Metric] = Registry(
    "rotor.metrics", "metric", "Figures of a flight that studies measure; a function of the flight."
)
for _name, _metric in _OURS.items():
    METRICS.register(_name, _metric)


def metrics_of(study: Study, functions: dict[str, str]) -> dict[str, Metric]:
    """The metrics of a study by name; ``functions``: sources of the user's files.

    Raises:
        ConfigError: an unknown name, or a file that does not have the function.
    """
    return {name: _find(name, functions) for name in study.metrics}


def _find(name: str, functions: dict[str, str]) -> Metric:
    if name in METRICS:
        return METRICS[name]
    file, _, function = name.partition(":")
    if file not in functions:
        known = ", ".join(METRICS)
        raise ConfigError(f"metrics: must be one of {known}, or FILE.py:FUNCTION, got {name!r}.")
    space: dict = {"__name__": file, "__file__": file}
    try:
        exec(compile(functions[file], file, "exec"), space)
    except Exception as error:
        raise ConfigError(f"{file}: does not run ({type(error).__name__}: {error}).") from error
    if not callable(space.get(function)):
        raise ConfigError(f"{file}: has no function {function!r} (metrics: FILE.py:FUNCTION).")
    return space[function]


def label_of(name: str) -> str:
    """Column of a metric: its name, or that of the user's function."""
    return name.partition(":")[2] or name


def measured(metrics: dict[str, Metric], flight: Flight) -> dict[str, float]:
    """All metrics of a flight; a mapping adds its keys to the name of its function.

    Raises:
        ConfigError: a function of the user fails or returns no number.
    """
    out: dict[str, float] = {}
    for name, metric in metrics.items():
        label = label_of(name)
        try:
            value = metric(flight)
            if isinstance(value, Mapping):
                out |= {f"{label}.{key}": float(number) for key, number in value.items()}
            else:
                out[label] = float(value)
        except Exception as error:
            raise ConfigError(
                f"metric {name}: fails on a flight ({type(error).__name__}: {error})."
            ) from error
    return out
