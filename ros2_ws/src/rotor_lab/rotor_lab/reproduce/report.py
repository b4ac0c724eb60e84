"""Run the reproduction of a paper, print it and write it down, as Markdown and as one HTML page."""

from __future__ import annotations

import base64
import importlib
import re
from pathlib import Path

import markdown as markdown_library
import matplotlib.pyplot as plt

from rotor_lab.reproduce.rows import Row, markdown

PAPERS = {
    "fiori": "rotor_lab.reproduce.fiori",
    "kremer": "rotor_lab.reproduce.kremer",
    "palacios": "rotor_lab.reproduce.palacios",
    "pappalardo": "rotor_lab.reproduce.pappalardo",
    "rotortm": "rotor_lab.reproduce.rotortm",
}
"""Modules with SECTIONS (title to rows and paragraphs), FIGURES (name to function), TITLE and NOTE."""

STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; font-size: 13px; }
th, td { border-bottom: 1px solid #ddd; padding: 0.25em 0.7em; text-align: left; }
th { border-bottom: 2px solid #888; }
img { max-width: 100%; }
"""


def reproduce(paper: str, folder: Path) -> bool:
    """Write report.md, report.html and the plots of a paper into ``folder``; whether every figure agrees."""
    module = importlib.import_module(PAPERS[paper])
    parts = [f"# {module.TITLE}", f"`./rotor reproduce {paper}`. {module.NOTE}"]
    rows: list[Row] = []
    for title, section in module.SECTIONS.items():
        found: list[Row] = []
        parts.append(f"## {title}")
        for item in section():
            if isinstance(item, Row):
                found.append(item)
            else:
                parts.append(item)
        if found:
            parts.append(markdown(found))
            good = sum(r.passes for r in found)
            print(f"{title:<34} {good} of {len(found)} agree", flush=True)
        for row in found:
            if not row.passes:
                print(
                    f"  {row.test} {row.what}: {row.ours} instead of {row.theirs}, allowed {row.bound}"
                )
        rows += found
    pictures = []
    for name, draw in module.FIGURES.items():
        figure = draw()
        figure.savefig(folder / f"{name}.png", dpi=110)
        plt.close(figure)
        pictures.append(f"![{name}]({name}.png)")
    text = "\n\n".join([*parts[:2], *pictures, *parts[2:]]) + "\n"
    (folder / "report.md").write_text(text)
    (folder / "report.html").write_text(_page(module.TITLE, text, folder))
    return all(r.passes for r in rows)


def _page(title: str, text: str, folder: Path) -> str:
    """One page that needs no other file."""
    body = markdown_library.markdown(text, extensions=["tables"])

    def embedded(match: re.Match) -> str:
        data = base64.b64encode((folder / match.group(1)).read_bytes()).decode()
        return f'src="data:image/png;base64,{data}"'

    body = re.sub(r'src="([^"]+\.png)"', embedded, body)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )
