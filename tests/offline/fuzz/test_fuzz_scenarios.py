"""Scenarios with anything in them: what loads is built and flies for a few control periods; all else is one line."""

import copy
import functools
import os
from pathlib import Path

import numpy as np
import pytest
from fuzz import budget, damage, nasty
from fuzz.trees import Vocabulary, changed
from fuzz.verdicts import ACCEPTED, judge
from fuzz.yaml_texts import ATTACKS, edited, written

from rotor_core.config import catalog, loader
from rotor_core.config.catalog import config_directory, shipped
from rotor_core.config.loader import dump_scenario, scenario_from_tree
from rotor_core.config.vehicles import urdf
from rotor_core.config.yaml.tree import Tree, parse_tree, plain, read_tree, tree_of
from rotor_core.errors import ConfigError
from rotor_flight.loop import ClosedLoop

PERIODS = 3
MOST_STEPS = 200
"""Scenarios with more steps per control period than this are built, but not flown: that takes long by right."""

BASE_FOLDERS = ("vehicles", "payloads", "controllers", "trajectories", "attachments")


def files(folder):
    return [config_directory() / folder / f"{name}.yaml" for name in shipped(folder)]


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Shipped scenarios as data and as text, the words of all files, and a folder with files that refer to each other."""
    folder = tmp_path_factory.mktemp("scenarios")
    scenarios = {path.stem: plain(read_tree(path)) for path in files("scenarios")}
    others = [plain(read_tree(path)) for kind in BASE_FOLDERS for path in files(kind)]
    (folder / "a.yaml").write_text("schema: 1\nuse: ./b.yaml\n")
    (folder / "b.yaml").write_text("schema: 1\nuse: ./a.yaml\n")
    (folder / "self.yaml").write_text("schema: 1\nuse: ./self.yaml\n")
    (folder / "list.yaml").write_text("- 1\n")
    (folder / "fifo.yaml").unlink(missing_ok=True)
    os.mkfifo(folder / "fifo.yaml")
    (folder / "folder.yaml").mkdir()
    (folder / "bytes.yaml").write_bytes(bytes(range(256)))
    (folder / "large.yaml").write_bytes(b"# " * 600_000)
    for (
        scenario
    ) in scenarios.values():  # kernels of all kinds are compiled before anything is timed
        fly(scenario_from_tree(tree_of(scenario, Tree(None, "warm.yaml", 1))))
    return scenarios, Vocabulary([*scenarios.values(), *others]), folder


@pytest.fixture(autouse=True)
def read_once(monkeypatch, seeds):
    """Shipped files are read once; the process works in the folder of the test."""
    shared = {str(path) for kind in (*BASE_FOLDERS, "scenarios") for path in files(kind)}
    cached = functools.lru_cache(None)(read_tree)
    monkeypatch.setattr(
        loader, "read_tree", lambda p: (cached if str(p) in shared else read_tree)(p)
    )
    names = functools.lru_cache(None)(catalog.shipped)
    monkeypatch.setattr(catalog, "shipped", names)
    monkeypatch.setattr(loader, "read_urdf", functools.lru_cache(None)(urdf.read_urdf))
    monkeypatch.chdir(seeds[2])


def fly(scenario):
    """A few control periods; nothing may become NaN."""
    loop = ClosedLoop(scenario)
    if scenario.time.steps_per_control > MOST_STEPS:
        return
    for _ in range(PERIODS):
        loop.period()
        assert np.isfinite(loop.simulation.motion).all(), "a state is not finite"
        assert np.isfinite(loop.simulation.joint_states).all(), "a joint is not finite"


def of_text(text):
    return scenario_from_tree(parse_tree(text, "fuzz.yaml"))


def of_data(data):
    return scenario_from_tree(tree_of(data, Tree(None, "fuzz.yaml", 1)))


def with_file(rng, data, folder):
    """A scenario that uses a name that is not a file, or another file than it seems; or points of a damaged table."""
    names = [*nasty.FILES, *(f"./{p.name}" for p in sorted(folder.iterdir()))]
    name = nasty.pick(rng, names)
    match int(rng.integers(6)):
        case 0:
            data["model"]["vehicles"][0] = {"use": name}
        case 1:
            data["model"]["payloads"] = [{"use": name}]
        case 2:
            data["controller"] = {"use": name}
        case 3:
            data["trajectory"] = {"use": name}
        case 4:
            data["model"]["attachments"] = [{"type": "mechanism", "use": name}]
        case _:
            table = folder / "points.csv"
            good = (config_directory() / "trajectories" / "slalom.csv").read_bytes()
            table.write_bytes(damage.damaged(rng, good))
            file = str(table) if rng.random() < 0.7 else name
            data["trajectory"] = {"type": "waypoints", "waypoints_file": file}
    return data


@pytest.mark.timeout(budget.TIME_LIMIT)
def test_whatever_a_scenario_holds_it_flies_or_is_refused(seeds):
    scenarios, words, folder = seeds
    names = sorted(scenarios)
    texts = {p.stem: p.read_text() for kind in ("scenarios", *BASE_FOLDERS) for p in files(kind)}

    def attempt(rng, number):
        kind = rng.random()
        if number < len(ATTACKS):
            scenario = of_text(ATTACKS[number])
        elif kind < 0.15:
            scenario = of_text(edited(rng, texts[nasty.pick(rng, names)]))
        elif kind < 0.3:
            scenario = of_text(written(changed(rng, scenarios[nasty.pick(rng, names)], words)))
        elif kind < 0.4:
            scenario = of_data(with_file(rng, copy.deepcopy(scenarios["slalom"]), folder))
        else:
            scenario = of_data(changed(rng, scenarios[nasty.pick(rng, names)], words))
        with np.errstate(all="ignore"):  # what overflows must be refused, or end in an error
            fly(scenario)
        if number % 50 == 0:  # a resolved scenario is itself one
            assert of_text(dump_scenario(scenario)) == scenario, "the dump is another scenario"
        return ACCEPTED

    judge("yaml", attempt)
    assert not Path("/tmp/rotor_fuzz_was_here").exists()


def test_inputs_are_the_same_again(seeds):
    """A failure can be seen again by its suite and number."""
    scenarios, words, _ = seeds
    once, again = (changed(budget.stream("yaml", 7), scenarios["slalom"], words) for _ in range(2))
    assert repr(once) == repr(again)
    assert repr(once) != repr(changed(budget.stream("yaml", 8), scenarios["slalom"], words))


def test_written_data_are_read_back():
    data = {"a": [1, -0.5, 1e-300, 1e22, None, True, "x\n\u202e\x1b"], "é": {"b": 2**80}}
    assert plain(parse_tree(written(data), "x.yaml")) == data
    with pytest.raises(ConfigError):
        parse_tree(written([float("nan")]) + "]", "x.yaml")
