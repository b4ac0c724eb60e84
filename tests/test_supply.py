"""Where everything comes from: hashes, licences, a bill of materials."""

import importlib.util
import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def licences():
    spec = importlib.util.spec_from_file_location("licences", ROOT / "docs" / "scripts" / "make_licences_page.py")  # fmt: skip
    module = importlib.util.module_from_spec(spec)
    sys.modules["licences"] = module
    spec.loader.exec_module(module)
    return module


def test_every_pin_has_hashes(licences):
    """And nothing in a lock file is not a pin."""
    vendor = ROOT / "ros2_ws" / "src" / "rotor_vendor" / "requirements.lock"
    for lock in [*licences.locks(), vendor]:
        text = lock.read_text()
        found = list(licences.pins(lock))
        assert found, lock
        blocks = [b for b in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE) if b.strip()]
        assert len(blocks) == len(found), lock
        for block in blocks:
            assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", block), f"{lock.name}: {block[:60]}"
    assert "--require-hashes" in (ROOT / "rotor").read_text()


def test_what_is_asked_for_with_an_extra_is_pinned_with_it(licences):
    """pip, which installs where uv is not to be had, takes it for another package otherwise, without a hash."""
    installed = [lock for lock in licences.locks() if lock.stem != "requirements-installer"]
    for lock in installed:
        pins = {pin.name: pin for pin in licences.pins(lock) if pin.applies}
        for name in pins:
            for needed in map(Requirement, metadata.requires(name) or []):
                pin = pins.get(canonicalize_name(needed.name))
                applies = needed.marker is None or needed.marker.evaluate({"extra": ""})
                assert pin is None or not applies or needed.extras <= pin.extras, (
                    f"{lock.name}: {needed} of {name}"
                )


def test_all_licences_are_known_and_go_with_ours(licences):
    for lock in licences.locks():
        for pin in licences.pins(lock):
            if not pin.applies:
                continue
            licence = licences.licence_of(pin.name)
            kind = licences.kind_of(licence)
            where = f"{lock.name}: {pin.name} {pin.version}: {licence!r}"
            assert kind != "unknown", where
            if kind == "strong":
                assert pin.name in licences.PROGRAMS, where


@pytest.mark.parametrize(
    ("licence", "kind"),
    [
        ("MIT", "permissive"), ("GPL-3.0", "strong"), ("GNU General Public License v3 (GPLv3)", "strong"), ("AGPL-3.0-only", "strong"),
        ("GNU Lesser General Public License v3 (LGPLv3)", "weak"), ("MPL-2.0", "weak"), ("", "unknown"), ("Proprietary", "unknown"),
        ("Public Domain; BSD License; GNU General Public License (GPL)", "permissive"), ("Apache License, Version 2.0", "permissive"),
    ],
)  # fmt: skip
def test_licences_are_told_apart(licences, licence, kind):
    assert licences.kind_of(licence) == kind


def test_nothing_of_ours_imports_what_is_a_program(licences):
    names = "|".join(re.escape(n.replace("-bin", "")) for n in licences.PROGRAMS)
    pattern = re.compile(rf"^\s*(?:import|from) (?:{names})\b", re.MULTILINE | re.IGNORECASE)
    for path in (ROOT / "ros2_ws" / "src").rglob("*.py"):
        assert not pattern.search(path.read_text()), path


def test_the_page_tells_of_every_pin(licences):
    text = licences.PAGE.read_text()
    for lock in licences.locks():
        for pin in licences.pins(lock):
            if pin.applies:
                assert f"| {pin.name} | {pin.version} | " in text, f"make the page again: {pin}"


def test_a_bill_of_materials_is_complete(licences, tmp_path):
    """It tells nothing of when it was made, so that the same environment gives the same bytes."""
    pytest.importorskip("cyclonedx_py")
    file = tmp_path / "sbom.json"
    command = [
        sys.executable,
        "-m",
        "cyclonedx_py",
        "environment",
        "--pyproject",
        str(ROOT / "pyproject.toml"),
    ]
    command += ["--mc-type", "application", "--output-reproducible", "--output-format", "JSON"]
    assert " ".join(command[2:4]) in (ROOT / "tools" / "sbom.sh").read_text()
    subprocess.run([*command, "--output-file", str(file)], check=True, capture_output=True)
    bill = json.loads(file.read_text())
    there = {(canonicalize_name(c["name"]), c["version"]) for c in bill["components"]}
    wanted = {(p.name, p.version) for p in licences.pins(licences.locks()[0]) if p.applies}
    assert bill["bomFormat"] == "CycloneDX" and wanted <= there
    assert all("purl" in c for c in bill["components"])
    assert "timestamp" not in bill["metadata"] and "serialNumber" not in bill
