"""Write docs/results/real_flights.md and real_flights_cause.md: python docs/scripts/make_real_flights.py FOLDER."""

import sys
from pathlib import Path

from validation.real_flights.february.page import write_page as write_cause
from validation.real_flights.page import write_page

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("name the folder of the recordings")
    folder = Path(sys.argv[1])
    if not (folder / "index.json").exists():
        sys.exit(f"{folder}: holds no recordings (index.json). Name their folder.")
    write_page(folder, ROOT / "docs/results/real_flights.md", ROOT / "docs/images")
    write_cause(folder, ROOT / "docs/results/real_flights_cause.md", ROOT / "docs/images")
