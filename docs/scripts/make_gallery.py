"""Write docs/gallery.md and docs/images/gallery/*.webp: every shipped scenario, flown and drawn. Some minutes.

Names of scenarios as arguments: only their pictures are drawn anew.
"""

import sys
from pathlib import Path

from rotor_core.config.catalog import shipped
from rotor_core.config.loader import load_scenario, scenario_heading
from rotor_flight.fly import fly
from rotor_viewer.export.drawing import draw_film

DOCS = Path(__file__).resolve().parents[1]
IMAGES = DOCS / "images" / "gallery"

PICTURES, PLAYED = 24, 6.0
"""Pictures of a film, and how many are shown per second: four seconds for every flight, however long it was."""

DPI = 38
"""Of a figure of 8 x 6 inches: 304 x 228 pixels."""

HEAD = """# Gallery

Every shipped scenario, drawn by `docs/scripts/make_gallery.py` from a flight. Each film lasts four seconds,
however long the flight was. Green: thrust; orange line: the way of what is planned; black cables pull, orange ones are
slack.
`./rotor view NAME` shows it in the browser, `./rotor export FLIGHT --gif FILE` draws such a film.

"""


def main() -> None:
    """Fly, draw, write."""
    IMAGES.mkdir(exist_ok=True)
    groups: dict[str, list[str]] = {}
    for name in shipped("scenarios"):
        group, description = scenario_heading(name)
        path = IMAGES / f"{name}.webp"
        if not path.exists() or name in sys.argv[1:]:
            flight = fly(load_scenario(name))
            path.unlink(missing_ok=True)
            draw_film(flight, PICTURES / flight.elapsed[-1], path, played=PLAYED, dpi=DPI)
            print(name, path.stat().st_size, flush=True)
        entry = f"**{name}**\\\n{description}\\\n![{name}](images/gallery/{name}.webp)\n"
        groups.setdefault(group or "others", []).append(entry)
    text = "\n".join(f"## {group}\n\n" + "\n".join(entries) for group, entries in groups.items())
    (DOCS / "gallery.md").write_text(HEAD + text)


if __name__ == "__main__":
    main()
