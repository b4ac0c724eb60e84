"""Pages of the documentation site: those of the repository where they stand, and generated ones.

A hook of MkDocs (mkdocs.yml). Pages keep their paths in the repository, so links between them work here and
there. A link to another file of the repository gets a page that shows it.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent
REPOSITORY = DOCS.parent
sys.path.insert(0, str(HERE))  # MkDocs takes it away again once the hook is loaded

from site_equations import anchor_equations, tags_of  # noqa: E402
from site_notebooks import notebook_pages  # noqa: E402
from site_reference import reference_pages  # noqa: E402

PAGES = ("README.md", "CHANGELOG.md", "config/README.md", "docker/README.md")
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[)#])")
LEXERS = {
    ".py": "python",
    ".yaml": "yaml",
    ".urdf": "xml",
    ".sh": "bash",
    ".msg": "text",
    ".json": "json",
}
STYLE = """\
.md-typeset math { font-size: 1.05em; }
.md-typeset p:has(> math) { overflow-x: auto; }
.md-typeset table:not([class]) td code { white-space: pre-wrap; }
.md-grid { max-width: 70rem; }
"""
TAGS: dict[str, str] = {}
"""Number of an equation to the page that has it."""
GENERATED: set[str] = set()
"""Pages that no file holds."""


def repository_pages() -> Iterator[str]:
    """Paths of all pages and pictures that stand in the repository."""
    yield from PAGES
    for path in sorted(DOCS.rglob("*")):
        if path.suffix in (".md", ".png", ".svg", ".webp"):
            yield path.relative_to(REPOSITORY).as_posix()


def target(page: str, link: str) -> str:
    """Path in the repository that a link of a page means."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def shown(path: str) -> str | None:
    """Path of the page that shows a file or folder of the repository; None: there is no such file."""
    if (REPOSITORY / path).is_dir():
        return f"{path}/README.md"
    return f"{path}.md" if (REPOSITORY / path).is_file() else None


def page_of(path: str) -> str:
    """A page that shows a file, or lists a folder."""
    place = REPOSITORY / path
    if place.is_dir():
        names = sorted(
            p.name for p in place.iterdir() if p.is_file() and not p.name.startswith(".")
        )
        return f"# {path}/\n\n" + "".join(f"- [{name}]({name})\n" for name in names)
    return f"# {path}\n\n````{LEXERS.get(place.suffix, 'text')}\n{place.read_text()}\n````\n"


def linked(pages: dict[str, str]) -> dict[str, str]:
    """Pages for what pages link to and the site would not have, by path."""
    out: dict[str, str] = {}
    waiting = list(pages.items())
    while waiting:
        page, text = waiting.pop()
        for link in LINK.findall(text):
            path = target(page, link)
            name = shown(path)
            if (
                "://" in link
                or name is None
                or {path, name} & (pages.keys() | out.keys())
                or path.endswith((".png", ".webp"))
            ):
                continue
            out[name] = page_of(path)
            if name.endswith("/README.md"):
                waiting.append((name, out[name]))
    return out


def on_files(files: Files, config: Any) -> Files:
    """The files of the site, by their paths in the repository, and those of the theme."""
    out = [f for f in files if Path(f.src_dir or "") != DOCS]
    texts: dict[str, str] = {}
    for path in repository_pages():
        out.append(File(path, str(REPOSITORY), config.site_dir, config.use_directory_urls))
        if path.endswith(".md"):
            texts[path] = (REPOSITORY / path).read_text()
    TAGS.clear()
    TAGS.update({tag: page for page, text in texts.items() for tag in tags_of(page, text)})
    notebooks = dict(notebook_pages())
    texts |= {path: text for path, text in notebooks.items() if isinstance(text, str)}
    generated = {**reference_pages(), **notebooks, **linked(texts)}
    GENERATED.clear()
    GENERATED.update(generated)
    out += [File.generated(config, path, content=text) for path, text in generated.items()]
    out.append(File.generated(config, "docs/site.css", content=STYLE))
    names = [f.src_uri for f in out if f.src_uri.endswith(".md")]
    config.nav = expanded(config.nav, names, set(plain_entries(config.nav)))
    in_nav = set(plain_entries(config.nav))
    for file in out:
        if file.src_uri in generated and file.src_uri not in in_nav:
            file.inclusion = file.inclusion.NOT_IN_NAV
    return Files(out)


def plain_entries(nav: Any) -> Iterator[str]:
    """Paths in the navigation."""
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from plain_entries(entry)


def expanded(nav: Any, names: list[str], named: set[str]) -> Any:
    """The navigation with its patterns replaced by the pages that they match and nothing else names."""
    if isinstance(nav, dict):
        return {key: expanded(value, names, named) for key, value in nav.items()}
    out = []
    for entry in nav:
        if isinstance(entry, str) and "*" in entry:
            found = (n for n in names if fnmatch(n, entry) and n not in named)
            out += sorted(found, key=lambda n: n.removesuffix(".md"))
        else:
            out.append(entry if isinstance(entry, str) else expanded(entry, names, named))
    return out


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to files become links to the pages that show them; equations get anchors and MathML."""
    here = page.file.src_uri

    def rewritten(match: re.Match[str]) -> str:
        link = match[1]
        path = target(here, link)
        if "://" in link or files.get_file_from_path(path):
            return link
        name = shown(path)
        found = name and files.get_file_from_path(name)
        return posixpath.relpath(name, posixpath.dirname(here) or ".") if name and found else link

    if here in GENERATED and not here.endswith("/README.md") and "/notebooks/" not in here:
        return markdown
    return anchor_equations(LINK.sub(rewritten, markdown), here, TAGS)
