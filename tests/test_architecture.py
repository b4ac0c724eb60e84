"""Is the shape intact? Equation tags, sizes of folders, package metadata, and what must not be in the tree."""

import ast
import re
import subprocess
import xml.etree.ElementTree
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(
    path
    for path in [
        *(ROOT / "ros2_ws" / "src").glob("*/rotor*/**/*.py"),
        *(ROOT / "validation").rglob("*.py"),
    ]
)
MOST_MODULES = 14
"""A folder holds at most this many: about a dozen that a reader can overlook."""
TAG = re.compile(r"\(([A-Z]\.\d+)\)")


def test_every_equation_tag_stands_in_the_theory():
    pages = [p.read_text() for p in (ROOT / "docs" / "theory").glob("*.md")]
    theory = {tag for page in pages for tag in TAG.findall(page)}
    defined = Counter(
        tag for page in pages for tag in re.findall(rf"^\*\*{TAG.pattern}", page, re.MULTILINE)
    )
    assert len(defined) > 200 and max(defined.values()) == 1, defined.most_common(3)
    used = {(tag, p.name) for p in SOURCES for tag in TAG.findall(p.read_text())}
    assert len(used) > 200
    missing = sorted(f"{tag} in {name}" for tag, name in used if tag not in theory)
    assert not missing, missing
    unused = theory - {tag for tag, _ in used}
    assert not unused, f"numbered in docs/theory but in no code: {sorted(unused)}"


def test_docstrings_begin_with_the_thing():
    """Not with a question: `Distance of ...`, not `How far ...`. Of what is public."""
    asking = re.compile(r"(What|How|Whether|Who|Where|When|Why)\b")
    found = []
    for path in (ROOT / "ros2_ws" / "src").glob("*/rotor*/**/*.py"):
        tree = ast.parse(path.read_text())
        made = [n for n in ast.walk(tree) if isinstance(n, (ast.ClassDef, ast.FunctionDef))]
        for node in [tree, *(n for n in made if not n.name.startswith("_"))]:
            if asking.match(ast.get_docstring(node) or ""):
                found.append(f"{path.name}: {getattr(node, 'name', 'module')}")
    assert not found, found


def test_every_folder_of_code_has_its_place_on_the_page():
    page = (ROOT / "docs" / "architecture.md").read_text()
    folders = {
        path.parent.name
        for path in (ROOT / "ros2_ws" / "src").glob("*/rotor*/*/*.py")
        if path.name != "__init__.py" and "rotor_adapters" not in path.parts  # one folder each
    }
    missing = {name for name in folders if not re.search(rf"[`/ ]{name}/", page)}
    assert not missing, sorted(missing)


def test_files_named_in_docs_exist():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not link.startswith("http"):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


CODE_PATH = re.compile(
    r"`((?:rotor_\w+|validation|tests|docs|examples|tools)/[\w./-]*(?:/|\.\w+))`"
)
"""A file or folder of code in the text of a page."""


def test_code_named_in_docs_exists():
    packages = ROOT / "ros2_ws" / "src"
    for page in [ROOT / "README.md", ROOT / "config" / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for path in CODE_PATH.findall(page.read_text()):
            places = [ROOT / path, packages / path, packages / path.split("/")[0] / path]
            assert any(p.exists() for p in places), f"{page.name}: {path}"


SLICE = re.compile(r"\[[^][]*(3:7|7:10|10:13|13:16|13:19|16:19|:13)\s*\]")
"""Columns of a state by number."""


def test_states_have_names_outside_the_kernels():
    """Nobody but the engine writes columns of states by number; examples name everything."""
    scripts = [
        p for folder in ("examples", "docs", "launch") for p in (ROOT / folder).rglob("*.py")
    ]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in [*SOURCES, *scripts]
        if "rotor_dynamics/rotor_dynamics" not in str(path)
        for line in path.read_text().splitlines()
        if SLICE.search(line)
    ]
    assert found == []


def test_folders_stay_small():
    modules = Counter(p.parent for p in SOURCES if p.name != "__init__.py")
    modules.pop(ROOT / "ros2_ws/src/rotor/rotor/verbs")  # one file per command of `./rotor`
    large = {str(f.relative_to(ROOT)): n for f, n in modules.items() if n > MOST_MODULES}
    assert not large, large


@pytest.mark.parametrize(
    "package", sorted((ROOT / "ros2_ws" / "src").glob("*/package.xml")), ids=lambda p: p.parent.name
)
def test_package_metadata(package):
    tree = xml.etree.ElementTree.parse(package).getroot()
    assert tree.findtext("name") == package.parent.name
    assert tree.findtext("license") == "Apache-2.0"
    names = {e.text for e in tree if e.tag.endswith("depend")}
    assert "python3-numba" not in names  # no such package on Ubuntu 24.04
    source = "\n".join(p.read_text() for p in package.parent.glob("rotor*/**/*.py"))
    for key in (
        "rclpy",
        "nav_msgs",
        "tf2_msgs",
        "visualization_msgs",
        "std_srvs",
        "diagnostic_msgs",
        "rotor_msgs",
        "rosgraph_msgs",
    ):
        if re.search(rf"^\s*(from|import) {key}\b", source, re.M):
            assert key in names, f"{package.parent.name} imports {key}"


def test_machine_paths_and_hosts_stay_out():
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    forbidden = re.compile(
        "|".join(
            [
                "/wo" + "rk/",
                r"pypi\." + "org",
                "pythonhost" + "ed",
                "deb" + r"\.debian",
                "registry" + r"\.npm",
            ]
        )
    )
    for name in files:
        path = ROOT / name
        if path.suffix in (".png", ".npz") or not path.is_file():
            continue
        assert not forbidden.search(path.read_text(errors="replace")), name


KERNELS = {"kernel", "kernel_without_gil", "inlined", "linked"}
"""Decorators of what is compiled without counting references."""


def _name_of(decorator: ast.expr) -> str:
    """Of a decorator with arguments or without."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.id if isinstance(called, ast.Name) else ""


def test_kernels_do_not_allocate():
    """Kernels do not allocate: reference counting is off in them."""
    allocating = re.compile(r"np\.(zeros|empty|array|ones|eye|copy|dot|linalg)|\[\]|\.copy\(|\{\}")
    seen: set[str] = set()
    for path in SOURCES:
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and KERNELS & {
                _name_of(d) for d in node.decorator_list
            }:
                source = ast.get_source_segment(text, node) or ""
                assert not allocating.search(source), f"{path.name}: {node.name} allocates"
                seen.update({_name_of(d) for d in node.decorator_list})
    assert seen >= KERNELS


def test_what_the_oldest_scipy_does_not_have_is_not_used():
    """Rotations with w first came with SciPy 1.14; ROS 2 Jazzy brings 1.11: `rotation_from` and `wxyz_from` do it."""
    assert [path.name for path in SOURCES if "scalar_first" in path.read_text()] == []


def test_nobody_reads_the_clock_on_the_wall():
    """It may jump (daylight saving, NTP, a virtual machine that slept): only names of folders may ask for the date, and ages of files."""
    allowed = {"folder.py", "shared_memory.py"}
    found = [
        f"{path.name}: {line.strip()}"
        for path in SOURCES
        if path.name not in allowed
        for line in path.read_text().splitlines()
        if re.search(
            r"\btime\.time(_ns)?\(|datetime\.(datetime\.)?(now|today|utcnow)\(|CLOCK_REALTIME", line
        )
    ]
    assert found == []
