"""URDF: known attacks on readers of XML, and changes of elements and attributes of good files."""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET

import numpy as np
from fuzz import nasty

LINK = '<link name="base"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'


def _robot(inside: str, before: str = "") -> str:
    return f'<?xml version="1.0"?>{before}<robot name="r">{LINK}{inside}</robot>'


def _entities(levels: int) -> str:
    lines = ['<!ENTITY a0 "lol">']
    lines += [f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, levels)]
    return f"<!DOCTYPE robot [{''.join(lines)}]>"


def _mesh(name: str) -> str:
    return _robot(f'<link name="m"><visual><geometry><mesh filename="{name}"/></geometry></visual></link>'
                  '<joint name="j" type="fixed"><parent link="base"/><child link="m"/></joint>')  # fmt: skip


def _chain(pairs: list[tuple[str, str]]) -> str:
    names = sorted({n for pair in pairs for n in pair} - {"base"})
    links = "".join(f'<link name="{n}"/>' for n in names)
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="{a}"/><child link="{b}"/></joint>' for i, (a, b) in enumerate(pairs)
    )  # fmt: skip
    return _robot(links + joints)


ATTACKS = [
    "", " ", "\x00", "<", "<robot", "<robot/>", "<robot name='r'/>", "<a/>", "<robot><robot/></robot>", "\ufeff" + _robot(""), _robot(""), _robot("") * 2,
    _robot("&a9;", _entities(10)), _robot("", _entities(3)), _robot("&x;", '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
    _robot("", '<!DOCTYPE robot SYSTEM "http://localhost:9/x.dtd">'), _robot("", '<!DOCTYPE robot PUBLIC "-//a" "file:///etc/passwd">'),
    _robot("", '<!DOCTYPE robot [<!ENTITY % p SYSTEM "file:///dev/zero"> %p;]>'), _robot("&undefined;"), _robot("&#0;"), _robot("&#xD800;"), _robot("&#x202e;"),
    _robot('<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>'), _robot("<![CDATA[x]]>"), _robot("<!-- -- -->"),
    _robot('<?xml-stylesheet href="file:///etc/passwd"?>'), _robot("<link/>" * 300), _robot('<link name="a">' * 10000), _robot("<a>" * 60 + "</a>" * 60),
    *(_mesh(name) for name in ("../../../../etc/passwd", "file:///etc/passwd", "/dev/zero", "package://../../x", "", "x" * 100000, "http://localhost/x.stl")),
    _chain([("base", "a"), ("a", "b"), ("b", "a")]), _chain([("a", "b"), ("b", "a")]), _chain([("base", "base")]), _chain([("base", "a"), ("base", "a")]),
    _chain([("base", f"l{i}") for i in range(250)]), _chain([("base", "l0"), *((f"l{i}", f"l{i + 1}") for i in range(190))]),
    _robot('<link name="' + "x" * 200000 + '"/>'), _robot('<link name="base"/>'), _robot('<link name="a\u202eb"/>'), _robot('<link name="a&#10;b"/>'),
    _robot('<link name=""/><joint name="" type="fixed"><parent link="base"/><child link=""/></joint>'),
    _robot('<joint name="j" type="fixed"/>'), _robot('<joint name="j"/>'), _robot('<joint name="a\x1b[31m" type="x"/>'), _robot("<link name='a' name='a'/>"),
]  # fmt: skip
"""Texts that have broken readers of XML, ours or others."""

MILD = 0.5
"""Part of the inputs whose numbers are a little different: what must mostly be accepted."""

WILD = [0.0, -1.0, 0.5, 2.0, 10.0, 1e-3, 1e3, 1e-9, 1e7]
TEXTS = [
    "", " ", "0", "-0", "1", "-1", "0 0 0", "0 0 1", "1 2", "1 2 3 4", "nan", "inf", "-inf", "1e999", "1e308", "1e308 1e308 1e308", "1e9", "999999999",
    "1e-320", "1e-30", "1_0", "0x10", "١", "base_link", "world", "fixed", "continuous", "prismatic", "floating", "true", "é", "\u202e", "a b", "../x",
]  # fmt: skip


def changed(rng: np.random.Generator, root: ET.Element, *, most: int = 3) -> bytes:
    """A copy of a robot with one to ``most`` changes, as UTF-8."""
    out = copy.deepcopy(root)
    if rng.random() < MILD:
        for _ in range(int(rng.integers(1, 6))):
            one = nasty.pick(rng, [e for e in out.iter() if e.attrib])
            key = nasty.pick(rng, sorted(one.attrib))
            one.set(
                key,
                _scaled(
                    rng,
                    one.get(key, ""),
                    [0.5, 0.9, 0.99, 1.01, 1.1, 2.0],
                    or_else=one.get(key, ""),
                ),
            )
        return ET.tostring(out, "utf-8")
    for _ in range(int(rng.integers(1, most + 1))):
        _change(rng, out)
    try:
        return ET.tostring(out, "utf-8")
    except UnicodeEncodeError:
        return b"<robot>\xed\xa0\x80</robot>"


def _change(rng: np.random.Generator, root: ET.Element) -> None:
    elements = list(root.iter())
    one, other = nasty.pick(rng, elements), nasty.pick(rng, elements)
    match int(rng.integers(9)):
        case 0 if len(one):
            one.remove(nasty.pick(rng, list(one)))
        case 1 if len(one):
            one.append(copy.deepcopy(nasty.pick(rng, list(one))))
        case 2 if sum(1 for _ in other.iter()) < 40:
            one.append(copy.deepcopy(other))
        case 3:
            one.tag = other.tag
        case 4 if one.attrib:
            del one.attrib[nasty.pick(rng, sorted(one.attrib))]
        case 5 if one.attrib and other.attrib:
            one.set(
                nasty.pick(rng, sorted(one.attrib)), nasty.pick(rng, list(other.attrib.values()))
            )
        case 6 if one.attrib:
            key = nasty.pick(rng, sorted(one.attrib))
            one.set(key, _scaled(rng, one.get(key, ""), WILD, or_else=2 * one.get(key, "")))
        case _ if one.attrib:
            one.set(nasty.pick(rng, sorted(one.attrib)), _text(rng))


def _scaled(rng: np.random.Generator, words: str, factors: list[float], *, or_else: str) -> str:
    """Numbers of another size; other text becomes ``or_else``."""
    factor = nasty.pick(rng, factors)
    try:
        return " ".join(repr(float(w) * factor) for w in words.split())
    except ValueError:
        return or_else


def _text(rng: np.random.Generator) -> str:
    return nasty.pick(rng, TEXTS) if rng.random() < 0.7 else repr(nasty.number(rng))
