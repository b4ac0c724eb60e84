"""Steps of `./rotor identify`: read, fit, write, report."""

from __future__ import annotations

import argparse
from dataclasses import replace

from rotor_core.config.loader import dump_scenario, load_scenario
from rotor_core.errors import ConfigError
from rotor_dynamics.hybrid.events import PARTS
from rotor_flight.reports.folder import new_folder, write_json
from rotor_flight.reports.table import format_table
from rotor_flight.warm import warm
from rotor_recordings.formats.flights import open_flight
from rotor_recordings.identify.fit import CONFIDENCE, Identified, identify
from rotor_recordings.identify.parameters import chosen, default_names
from rotor_recordings.identify.windows import make_windows
from rotor_recordings.predict.predict import orders_in, untold_orders, untold_past

NOTHING = 5e-6
"""Errors of prediction are told to this, m: what is below is no difference."""


def run(options: argparse.Namespace) -> int:
    """Identify, and write identified.yaml and identified.json."""
    nominal = load_scenario(options.scenario) if options.scenario else None
    flight = open_flight(options.recording, nominal, states=options.states)
    warm(flight.scenario)
    # what a recording's own scenario told the simulator apart from the model is what is to be found
    scenario = replace(flight.scenario, plant=()) if nominal is None else flight.scenario
    if untold := untold_past(scenario):
        raise ConfigError(
            f"{untold}, and parts of a flight are predicted. Record a flight without it, or leave it out: --scenario "
            "with a nominal model without it."
        )
    if untold := untold_orders(scenario):
        raise ConfigError(f"{untold}. Record a flight with cables of fixed lengths.")
    if any(c.attach or c.release or c.wind for c in scenario.changes):
        raise ConfigError(
            "changes: windows do not know what is gripped, let go or wound on the way. Record a flight without, and "
            "leave it out of the scenario."
        )
    if any(e.type in (*PARTS, "attach") for e in flight.past):
        raise ConfigError(
            "something was cut or gripped before the recording begins, which windows do not know. Record a flight "
            "without."
        )
    if orders := orders_in(flight):
        raise ConfigError(
            f"{orders[0].type} at {orders[0].time - flight.time[0]:.3f} s: windows do not know what a mission or a "
            "service cuts, grips or lets go on the way. Record a flight without."
        )
    if drained := [v.name for v in scenario.model.vehicles if v.battery]:
        raise ConfigError(
            f"battery of {drained[0]}: how full it is at the start of a window is not recorded. Leave it out: "
            "--scenario with a nominal model without it."
        )
    parameters = chosen(scenario, options.parameters or default_names(scenario))
    is_exact = options.states == "ground_truth"
    windows = make_windows(flight, scenario, options.horizon, options.start, is_exact=is_exact)
    found = identify(windows, parameters)
    folder = new_folder(options.out, f"identify-{scenario.name}")
    (folder / "identified.yaml").write_text(dump_scenario(found.scenario))
    write_json(folder / "identified.json", as_data(found))
    print(format_table(rows_of(found)))
    print(f"{folder}/: identified.yaml, identified.json")
    return 0


def as_data(found: Identified) -> dict:
    """Plain data; keys carry their units."""
    return {
        "confidence": CONFIDENCE,
        "parameters": {
            e.parameter.name: {
                "nominal": e.parameter.nominal,
                "value": e.value,
                "low": e.low,
                "high": e.high,
                "told": e.is_told,
                "at_limit": e.is_at_limit,
            }
            for e in found.estimates
        },
        "untold": {u.parameter.name: u.reason for u in found.untold},
        "prediction_rms_m": {
            "fitted": [found.fit_before, found.fit_after],
            "held_back": [found.check_before, found.check_after],
        },
    }


def rows_of(found: Identified) -> list[tuple[str, str]]:
    """Rows (what, value) for people."""
    rows = [
        (
            e.parameter.name,
            f"{e.value:.5g}   {100 * CONFIDENCE:.0f} %: {e.low:.5g} .. {e.high:.5g}   was {e.parameter.nominal:.5g}"
            + ("" if e.is_told else "   this flight hardly tells it")
            + ("   at the limit of the search" if e.is_at_limit else ""),
        )
        for e in found.estimates
    ]  # fmt: skip
    rows += [
        (u.parameter.name, f"{u.reason}; left at {u.parameter.nominal:.5g}") for u in found.untold
    ]
    for name, before, after in (
        ("fitted windows", found.fit_before, found.fit_after),
        ("windows held back", found.check_before, found.check_after),
    ):
        worse = "   worse than before" if after > before + NOTHING else ""
        rows.append(
            (f"prediction error, {name}", f"{1e3 * before:.2f} -> {1e3 * after:.2f} mm{worse}")
        )
    return rows
