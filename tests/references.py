"""Where reference data are that the repository does not hold: cases with independent solutions, recorded flights.

The environment variables ROTOR_CASES and ROTOR_FLIGHTS name their folders; without them they are looked for beside the
repository. Tests that need what is not there are skipped, and say so.
"""

import os
from pathlib import Path

BESIDE = Path(__file__).resolve().parents[2] / "shared"

CASES = Path(os.environ.get("ROTOR_CASES", BESIDE / "cases"))
"""``index.json`` and ``cases/*.json`` (docs/how-to/cases.md)."""

FLIGHTS = Path(os.environ.get("ROTOR_FLIGHTS", BESIDE / "flight_data" / "col_trans_2024"))
"""Flights of two and three Crazyflies with a payload (docs/results/real_flights.md)."""

NO_CASES = "no reference cases here: ROTOR_CASES names their folder"
NO_FLIGHTS = "no recorded flights here: ROTOR_FLIGHTS names their folder"
