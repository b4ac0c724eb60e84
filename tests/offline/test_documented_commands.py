"""Commands of the pages, as far as they can be judged without running them: words that exist, files that are there."""

import re
import shlex
from pathlib import Path

import pytest

from rotor.cli import parser
from rotor.verb import VERBS
from rotor_core.config.loader import scenario_from_text

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    p
    for p in [ROOT / "README.md", ROOT / "config" / "README.md", ROOT / "docker" / "README.md", *ROOT.glob("docs/**/*.md")]
    if p.parent.name not in ("adr", "results", "theory")
)  # fmt: skip
BLOCK = re.compile(r"^( *)```bash\n(.*?)^ *```", re.M | re.S)
IN_PROSE = re.compile(r"`(\./rotor [^`]+)`")
PLACEHOLDER = re.compile(r"\b[A-Z][A-Z_]+\b|\.\.\.|[|<>]")
LAUNCHER = ("test", "python", "setup")  # of the shell script, not of Python


def lines(page):
    """Commands of the bash blocks of a page, without comments, continued lines joined."""
    for block in BLOCK.findall(page.read_text()):
        for line in block[1].replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield " ".join(shlex.quote(w) for w in words)


def rotor_commands(page):
    """Words of every `./rotor` command of a page, in its blocks and in its prose."""
    found = [part for line in lines(page) for part in re.split(r" (?:&&|';'|'>'|'>>'|'\|') ", line)]
    found += IN_PROSE.findall(page.read_text())
    for command in found:
        words = shlex.split(command, comments=True)
        while words and re.match(r"[A-Z_]+=", words[0]):
            words.pop(0)
        ends = [i for i, w in enumerate(words) if w == "&" or w.endswith(";")]
        if ends:  # what follows is another command
            words = [
                *words[: ends[0]],
                *([words[ends[0]].rstrip(";")] if words[ends[0]] != "&" else []),
            ]
        if len(words) > 1 and words[0] == "./rotor":
            yield words[1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_of_ours_exists_with_its_options(page, capsys):
    """As the command line would read it; placeholders (SCENARIO) are good for any value that is text."""
    known = parser()
    for words in rotor_commands(page):
        verb = words[0]
        if verb in LAUNCHER or PLACEHOLDER.search(verb):
            continue
        if verb.startswith("--"):
            assert verb == "--help", words
            continue
        assert verb in VERBS, f"there is no command {verb!r}"
        if len(words) == 1 or any(PLACEHOLDER.search(w) for w in words):
            continue  # the command as such is meant
        try:
            known.parse_args(words)
        except SystemExit as end:
            assert end.code == 0, f"{' '.join(words)}: {capsys.readouterr().err}"


def test_the_search_finds_commands():
    found = [words for page in PAGES for words in rotor_commands(page)]
    assert len(found) > 100
    assert ["fly", "my_scenario.yaml"] in found
    assert ["compare", "my/sim/bag", "my/lab/bag", "--out", "my/compared"] in found


def test_arguments_of_the_launch_file_exist():
    declared = re.findall(
        r'^    \(\s*"(\w+)", "', (ROOT / "launch" / "sim.launch.py").read_text(), re.M
    )
    assert "scenario" in declared
    for page in PAGES:
        text = page.read_text()
        for command in re.findall(r"ros2 launch rotor_bringup sim\.launch\.py([^`\n#;]*)", text):
            for argument in re.findall(r"(\w+):=", command):
                assert argument in declared, (page.name, argument)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_shells_find_the_folder_they_write_to(page):
    """A redirection makes no folder; our own commands do."""
    made = False
    for line in lines(page):
        made |= line.startswith("mkdir -p my")
        assert made or not re.search(r"'?>>?'? my/", line), line


def test_the_scenario_of_the_configuration_page_can_be_loaded():
    """It shows every section, and newcomers copy from it."""
    page = (ROOT / "config" / "README.md").read_text()
    first = page.split("```yaml\n", 1)[1].split("```", 1)[0]
    scenario = scenario_from_text(first, "config/README.md")
    assert len(scenario.model.vehicles) == 2 and scenario.environment.obstacles
