"""The page that tells why the simulator missed the real flights: tables and plots, in Markdown."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from rotor_recordings.crazyflies.logs import PAYLOAD_MASS
from rotor_recordings.crazyflies.team_model import SETTLED
from validation.real_flights.february.elimination import (
    LOGGED,
    REPLAYS,
    VARIANTS,
    WHOLE,
    Studied,
    filtered,
    study_all,
)
from validation.real_flights.february.fly import THRUST_GAIN_PER_S
from validation.real_flights.february.law import GAINS, restarts
from validation.real_flights.february.logs import HOVER_END
from validation.real_flights.february.repeats import from_others, pairs
from validation.real_flights.markdown import table

SHOWN = ("feb24_2cfs_window_opt_01", "feb24_2cfs_forest_geom_09", "feb24_3cfs_forest_opt_05")
GOAL = 0.040
"""Of the median miss, m."""


def write_page(data: Path, page: Path, images: Path) -> None:
    """Write the page.

    Args:
        data: folder of the recordings, read where it lies.
        page: Markdown file to write.
        images: folder for its plots.
    """
    studied = study_all(data)
    _draw_hover(studied, images / "real_flights_hover.png")
    _draw_filter(studied, images / "real_flights_filter.png")
    _draw_paths(studied, images / "real_flights_closed.png")
    numbers = [v for s in studied for v in s.numbers]
    whole = np.array([s.misses[WHOLE] for s in studied])
    tracking = np.array([s.tracking for s in studied])
    filters = np.degrees([s.filter_error for s in studied])
    tilts = np.degrees([s.logged_tilt for s in studied])
    leans = np.concatenate([np.linalg.norm(s.balance.lean, axis=1) for s in studied])
    told = np.concatenate([np.linalg.norm(s.balance.told[:, :2], axis=1) for s in studied])
    page.write_text(
        Path(__file__).with_suffix(".md").read_text().format(
            n=len(studied), median=1e3 * np.median(whole), reference=1e3 * np.median(tracking),
            skill=1.0 - np.median(whole) / np.median(tracking), below=int((whole < GOAL).sum()),
            law=_law_table(studied), shares=_share_table(studied), flights=_flight_table(studied),
            lean=np.degrees(np.median(leans)), told=np.degrees(np.median(told)),
            program=_program_table(studied), restarts=_restart_table(studied), replays=_replay_table(studied),
            numbers=_number_table(studied), fall=-100.0 * np.median([v.gain_rate.value for v in numbers]),
            restarted=sum(s.flown.begins.any() for s in studied), drift=-100.0 * THRUST_GAIN_PER_S,
            velocities=np.corrcoef(
                [v.velocity.value for v in numbers], [g for s in studied for g in s.velocity_gains]
            )[0, 1],
            slow=np.min([v.velocity.value for v in numbers]),
            fast=np.max([v.velocity.value for v in numbers]),
            logged=1e3 * np.median([s.misses[LOGGED] for s in studied]),
            logged_skill=1.0 - np.median([s.misses[LOGGED] for s in studied]) / np.median(tracking),
            chance=_chance_table(studied), others=1e3 * np.median([*from_others([s.flown for s in studied]).values()]),
            fitted=1e3 * np.median([s.fitted.miss for s in studied]), open=_open_table(studied),
            fitted_skill=1.0 - np.median([s.fitted.miss for s in studied]) / np.median(tracking),
            filter=np.median(filters), tilt=np.median(tilts), apart=1e3 * max(map(_integrals_apart, studied)),
            **{f"two_{k}": v for k, v in _group(studied, 2).items()},
            **{f"three_{k}": v for k, v in _group(studied, 3).items()},
        )
    )  # fmt: skip


def _integrals_apart(s: Studied) -> float:
    """Largest difference between the forces that the integrals of two vehicles hold at the start, N."""
    gains = np.array(GAINS[len(s.flown.vehicles)].integral)
    return float(PAYLOAD_MASS * np.ptp(gains * s.law.memory.payload, axis=0).max())


def _of_size(studied: list[Studied], n: int) -> list[Studied]:
    return [s for s in studied if len(s.flown.vehicles) == n]


def _group(studied: list[Studied], n: int) -> dict[str, float]:
    group = _of_size(studied, n)
    whole, tracking = (
        np.median([s.misses[WHOLE] for s in group]),
        np.median([s.tracking for s in group]),
    )
    return {"median": 1e3 * whole, "reference": 1e3 * tracking, "skill": 1.0 - whole / tracking}


def _law_table(studied: list[Studied]) -> str:
    rows = []
    for n in (2, 3):
        group = _of_size(studied, n)
        payload = np.concatenate([s.law.payload for s in group])
        cable = np.concatenate([s.law.cable for s in group])
        planned = cable[
            np.abs(cable[:, 2]) > 1.0, 2
        ]  # without a plan on board there is no such term
        left = 1e3 * np.concatenate([s.law.vehicle_residual for s in group])
        of_payload = 1e3 * np.concatenate([s.law.payload_residual for s in group])
        rows.append(
            [
                str(n), f"{np.median(payload[..., 0]):.1f}", f"{np.median(payload[..., 1]):.1f}",
                ", ".join(f"{v:.1f}" for v in np.median(payload[..., 2], axis=0)), f"{np.median(of_payload):.2f}",
                f"{np.median(cable[:, 0]):.2f}", f"{np.median(cable[:, 1]):.2f}", f"{np.median(planned):.2f}",
                f"{np.median(cable[:, 3]):.2f}", f"{np.median(left):.2f}",
            ]
        )  # fmt: skip
    head = [
        "vehicles", "position 1/s2", "velocity 1/s", "integral x, y, z 1/s3", "left / mN", "cable direction 1/s2",
        "rate 1/s", "planned rate 1/s", "integral 1/s3", "left / mN",
    ]  # fmt: skip
    return table(head, rows)


def _share_table(studied: list[Studied]) -> str:
    rows = []
    for name in VARIANTS:
        if name in REPLAYS:
            continue
        cells = [
            f"{1e3 * np.median([s.misses[name] for s in group]):.1f}"
            for group in (_of_size(studied, 2), _of_size(studied, 3), studied)
        ]
        rows.append([name, *cells])
    expected = [
        f"{1e3 * np.median([s.tracking for s in group]):.1f}"
        for group in (_of_size(studied, 2), _of_size(studied, 3), studied)
    ]
    rows.append(["no simulator: the payload follows its reference", *expected])
    return table(["replaced", "two vehicles / mm", "three / mm", "all / mm"], rows)


def _program_table(studied: list[Studied]) -> str:
    rows = []
    for n in (2, 3):
        found = [s.sharing for s in _of_size(studied, n)]
        rows.append(
            [str(n)]
            + [
                f"{1e3 * np.median([getattr(f, key) for f in found]):.1f}"
                for key in ("equal", "at_once", "later")
            ]
        )
    return table(["vehicles", "equal shares", "program, at once", "program, after its time"], rows)


def _chance_table(studied: list[Studied]) -> str:
    rows = []
    for name, group in (("2", _of_size(studied, 2)), ("3", _of_size(studied, 3)), ("all", studied)):
        flights = [s.flown for s in group]
        apart = 1e3 * np.array(pairs(flights))
        others = 1e3 * np.array([*from_others(flights).values()])
        whole = 1e3 * np.median([s.misses[WHOLE] for s in group])
        rows.append(
            [
                name, str(len(apart)), f"{np.median(apart):.1f}", f"{np.median(apart) / np.sqrt(2.0):.1f}",
                f"{np.median(others):.1f}", f"{whole:.1f}",
            ]
        )  # fmt: skip
    head = [
        "vehicles", "pairs", "two flights apart / mm", "over sqrt(2)", "mean of the others misses / mm",
        "simulator misses / mm",
    ]  # fmt: skip
    return table(head, rows)


def _open_table(studied: list[Studied]) -> str:
    """Flights with their open numbers fitted, and how large these are."""
    rows = []
    for name, group in (("2", _of_size(studied, 2)), ("3", _of_size(studied, 3)), ("all", studied)):
        misses = np.array([s.fitted.miss for s in group])
        tracking = np.median([s.tracking for s in group])
        found = np.sqrt(np.mean(np.concatenate([s.fitted.numbers for s in group]) ** 2, axis=0))
        rows.append(
            [
                name, f"{1e3 * np.median(misses):.1f}", f"{1.0 - np.median(misses) / tracking:.2f}",
                f"{(misses < GOAL).sum()} of {len(group)}", f"{100.0 * found[0]:.1f}",
                f"{np.degrees(found[1]):.1f}, {np.degrees(found[2]):.1f}",
            ]
        )  # fmt: skip
    head = [
        "vehicles", "miss / mm", "skill", "below 40 mm", "thrust gains changed by / %",
        "attitudes turned by, x and y / deg",
    ]  # fmt: skip
    return table(head, rows)


def _restart_table(studied: list[Studied]) -> str:
    rows = []
    for s in studied:
        for name, before, after in restarts(s.flown, s.law):
            told = [", ".join(f"{v:+.2f}" for v in held) for held in (before, after)]
            stop = s.flown.time[s.flown.stopped.any(axis=1)]
            rows.append([s.flown.name, name, f"{stop[0]:.2f} .. {stop[-1]:.2f}", *told])
    return table(
        ["flight", "vehicle", "motors off / s", "integral before / m s", "after / m s"], rows
    )


def _replay_table(studied: list[Studied]) -> str:
    groups = (_of_size(studied, 2), _of_size(studied, 3), studied)
    # two digits, and none with powers of ten
    rows = [
        [name, *(f"{float(f'{np.median([s.misses[name] for s in g]):.2g}'):g}" for g in groups)]
        for name in REPLAYS
    ]
    return table(["taken from the log", "two vehicles / m", "three / m", "all / m"], rows)


def _number_table(studied: list[Studied]) -> str:
    rows = []
    for s in studied:
        for name, v, ours in zip(s.flown.vehicles, s.numbers, s.velocity_gains, strict=True):
            lean = " and ".join(
                f"{np.degrees(x.value):+.1f} ± {np.degrees(x.sigma):.1f}" for x in v.lean
            )
            rows.append(
                [
                    s.flown.name, name, f"{v.gain.value:.3f} ± {v.gain.sigma:.3f}",
                    f"{100.0 * v.gain_rate.value:+.2f} ± {100.0 * v.gain_rate.sigma:.2f}", lean,
                    f"{v.velocity.value:.2f} ± {v.velocity.sigma:.2f}", f"{ours:.2f}",
                ]
            )  # fmt: skip
    head = [
        "flight",
        "vehicle",
        "thrust gain",
        "its change / %/s",
        "lean that is not told, x and y / deg",
        "velocity",
        "in our loop",
    ]
    return table(head, rows)


def _flight_table(studied: list[Studied]) -> str:
    rows = [
        [
            s.flown.name, f"{1e3 * s.misses[WHOLE]:.1f}", f"{1e3 * s.tracking:.1f}",
            f"{1.0 - s.misses[WHOLE] / s.tracking:.2f}", ", ".join(f"{g:.3f}" for g in s.balance.gain),
            f"{np.degrees(s.filter_error):.2f} of {np.degrees(s.logged_tilt):.2f}",
        ]
        for s in studied
    ]  # fmt: skip
    head = ["flight", "miss / mm", "reference / mm", "skill", "thrust gains", "filter / deg"]
    return table(head, rows)


def _draw_hover(studied: list[Studied], path: Path) -> None:
    figure, axes = plt.subplots(
        1, 2, figsize=(9, 4), layout="constrained", sharex=True, sharey=True
    )
    for s in studied:
        pull = s.balance.pulls[:, :2] / np.linalg.norm(s.balance.needed, axis=1)[:, None]
        colour = "C0" if len(s.flown.vehicles) == 2 else "C1"
        x = np.degrees(-pull).ravel()
        axes[0].plot(x, np.degrees(s.balance.lean).ravel(), ".", color=colour)
        axes[1].plot(x, np.degrees(s.balance.told[:, :2]).ravel(), ".", color=colour)
    for axis, title in zip(axes, ("what forces need", "what the vehicle believes"), strict=True):
        axis.axline((0, 0), slope=1, color="0.7", linewidth=0.8)
        axis.set(
            title=title, xlabel="sideways pull over thrust, x and y / deg", ylabel="lean / deg"
        )
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _draw_filter(studied: list[Studied], path: Path) -> None:
    figure, axes = plt.subplots(len(SHOWN), 1, figsize=(10, 7), layout="constrained")
    for axis, s in zip(axes, [s for s in studied if s.flown.name in SHOWN], strict=True):
        for values, label, colour in (
            (s.flown.axes, "logged", "C0"),
            (filtered(s.flown, s.balance), "filter that knows of no cable", "C1"),
        ):
            axis.plot(s.flown.time, np.degrees(values[:, 0, 0]), color=colour, label=label)
        axis.axvspan(s.flown.time[0], HOVER_END, color="0.9")
        axis.set_title(f"{s.flown.name}, {s.flown.vehicles[0]}", loc="left", fontsize=9)
        axis.set_ylabel("tilt to x / deg")
    axes[0].legend(fontsize=8)
    axes[-1].set_xlabel("time / s")
    figure.savefig(path, dpi=90)
    plt.close(figure)


def _draw_paths(studied: list[Studied], path: Path) -> None:
    figure, axes = plt.subplots(len(SHOWN), 3, figsize=(12, 7), layout="constrained", sharex="row")
    for row, s in zip(axes, [s for s in studied if s.flown.name in SHOWN], strict=True):
        reference = s.flown.reference[:, 0]
        for i, axis in enumerate(row):
            axis.plot(s.flown.time, 1e3 * (s.flown.payload - reference)[:, i], label="recorded")
            axis.plot(s.flown.time, 1e3 * (s.path - reference)[:, i], label="simulated")
            axis.axvspan(s.flown.time[0], SETTLED, color="0.9")
            axis.set(ylabel=f"{'xyz'[i]} from reference / mm", ylim=(-250, 250))
        row[0].set_title(s.flown.name, loc="left", fontsize=9)
    axes[0, 2].legend(fontsize=8)
    figure.savefig(path, dpi=90)
    plt.close(figure)
