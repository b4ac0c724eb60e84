"""Draw the figure of docs/results/README.md: `./rotor python docs/scripts/make_figures.py`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from rotor_core.config.loader import load_scenario
from rotor_flight.fly import fly
from rotor_viewer.export.plots import draw_flight

IMAGES = Path(__file__).resolve().parents[1] / "images"
FIGURES = {
    "snap": ("collision_triangular", "tensions", 1.5),
}


def main() -> None:
    """Fly the scenarios and keep one picture of each."""
    IMAGES.mkdir(exist_ok=True)
    for name, (scenario, picture, duration) in FIGURES.items():
        with tempfile.TemporaryDirectory() as folder:
            draw_flight(fly(load_scenario(scenario), duration=duration), Path(folder))
            shutil.copy(Path(folder) / f"{picture}.png", IMAGES / f"{name}.png")
        print(IMAGES / f"{name}.png")


if __name__ == "__main__":
    main()
