"""The documentation site: it builds from this repository alone, says everything, and asks no other host for anything."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
HOW_TO = sorted((ROOT / "docs" / "how-to").glob("*.md"))
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```", re.M | re.S)
FILE = re.compile(r"# (my/\S+)\n")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for tool in ("mkdocs", "material", "mkdocstrings", "l2m4m", "nbconvert", "ipykernel"):
        pytest.importorskip(tool)
    folder = tmp_path_factory.mktemp("site")
    alone = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "ROTOR_CONFIG_DIR")}
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT, env={**alone, "NO_MKDOCS_2_WARNING": "1"}, text=True, capture_output=True, timeout=850,
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


class Page(HTMLParser):
    """A page: what it loads, its links, and the ids that links can point at."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.ids, self.in_nav = [], [], {""}, set()
        self._navs = 0
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self._navs += tag == "nav"
        self.ids |= {given.get("id"), given.get("name")}
        self.loads += [given[k] for k in ("src", "srcset", "poster", "data") if given.get(k)]
        href = given.get("href")
        if href is None:
            return
        if tag == "a":
            self.links.append(href)
            if self._navs:
                self.in_nav.add(href.split("#")[0])
        elif tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(href)

    def handle_endtag(self, tag):
        self._navs -= tag == "nav"


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_nothing_comes_from_another_host(site, pages):
    for path, page in pages.items():
        outside = [load for load in page.loads if re.match(r"(https?:)?//", load)]
        assert not outside, f"{path.relative_to(site)}: {outside}"
        if path.name != "404.html":
            for load in page.loads:
                there = path.parent / unquote(load).split("?")[0]
                assert load.startswith("data:") or there.is_file(), (
                    f"{path.relative_to(site)}: {load}"
                )
        assert 'class="mermaid"' not in path.read_text()  # the theme would fetch a library for it
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", style.read_text()), style


def test_every_link_leads_somewhere(site, pages):
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for link in page.links:
            if re.match(r"\w+:", link):
                continue
            name, _, anchor = unquote(link).partition("#")
            there = (path.parent / name).resolve() if name else path
            there = there / "index.html" if there.is_dir() else there
            assert there.is_file(), f"{path.relative_to(site)}: {link}"
            if anchor and there in pages and not anchor.startswith("__"):
                assert anchor in pages[there].ids, f"{path.relative_to(site)}: {link}"


def test_every_command_is_on_the_reference_page(site):
    from rotor.cli import parser

    ids = Page(site / "reference" / "command_line.html").ids
    actions = parser()._actions
    commands = next(a for a in actions if isinstance(a, argparse._SubParsersAction)).choices
    assert commands.keys() <= ids and len(commands) > 10


def test_every_message_is_on_the_reference_page(site):
    ids = Page(site / "reference" / "messages.html").ids
    package = ROOT / "ros2_ws" / "src" / "rotor_msgs"
    names = {p.stem.lower() for kind in ("msg", "srv", "action") for p in package.glob(f"{kind}/*")}
    assert names <= ids and len(names) > 20


def test_every_key_of_a_scenario_is_on_the_reference_page(site):
    text = (site / "reference" / "schema.html").read_text()
    for key in ("mission", "feedforward", "least_tension_n", "wake_share", "lockstep_timeout_s"):
        assert f"<code>{key}</code>" in text


def test_every_public_module_is_in_the_reference(site):
    ids = set().union(*(Page(p).ids for p in (site / "reference" / "python").glob("*.html")))
    sources = ROOT / "ros2_ws" / "src"
    for package in (path.parent.name for path in sources.glob("*/setup.py")):
        for path in (sources / package / package).rglob("*.py"):
            if not path.stem.startswith("_"):
                module = ".".join(path.relative_to(sources / package).with_suffix("").parts)
                assert module in ids


@pytest.mark.parametrize("folder", ["adr", "theory", "results", "how-to"])
def test_every_page_is_in_the_navigation(site, folder):
    place = site / "docs" / folder
    pages = {p.with_suffix(".html").name for p in (ROOT / "docs" / folder).glob("*.md")}
    pages = {"index.html" if name == "README.html" else name for name in pages}
    found = (
        {Path(link).name for link in Page(place / "index.html").in_nav}
        if (place / "index.html").exists()
        else set()
    )
    found |= {Path(link).name for link in Page(place / min(pages - {"index.html"})).in_nav}
    assert pages <= found


