"""Write docs/memory.md, the map of the engine's memory, from its declarations.

./rotor python docs/scripts/make_memory_page.py
"""

from __future__ import annotations

from pathlib import Path

from rotor_core import command, reference, state
from rotor_core.rows import Field, Row
from rotor_dynamics.memory import (
    bodies,
    constraints,
    contacts,
    discs,
    hulls,
    joints,
    polyhedra,
    rotors,
    routes,
    world,
)

PAGE = Path(__file__).resolve().parents[1] / "memory.md"
FILES = (world, bodies, constraints, routes, polyhedra, joints, rotors, contacts, discs, hulls)
SHARED = (state, reference, command)


def rows_of(module: object) -> list[tuple[Row, dict[Field, str]]]:
    """Rows that a module declares, with the names of their fields."""
    names = {id(value): name for name, value in vars(module).items() if isinstance(value, Field)}
    rows = [value for value in vars(module).values() if isinstance(value, Row)]
    return [(row, {f: names[id(f)] for f in row.fields if id(f) in names}) for row in rows]


def _columns(field: Field) -> str:
    first, last = int(field), int(field) + field.width - 1
    return str(first) if first == last else f"{first}..{last}"


def _table(row: Row, names: dict[Field, str]) -> str:
    lines = ["| field | columns | shape | unit | meaning |", "|---|---|---|---|---|"]
    group = ""
    for field in row.fields:
        if field.group != group:
            group = field.group
            lines.append(f"| *{group}* | | | | |")
        shape = " x ".join(map(str, field.extent))
        lines.append(
            f"| `{names[field]}` | {_columns(field)} | {shape} | {field.unit} | {field.meaning} |"
        )
    return "\n".join(lines)


def page() -> str:
    """Text of the page."""
    parts = [
        "# Memory of the engine",
        "Made by `./rotor python docs/scripts/make_memory_page.py` from the declarations in "
        "`rotor_dynamics/memory/`. One world is two flat arrays, `ints` and `floats`. The tables below lie in them "
        "in this order; kernels see them through `memory.views`, Python through the engine. Only `rotor_dynamics` "
        "reads memory by column.",
        "## Tables of a world",
        "| table | array | rows x columns | holds |\n|---|---|---|---|\n"
        + "\n".join(
            f"| `{name}` | {table.array} | {' x '.join(str(d) for d in table.shape)} | {table.meaning} |"
            for name, table in world.tables().items()
        ),
    ]
    for module in FILES:
        parts.append(f"## `memory/{module.__name__.rpartition('.')[2]}.py`")
        for row, names in rows_of(module):
            parts += [f"### {row.name}", row.meaning, _table(row, names)]
    parts += [
        "## Rows that controllers and planners share",
        "Declared in `rotor_core`; the state of a body in memory has the first 13 columns of a motion.",
    ]
    for module in SHARED:
        for row, names in rows_of(module):
            parts += [f"### {row.name}", row.meaning, _table(row, names)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(PAGE)
