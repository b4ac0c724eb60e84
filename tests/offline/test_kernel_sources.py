"""A cached kernel is as old as the sources that are in it."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rotor_core.kernels import sources
from rotor_core.kernels.jit import COMPILED

ROOT = Path(__file__).parents[2]
MODULES = sorted(m for package in sources.PACKAGES for m in sources._modules_in(package))
DECORATORS = {"kernel", "inlined", "linked", "kernel_without_gil"}


def kernels_in(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            named = {
                n.id for d in node.decorator_list for n in ast.walk(d) if isinstance(n, ast.Name)
            }
            if named & DECORATORS:
                yield node


def test_every_package_with_kernels_is_followed():
    """Else an edit of a control law would not reach the compiled flights of another package."""
    found = set()
    for file in sorted((ROOT / "ros2_ws" / "src").rglob("*.py")):
        if "test" not in file.parts and any(kernels_in(ast.parse(file.read_text()))):
            found.add(file.relative_to(ROOT / "ros2_ws" / "src").parts[0])
    assert "rotor_flight" in found and found <= set(sources.PACKAGES)
    laws = {
        "rotor_control.laws.position",
        "rotor_control.laws.cable_team",
        "rotor_flight.compiled.teams",
    }
    assert laws < reached_from("rotor_flight.compiled.flights")
    assert laws < reached_from("rotor_flight.sensitivities.flights")


def reached_from(module):
    seen, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += sources._read(name, sources.file_of(name))[1]
    return seen


def test_what_a_kernel_names_is_among_its_sources():
    """Against the objects themselves: where each global of each kernel was made."""
    kernels = 0
    for name in MODULES:
        if not any(kernels_in(ast.parse(sources.file_of(name).read_text()))):
            continue
        module = importlib.import_module(name)
        reached = None
        for value in vars(module).values():
            function = getattr(value, "py_func", None)
            if function is None or getattr(function, "__module__", None) != name:
                continue
            kernels += 1
            reached = reached or reached_from(name)
            for word in function.__code__.co_names:
                used = function.__globals__.get(word)
                home = (
                    used.__name__
                    if isinstance(used, ModuleType)
                    else getattr(used, "__module__", None)
                )
                if isinstance(home, str) and home.partition(".")[0] in sources.PACKAGES:
                    assert home in reached, f"{name}.{function.__name__} names {word} of {home}"
    assert kernels > 300


def test_kernels_name_nothing_of_the_folders_that_are_passed_over():
    """A constant of a scenario's schema would be compiled into the kernel, and an edit there would not be seen."""
    for name in MODULES:
        tree = ast.parse(sources.file_of(name).read_text())
        passed_over = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module
            and set(node.module.split(".")) & sources.WITHOUT_KERNELS
            for alias in node.names
        }  # fmt: skip
        for function in kernels_in(tree):
            used = {
                n.id for part in function.body for n in ast.walk(part) if isinstance(n, ast.Name)
            }
            assert not used & passed_over, f"{name}.{function.name}"


def test_what_no_kernel_imports_changes_no_kernel():
    stepper = reached_from("rotor_dynamics.hybrid.stepper")
    assert "rotor_dynamics.forces.buoyancy" in stepper  # by its place in a table
    assert "rotor_dynamics.integrators.dopri5" in stepper
    assert (
        not {"rotor_sim.simulation", "rotor_control.laws.attitude", "rotor_core.config.model"}
        & stepper
    )


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("from rotor_core.math import (  # why\n    so3,\n    vec3 as v,\n)", {"math.so3", "math.vec3", "math"}),
        ("import rotor_core.math.so3 as so3, numpy", {"math.so3"}),
        ("    from rotor_core.math.so3 import exp", {"math.so3"}),
        ("from . import so3", {"math.so3", "math"}),
        ("from .so3 import exp", {"math.so3"}),
        ("from ..plans.plan import segment_at", {"plans.plan"}),
        ("from rotor_core.config.model import Model", set()),
    ],
)  # fmt: skip
def test_ways_to_name_a_module(source, named):
    file = sources.file_of("rotor_core.math.vec3")
    found = sources._named_in(source, "rotor_core.math.vec3", file)
    assert found - {"rotor_core"} == {f"rotor_core.{name}" for name in named}


SCRIPT = """
import numpy, mine
from rotor_core.kernels.jit import cache_directory, kernel, when_compiling
began = []
when_compiling(lambda begins: began.append(1) if begins else None)

@kernel
def twice(x):
    return 2.0 * mine.length(x)

assert twice((3.0, 4.0, 0.0)) == 10.0 * mine.SCALE
print(len(began))
"""

MODULE = """
from rotor_core.kernels.jit import inlined
from rotor_core.math.vec3 import norm
SCALE = {}

@inlined
def length(x):
    return SCALE * norm(x)
"""


@pytest.mark.skipif(not COMPILED, reason="kernels are not compiled here")
def test_kernels_of_a_script_are_kept_too(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    (tmp_path / "mine.py").write_text(MODULE.format(1.0))

    def compiled():
        out = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, check=False,
            env={**os.environ, "ROTOR_CACHE_DIR": str(tmp_path / "cache")},
        )  # fmt: skip
        assert out.returncode == 0, out.stderr
        return int(out.stdout)

    assert compiled() > 0
    assert compiled() == 0