def test_notebooks_are_pages_with_what_they_print_and_draw(site):
    """A cell that fails ends the build; their asserts are cells."""
    names = {p.stem for p in (ROOT / "docs" / "notebooks").glob("*.ipynb")}
    assert len(names) == 8
    for name in names:
        text = (site / "docs" / "notebooks" / f"{name}.html").read_text()
        pictures = set(re.findall(rf'src="({name}_\w+\.png)"', text))
        assert pictures, name
        for picture in pictures:
            assert (site / "docs" / "notebooks" / picture).stat().st_size > 5000
    assert "closed form: 0.189374910 s" in (site / "docs" / "notebooks" / "snap.html").read_text()


def test_notebooks_are_kept_without_outputs():
    for path in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text())["cells"]
        assert not any(c.get("outputs") or c.get("execution_count") for c in cells), path


def test_the_gallery_has_a_film_of_every_scenario(site):
    """Made by docs/scripts/make_gallery.py."""
    from rotor_core.config.catalog import shipped

    page = (site / "docs" / "gallery.html").read_text()
    films = re.findall(r'src="images/gallery/([\w-]+)\.webp"', page)
    assert sorted(films) == shipped("scenarios")
    for name in films:
        assert (site / "docs" / "images" / "gallery" / f"{name}.webp").read_bytes()[8:12] == b"WEBP"


def test_equations_are_mathml_with_anchors(site):
    page = (site / "docs" / "theory" / "rotations.html").read_text()
    tags = re.findall(
        r"^\*\*\((L\.\d+)\)\*\*", (ROOT / "docs" / "theory" / "rotations.md").read_text(), re.M
    )
    assert len(tags) >= 6
    for tag in tags:
        assert re.search(rf'<strong id="{tag}">\({tag}\)</strong>.*?<math ', page), tag
    assert 'href="#L.3"' in page  # where it is mentioned
    assert "$" not in re.sub(r"<script.*?</script>", "", page, flags=re.S)


def test_equations_keep_every_sign():
    sys.path.insert(0, str(ROOT / "docs" / "scripts"))
    try:
        from site_equations import latex
    finally:
        sys.path.pop(0)
    assert (
        latex("theta_dot_j = ½ R_dᵀ e₃") == r"$\dot{\theta}_{j} = \frac{1}{2}\, R_{d}^{T}\, e_{3}$"
    )
    assert latex("[u]ₓ² ≥ 0") == r"$[u ]_{\times }^{2} \geq 0$"
    assert latex("computed_torque") == "`computed_torque`"


def blocks(page, language):
    return [textwrap.dedent(m[3]) for m in BLOCK.finditer(page.read_text()) if m[2] == language]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("page", HOW_TO, ids=lambda p: p.stem)
def test_diffs_of_recipes_apply(page):
    for diff in blocks(page, "diff"):
        applied = subprocess.run(
            ["git", "apply", "--check", "-"], input=diff, cwd=ROOT, text=True, capture_output=True
        )
        assert applied.returncode == 0, applied.stderr


@pytest.mark.parametrize("page", HOW_TO, ids=lambda p: p.stem)
def test_files_of_recipes_load(page, tmp_path, monkeypatch):
    from rotor_core.config.loader import load_scenario

    monkeypatch.chdir(tmp_path)
    (tmp_path / "my").mkdir()
    (tmp_path / "my" / "cascaded_pid.so").touch()  # the recipe of libraries builds it
    for body in (b for kind in ("yaml", "csv") for b in blocks(page, kind)):
        if found := FILE.match(body):
            (tmp_path / found[1]).write_text(
                body if found[1].endswith(".yaml") else body[found.end() :]
            )
    changed = (
        "type: helix",
        "type: small_angle",
        "type: ground_spring",
        "type: thermometer",
    )  # what the packages of the recipes add
    for path in (tmp_path / "my").glob("*.yaml"):
        if "model:" in path.read_text() and not any(word in path.read_text() for word in changed):
            assert load_scenario(f"my/{path.name}").description
