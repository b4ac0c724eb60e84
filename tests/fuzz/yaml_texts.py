"""YAML as text: known attacks, edits of lines, and plain data written so that any reader gets it back."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from fuzz import nasty


def _bomb(levels: int, width: int) -> str:
    lines = [f"a0: &a0 [{', '.join(['1'] * width)}]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, levels)]
    return "\n".join(lines)


HEAD = "schema: 1\nmodel: {vehicles: [{use: dragonfly}]}\ncontroller: {use: quadrotor}\n"
ATTACKS = [
    "", " ", "\n" * 10, "\ufeff", "\ufeff" + HEAD, "\x00", HEAD + "\x00", "---\n---\n", HEAD + "---\n" + HEAD, "%YAML 1.1\n---\n" + HEAD,
    "%YAML 9.9\n---\n" + HEAD, "%TAG ! tag:x,2000:\n---\n" + HEAD, "\t", "- 1", "1", "null", "[]", "{}", "schema: 1", "schema: [1]",
    "schema: {1: 1}", "schema: 1.0", "schema: true", "schema: '1'", "schema: 01", "schema: 1_0", "schema: 0x1", "schema: 0o1",
    "[" * 100000, "{" * 50, "{a: " * 5000, "- " * 5000 + "1", "? " * 3000, "a:\n" + "".join(" " * i + "a:\n" for i in range(900)),
    _bomb(9, 10), _bomb(30, 2), _bomb(2, 3000), HEAD + _bomb(9, 10), "a: &a [*a]", "a: &a {b: *a}", "a: *b", "&a a: *a", "schema: &a 1\nseed: *a",
    HEAD + "trajectory: &t {use: hover}\nmission: *t", "<<: *x", "x: &x {seed: 1}\n<<: *x\n" + HEAD, HEAD + "<<: {seed: 4}", HEAD + "<<: [1]",
    HEAD + "seed: !!python/object/apply:os.system ['touch /tmp/rotor_fuzz_was_here']", HEAD + "seed: !!python/name:os.system",
    HEAD + "seed: !!binary aGVsbG8=", HEAD + "seed: !!set {1}", HEAD + "seed: !!omap [a: 1]", HEAD + "seed: !!int 'x'", HEAD + "seed: !!float x",
    HEAD + "seed: !!bool 7", HEAD + "seed: !!null 7", HEAD + "seed: !!timestamp 2001-01-01", HEAD + "seed: !<!> 1", HEAD + "seed: ! 1",
    HEAD + "seed: !!int [1]", HEAD + "seed: !!str {a: 1}", HEAD + "seed: !!map [1]", HEAD + "seed: !!seq {a: 1}", HEAD + "!!int seed: 1",
    HEAD + "seed: " + "9" * 5000, HEAD + "seed: 0x" + "f" * 5000, HEAD + "seed: 1e" + "9" * 50, HEAD + "seed: 1_000", HEAD + "seed: 0b1_1",
    HEAD + "seed: -0", HEAD + "seed: +1", HEAD + "seed: 0o17", HEAD + "seed: .inf", HEAD + "seed: -.INF", HEAD + "seed: .NaN", HEAD + "seed: ._",
    HEAD + "settle_s: 1e400", HEAD + "settle_s: 1.", HEAD + "settle_s: .5", HEAD + "settle_s: 1:30", HEAD + "seed: 1\nseed: 2",
    HEAD + "? [a]\n: 1", HEAD + "? {a: 1}\n: 1", HEAD + "[a, b]: 1", HEAD + "null: 1", HEAD + "1: 1", HEAD + "'': 1", HEAD + "\u202eseed: 1",
    HEAD + '"\\ud800": 1', HEAD + '"\\0": 1', HEAD + '"\\x1b[2J": 1', HEAD + '"a\\nb": 1', HEAD + "name: 'a\u2028b'", HEAD + 'name: "\\u202e"',
    HEAD + "description: |\n  a\n  b\n", HEAD + "description: >\n" + "  x\n" * 1000, HEAD + "description: '" + "x" * 200000 + "'",
    HEAD + "x" * 200000 + ": 1", "# " + "x" * 999000, "x: 1\n" * 2000, "\n".join(f"k{i}: {i}" for i in range(3000)), "[" + "1," * 9000 + "]",
    HEAD + "model: 1", HEAD + "trajectory: {type: [hover]}", HEAD + "trajectory: {type: {a: 1}}", HEAD + "trajectory: {type: null}",
    HEAD + "time: {pacing: [lockstep]}", HEAD + "environment: {air: 1}", HEAD + "environment: 3", HEAD + "trajectory: {use: [hover]}",
    "schema: 1\nmodel: {vehicles: [{use: {}}]}", "schema: 1\nmodel: {vehicles: {use: dragonfly}}", "schema: 1\nmodel: {vehicles: [[]]}",
    "schema: 1\nmodel: {vehicles: [{use: dragonfly, rotors: 1}]}", "schema: 1\nmodel: {vehicles: [{use: dragonfly, rotors: {propeller: 1}}]}",
    "schema: 1\nmodel: {vehicles: [{use: picker, joints: {}}]}", "schema: 1\nmodel: {vehicles: [{use: picker, joints: [1]}]}",
    "schema: 1\nmodel: {vehicles: [{use: picker, urdf: 1}]}", "schema: 1\nmodel: {vehicles: [{use: dragonfly}], attachments: [{type: [cable]}]}",
    "schema: 1\nmodel: {vehicles: [{use: dragonfly}], attachments: [{type: mechanism, use: []}]}",
    "schema: 1\nmodel: {vehicles: [{use: dragonfly}], attachments: [{type: mechanism, use: point_0-5m, vehicles: [[]], payload: {}}]}",
]  # fmt: skip
"""Texts that have broken readers of YAML, ours or others."""

SNIPPETS = [
    "&a ", "*a", "<<: *a", "!!python/object:os.system ", "!!binary ", "? ", ": ", "- ", "---\n", "...\n", "\t", "\ufeff", "\u202e", "\x00", "%", "@", "`",
    "{", "}", "[", "]", ",", "'", '"', "|\n", ">\n", "#", "\r", "\n", "\n\n  ", "    ", "~", ".nan", "-.inf", "0x", "1e999", "\\", "\x85", "\u2028", "\ud7ff",
]  # fmt: skip


def edited(rng: np.random.Generator, text: str, *, most: int = 3) -> str:
    """A text with lines or characters deleted, repeated, swapped, indented or added."""
    for _ in range(int(rng.integers(1, most + 1))):
        lines = text.split("\n")
        i, j = (int(k) for k in rng.integers(len(lines), size=2))
        match int(rng.integers(7)):
            case 0:
                del lines[i]
            case 1:
                lines.insert(j, lines[i])
            case 2:
                lines[i], lines[j] = lines[j], lines[i]
            case 3:
                lines[i] = " " * int(rng.integers(1, 5)) + lines[i]
            case 4:
                lines[i] = lines[i][int(rng.integers(1, 5)) :]
            case _:
                at = int(rng.integers(len(lines[i]) + 1))
                lines[i] = (
                    lines[i][:at]
                    + nasty.pick(rng, SNIPPETS)
                    + lines[i][at + int(rng.integers(2)) :]
                )
        text = "\n".join(lines)
    return text


def written(data: Any) -> str:
    """Plain data as one line of YAML."""
    if isinstance(data, dict):
        return "{" + ", ".join(f"{_quoted(str(k))}: {written(v)}" for k, v in data.items()) + "}"
    if isinstance(data, (list, tuple)):
        return "[" + ", ".join(written(v) for v in data) + "]"
    if isinstance(data, str):
        return _quoted(data)
    if isinstance(data, float) and not math.isfinite(data):
        return ".nan" if math.isnan(data) else ".inf" if data > 0 else "-.inf"
    if isinstance(data, float):
        text = repr(data)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    return (
        {None: "null", True: "true", False: "false"}[data]
        if data is None or isinstance(data, bool)
        else _digits(data)
    )


def _digits(number: int) -> str:
    return str(number) if abs(number) < 10**300 else hex(number)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)
