"""The pages of the site that are made from the code: command line, schema, messages, topics, Python."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import types
import typing
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = REPOSITORY / "ros2_ws/src"
PACKAGES = (
    "rotor_core",
    "rotor_dynamics",
    "rotor_sim",
    "rotor_control",
    "rotor_planning",
    "rotor_flight",
    "rotor_recordings",
    "rotor_viewer",
    "rotor_adapters",
    "rotor_testbed",
    "rotor",
)
SCENARIOS = ("slalom", "delivery", "helicopter_slung_load", "pick_and_place")
"""Together these have every kind of topic."""


def reference_pages() -> dict[str, str]:
    """Text of every generated page by its path."""
    os.environ["ROTOR_CONFIG_DIR"] = str(REPOSITORY / "config")
    for package in PACKAGES:
        folder = str(SOURCES / package)
        if folder not in sys.path:
            sys.path.insert(0, folder)
    pages = {
        "reference/command_line.md": command_line(),
        "reference/schema.md": schema(),
        "reference/messages.md": messages(),
        "reference/topics.md": topics(),
    }
    for package in PACKAGES:
        pages.update(modules(package))
    return pages


def command_line() -> str:
    """All commands, as ``--help`` shows them."""
    from rotor.cli import parser

    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "110"
    try:
        top = parser()
        out = ["# Command line", f"```text\n{top.format_help()}```"]
        for action in top._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, sub in action.choices.items():
                    out.append(f"## {name}\n\n```text\n{sub.format_help()}```")
    finally:
        os.environ.pop("COLUMNS")
        if columns is not None:
            os.environ["COLUMNS"] = columns
    return "\n\n".join(out) + "\n"


def schema() -> str:
    """The dataclasses that a scenario file fills, from the outermost inwards."""
    from rotor_core.config.schema import Scenario

    out = [
        "# Keys of a scenario file",
        "Made from the dataclasses in `rotor_core/config/`. How the keys are used: "
        "[configuration](../config/README.md). A key without a default must be given. Every number must be finite.",
    ]
    waiting, seen = [Scenario], {Scenario}
    while waiting:
        cls = waiting.pop(0)
        hints = typing.get_type_hints(cls)
        fields = [f for f in dataclasses.fields(cls) if f.init]
        rows = ["| key | type | default | limits |", "|---|---|---|---|"]
        for field in fields:
            rows.append(
                f"| `{field.name}` | {_type(hints[field.name])} | {_default(field)} | {_limits(field)} |"
            )
            for inner in _dataclasses(hints[field.name]):
                if inner not in seen:
                    seen.add(inner)
                    waiting.append(inner)
        out += [f"## {cls.__name__}", _code(cls.__doc__ or ""), "\n".join(rows)]
        if hasattr(cls, "SHORTHAND"):
            out.append(f"A single word is read as its `{cls.SHORTHAND}`.")
    return "\n\n".join(out) + "\n"


def _code(docstring: str) -> str:
    lines = [line.strip() for line in docstring.strip().splitlines()]
    return "\n".join(lines).replace("``", "`").replace(":class:", "").replace(":attr:", "")


def _dataclasses(hint: typing.Any) -> list[type]:
    if dataclasses.is_dataclass(hint):
        return [typing.cast(type, hint)]
    return [c for a in typing.get_args(hint) for c in _dataclasses(a)]


def _type(hint: typing.Any) -> str:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        name = typing.cast(type, hint).__name__
        return f"[{name}](#{name.lower()})"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type(a) for a in arguments if a is not type(None))
    if origin is typing.Literal:
        return " or ".join(f"`{a}`" for a in arguments)
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return (
                f"list of ({_type(arguments[0])})"
                if " or " in _type(arguments[0])
                else f"list of {_type(arguments[0])}"
            )
        if len(set(arguments)) == 1:
            return f"{len(arguments)} x {_type(arguments[0])}"
        return ", ".join(_type(a) for a in arguments)
    return {float: "number", int: "whole number", str: "text", bool: "true or false"}.get(
        hint, str(hint)
    )


def _default(field: dataclasses.Field[typing.Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return "defaults"
    if field.default is dataclasses.MISSING:
        return "**required**"
    value = field.default
    if value is None or value == () or value == "" or dataclasses.is_dataclass(value):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{list(value) if isinstance(value, tuple) else value}`"


def _limits(field: dataclasses.Field[typing.Any]) -> str:
    signs = {"gt": "> ", "ge": "≥ ", "lt": "< ", "le": "≤ "}
    return ", ".join(
        f"{s}{field.metadata[k]:g}" for k, s in signs.items() if field.metadata.get(k) is not None
    )


def messages() -> str:
    """Every message, service and action of rotor_msgs as its file says it."""
    out = [
        "# Messages, services, actions",
        "Package `rotor_msgs`: what no standard message says. A line `---` parts request and response.",
    ]
    for folder, title in (("msg", "Messages"), ("srv", "Services"), ("action", "Actions")):
        out.append(f"## {title}")
        for path in sorted((SOURCES / "rotor_msgs" / folder).glob(f"*.{folder}")):
            out.append(f"### {path.stem}\n\n```text\n{path.read_text().rstrip()}\n```")
    return "\n\n".join(out) + "\n"


def topics() -> str:
    """The topics that a recorder stores, with their types as links to ours."""
    from rotor_core.config.loader import load_scenario
    from rotor_recordings.formats.topics import laboratory_topics, recorded_topics

    simulator, laboratory = {}, {}
    for name in SCENARIOS:
        scenario = load_scenario(name)
        for rows, found in (
            (simulator, recorded_topics(scenario)),
            (laboratory, laboratory_topics(scenario)),
        ):
            for topic in found:
                rows.setdefault(_general(topic.name, scenario), topic)
    out = [
        "# Recorded topics",
        "What `--record` stores, from `rotor_recordings/formats/topics.py`; all topics, inputs too, with rates and "
        "meaning: [the node graph](../docs/graph.md). Names are relative to the namespace of the nodes. "
        "`<vehicle>/motor_speed` is there where the package `actuator_msgs` is installed.",
        "## With the simulator", _topic_table(simulator), "## With the laboratory", _topic_table(laboratory),
    ]  # fmt: skip
    return "\n\n".join(out) + "\n"


def _general(name: str, scenario: typing.Any) -> str:
    from rotor_core.config.teams import teams

    model = scenario.model
    kinds = dict.fromkeys((e.name for e in model.entities), "<entity>")
    one_kind = (
        "imu",
        "main_rotor",
        "motor_speed",
        "motors",
        "battery",
        "joint_states",
        "joint_trajectory",
    )
    planned = ("reference", "reference_pose", "path", "path_reference")
    parts = name.split("/")
    if parts[0] in {t.entity for t in teams(model)} and parts[-1] in planned:
        parts[0] = "<planned>"
    elif parts[0] in {v.name for v in model.vehicles} and parts[-1] in one_kind:
        parts[0] = "<vehicle>"
    parts = ["cable<k>" if p in model.cable_names else kinds.get(p, p) for p in parts]
    return "/".join(parts)


def _topic_table(rows: dict[str, typing.Any]) -> str:
    out = ["| topic | type | from | quality |", "|---|---|---|---|"]
    for name, topic in rows.items():
        package, _, kind = topic.type.split("/")
        shown = (
            f"[`{package}/{kind}`](messages.md#{kind.lower()})"
            if package == "rotor_msgs"
            else f"`{package}/{kind}`"
        )
        quality = "latched" if topic.latched else "best effort" if topic.best_effort else "reliable"
        out.append(f"| `{name}` | {shown} | {topic.source} | {quality} |")
    return "\n".join(out)


def modules(package: str) -> dict[str, str]:
    """One page per folder of a package, with all its public modules."""
    root = SOURCES / package / package
    pages = {}
    for folder in sorted({p.parent for p in root.rglob("*.py")}):
        dotted = ".".join((package, *folder.relative_to(root).parts))
        names = sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("_"))
        own = [dotted] if (folder / "__init__.py").read_text().strip() else []
        blocks = [f"::: {name}" for name in own + [f"{dotted}.{n}" for n in names]]
        if blocks:
            pages[f"reference/python/{dotted}.md"] = f"# {dotted}\n\n" + "\n\n".join(blocks) + "\n"
    return pages
