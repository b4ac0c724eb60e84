"""Every example runs and is short enough to read at a glance."""

import subprocess
import sys
from pathlib import Path

import pytest

NODES = (
    "05_external_controller",
    "06_external_planner",
    "09_predictive_controller",
    "12_one_controller_each",
    "point_mass_mpc",
)
"""These run until they are stopped, or are a part of those that do: tests/test_swap.py and test_decentralised.py fly them."""

EXAMPLES = [
    p for p in sorted((Path(__file__).parents[1] / "examples").glob("*.py")) if p.stem not in NODES
]


SHORT = {"11_learn_to_hover": ["2"]}
"""Arguments of those that take long; tests/offline/test_gym.py learns further."""


@pytest.mark.parametrize("name", NODES)
def test_nodes_are_short_too(name):
    path = Path(__file__).parents[1] / "examples" / f"{name}.py"
    assert len(path.read_text().splitlines()) < 80


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path, tmp_path):
    assert len(path.read_text().splitlines()) < 80
    out = subprocess.run(
        [sys.executable, str(path), *SHORT.get(path.stem, [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert out.returncode == 0, out.stderr
    assert out.stdout.strip() and not list(tmp_path.iterdir())
