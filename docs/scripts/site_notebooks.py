"""Notebooks as pages of the site: executed while it builds, with what they print and draw."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import MarkdownExporter

REPOSITORY = Path(__file__).resolve().parents[2]
NOTEBOOKS = REPOSITORY / "docs" / "notebooks"

TIMEOUT = 300
"""Longest a cell may take, s."""


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with its outputs.

    Raises:
        CellExecutionError: of nbclient: a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    sources = os.pathsep.join(str(p) for p in sorted((REPOSITORY / "ros2_ws" / "src").iterdir()))
    env = {**os.environ, "PYTHONPATH": sources, "ROTOR_CONFIG_DIR": str(REPOSITORY / "config")}
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=TIMEOUT, resources=resources).execute(env=env)
    for cell in notebook.cells:  # progress and warnings are nothing to read
        cell["outputs"] = [o for o in cell.get("outputs", []) if o.get("name") != "stderr"]
        if cell.cell_type != "code":
            del cell["outputs"]
    return notebook


def notebook_pages() -> Iterator[tuple[str, str | bytes]]:
    """Paths in the site and contents of all pages and pictures of the notebooks."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        text, resources = MarkdownExporter().from_notebook_node(executed(path))
        for name, data in resources["outputs"].items():
            renamed = f"{path.stem}_{name}"
            text = text.replace(f"({name})", f"({renamed})")
            yield f"docs/notebooks/{renamed}", data
        source = f"\n\n*This page is the notebook `docs/notebooks/{path.name}`, executed.*\n"
        yield f"docs/notebooks/{path.stem}.md", text + source
