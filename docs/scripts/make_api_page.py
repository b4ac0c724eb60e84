"""Write docs/api.md, the stable face of the suite, from its docstrings.

./rotor python docs/scripts/make_api_page.py
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from types import ModuleType

import rotor

DOCS = Path(__file__).resolve().parents[1]
PAGE = DOCS / "api.md"
EXAMPLE = DOCS.parent / "examples" / "13_face.py"


OURS = {
    "Simulation": {
        "restructure", "recall", "hold_as", "sense_as", "take_motors", "blow_as", "restart_as", "wind_ahead", "times",
        "elapsed_at", "note_touching",
    },
}  # fmt: skip
"""Members by which other packages of the suite go on where one world stood: no interface for users."""


def _text(thing: object) -> str:
    """Docstring as Markdown: sections of arguments as lists."""
    text = inspect.getdoc(thing) or ""
    text = re.sub(r":\w+:`~?([^`]+)`", lambda m: f"`{m.group(1).rpartition('.')[2]}`", text)
    text = text.replace("``", "`")
    lines = []
    for line in text.splitlines():
        if match := re.fullmatch(r"(Args|Returns|Raises|Attributes):", line):
            lines += [f"*{match.group(1)}*", ""]
        elif match := re.match(r"    ([A-Za-z_, ]+): (.*)", line):
            lines.append(f"- `{match.group(1)}`: {match.group(2)}")
        else:
            lines.append(line.strip() if line.startswith("    ") else line)
    return "\n".join(lines)


def _signature(name: str, thing: object) -> str:
    try:
        text = f"{name}{inspect.signature(thing)}"  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return name
    return re.sub(r"'([^']*)'", r"\1", text)


def _call(name: str, method: object) -> str:
    """A method as it is called: its arguments with their defaults, without types."""
    try:
        parameters = list(inspect.signature(method).parameters.values())  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return f"{name}()"
    bare = [
        p.replace(annotation=inspect.Parameter.empty)
        for p in parameters
        if p.name not in ("self", "cls")
    ]
    return f"{name}{inspect.Signature(bare)}"


def _members(cls: type) -> list[str]:
    out = []
    for base in reversed(cls.__mro__[:-1]):
        for name, member in vars(base).items():
            hidden = name.startswith("_") and name not in ("__getitem__", "__call__")
            if hidden or name in OURS.get(cls.__name__, ()):
                continue
            thing = (
                member.fget if isinstance(member, property) else inspect.unwrap(getattr(cls, name))
            )
            doc = (
                (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ").replace("``", "`")
            )
            doc = re.sub(r":\w+:`~?([^`]+)`", lambda m: f"`{m.group(1).rpartition('.')[2]}`", doc)
            if doc and (isinstance(member, property) or callable(thing)):
                shown = _call(name, thing) if callable(getattr(cls, name, None)) else name
                out.append(f"| `{shown}` | {doc.replace('|', '/')} |")
    return list(dict.fromkeys(out))


def _entry(name: str) -> str:
    thing = getattr(rotor, name)
    if isinstance(thing, ModuleType):
        parts = [f"## `rotor.{name}`", _text(thing)]
        for inner in thing.__all__:
            member = getattr(thing, inner)
            if inspect.isfunction(member):
                parts += [f"### `rotor.{name}.{_signature(inner, member)}`", _text(member)]
        return "\n\n".join(parts)
    exception = inspect.isclass(thing) and issubclass(thing, Exception)
    head = name if exception else _signature(name, thing)
    parts = [f"## `rotor.{head}`", _text(thing)]
    if inspect.isclass(thing) and not exception and (rows := _members(thing)):
        parts.append("| member | meaning |\n|---|---|\n" + "\n".join(rows))
    if dataclasses.is_dataclass(thing) and "Attributes" not in (inspect.getdoc(thing) or ""):
        fields = ", ".join(f"`{f.name}`" for f in dataclasses.fields(thing))
        parts.append(f"Fields: {fields}.")
    return "\n\n".join(parts)


def page() -> str:
    """Text of the page."""
    parts = [
        "# Python interface",
        "Made by `./rotor python docs/scripts/make_api_page.py`. What `import rotor` offers is stable; everything else "
        "may move. All of it in one example, which the tests run:",
        f"```python\n{EXAMPLE.read_text().rstrip()}\n```",
    ]
    parts += [_entry(name) for name in rotor.PLACES]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(PAGE)
