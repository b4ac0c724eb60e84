"""`./rotor tune SCENARIO`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rotor.verb import VERBS, Verb
from rotor_core.errors import ConfigError

if TYPE_CHECKING:
    from rotor_flight.tuning.proposal import Design


def _tune(options: argparse.Namespace) -> int:
    from rotor_core.config.loader import dump_scenario, load_scenario
    from rotor_flight.fly import fly
    from rotor_flight.reports.folder import check_new_file
    from rotor_flight.reports.table import format_columns
    from rotor_flight.tuning.closed_loop import LinearLoop
    from rotor_flight.tuning.proposal import design_of, gains_of, propose
    from rotor_flight.warm import warm

    out = Path(options.out) if options.out else None
    if out is not None:
        check_new_file(out)
    scenario = load_scenario(options.scenario)
    warm(scenario)
    loop = LinearLoop(scenario)
    before, after = design_of(loop, scenario), propose(loop, scenario)
    rows: list[tuple[str, ...]] = []
    now, then = gains_of(scenario), gains_of(after.scenario)
    rows += [
        (place, _numbers(now[place]), _numbers(then[place]))
        for place in now
        if now[place] != then[place]
    ]
    rows += [
        (name, first, second)
        for (name, first), (_, second) in zip(_words(before), _words(after), strict=True)
    ]
    flights = [fly(s) for s in (scenario, after.scenario)]
    summaries = [flight.summary() for flight in flights]
    rows.append(("flown", *(s["verdict"]["words"] for s in summaries)))
    is_farther = False
    for entity in summaries[0]["teams"]:
        errors = [s["teams"][entity]["position_rmse_m"] for s in summaries]
        is_farther |= errors[1] > errors[0]
        rows.append((f"{entity}: position RMSE", *(f"{1e3 * e:.3g} mm" for e in errors)))
    print(format_columns(("", "now", "proposed"), rows))
    for text in _doubts(before, after):
        print(text)
    if is_farther and after.decay > 0.0:
        print("This flight is farther from its reference with the proposed gains.")
    codes = [flight.verdict().exit_code for flight in flights]
    if codes[1] and not codes[0]:
        print("Keep the gains of now: this scenario does not fly with the proposed ones.")
    if out is not None:
        try:
            out.write_text(dump_scenario(after.scenario))
        except OSError as error:
            raise ConfigError(f"--out {out}: cannot be written ({error.strerror}).") from error
        print(f"{out}: the scenario with the proposed gains. Fly it: ./rotor fly {out}")
    else:
        print("--out FILE.yaml writes the scenario with the proposed gains.")
    return 1 if after.decay <= 0.0 else codes[1]


def _doubts(before: Design, after: Design) -> list[str]:
    """What speaks against a proposal, in lines."""
    from rotor_flight.tuning.proposal import LEAST_DAMPING

    if after.decay <= 0.0:
        return ["Keep the gains of now: with the proposed ones the closed loop is not stable."]
    out = []
    if after.damping < LEAST_DAMPING:
        out.append(
            f"No gains were found with which every mode has {LEAST_DAMPING:g} of critical damping."
        )
    if 0.0 < after.decay < before.decay:
        out.append("The proposed gains decay more slowly than those of now.")
    return out


def _numbers(values: tuple[float, ...]) -> str:
    return ", ".join(f"{v:g}" for v in values)


def _words(design: Design) -> list[tuple[str, str]]:
    """Figures of the closed loop, in rows."""
    rows = [
        ("slowest decay", f"{design.decay:.3g} 1/s"),
        ("least damping", f"{design.damping:.2f} of critical"),
    ]
    for name, m in design.margins.items():
        low = "0" if m.lowest == 0.0 else f"{m.lowest:.2g}"
        high = "more than 20" if m.highest == float("inf") else f"{m.highest:.2g}"
        rows.append((f"gain margin, {name}", f"{low} to {high}"))
    return [*rows, ("delay margin", f"{1e3 * design.delay_margin:.0f} ms")]


def _arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("scenario", help="shipped name or path: a team of multirotors")
    sub.add_argument(
        "--out", metavar="FILE.yaml", help="write the scenario with the proposed gains"
    )


VERBS.register(
    "tune",
    Verb(
        "Propose gains for a vehicle or team and its payload, with poles, margins and flights beside those of now.",
        "./rotor tune three_dragonflies_triangular_1m --out my/tuned.yaml",
        _arguments,
        _tune,
    ),
)
