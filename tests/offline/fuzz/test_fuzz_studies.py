"""Studies and tasks of optimization with anything in them: read and set up, or one line."""

import copy

import numpy as np
import pytest
from fuzz import budget, nasty
from fuzz.trees import Vocabulary, changed
from fuzz.verdicts import ACCEPTED, judge
from fuzz.yaml_texts import ATTACKS, edited, written

from rotor_core.config.catalog import config_directory
from rotor_core.config.yaml.tree import plain, read_tree
from rotor_flight.optimal.task import load_task
from rotor_flight.studies.run import make_job
from rotor_flight.studies.study import load_study

MOST_FLIGHTS = 2000
"""Studies of more flights are read, but their numbers are not drawn: that takes long by right."""

PLACES = [
    "plant.payload.mass_kg", "plant", "plant.payload", "plant..mass_kg", "model.vehicles.9.mass_kg", "model.vehicles.0", "a.b.c", "",
    ".", "initial.payload.position_m.q", "time.step_s", "schema", "model.attachments.1.type", "plant.cable1.length_m", *nasty.TEXTS,
]  # fmt: skip
METRICS = [
    "metric.py:length", "metric.py:none", "metric.py:", "broken.py:length", "none.py:length", "lost", "lots", *nasty.TEXTS, *nasty.FILES[:12],
]  # fmt: skip
DISTRIBUTIONS = ["norm", "uniform", "lognorm", "beta", "triang", "levy_stable", "rv_histogram", "bernoulli", "nan", *nasty.TEXTS[:20]]  # fmt: skip


def moved(rng, tree):
    """A study that varies what is not there, by distributions that are none, and measures by functions that are not there."""
    tree = copy.deepcopy(tree)
    one = {"at": [nasty.pick(rng, PLACES)], "how": nasty.pick(rng, ["set", "scale", "add"])}
    if rng.random() < 0.5:
        one["distribution"] = {
            "name": nasty.pick(rng, DISTRIBUTIONS),
            "loc": nasty.number(rng),
            "scale": nasty.number(rng),
            "shape": [nasty.number(rng) for _ in range(int(rng.integers(3)))],
        }
    else:
        one["between"] = [nasty.number(rng), nasty.number(rng)]
    tree["vary"] = [one]
    tree["metrics"] = [nasty.pick(rng, METRICS)]
    tree["method"] = nasty.pick(rng, ["random", "sobol", "latin_hypercube", "grid"])
    tree["flights"] = int(nasty.pick(rng, [1, 2, 16, 1000]))
    return tree


@pytest.mark.timeout(budget.TIME_LIMIT)
@pytest.mark.filterwarnings("ignore")
def test_whatever_a_study_holds_it_is_set_up_or_refused(tmp_path, monkeypatch):
    paths = [p for kind in ("studies", "tasks") for p in sorted((config_directory() / kind).glob("*.yaml"))]  # fmt: skip
    texts = {p: p.read_text() for p in paths}
    trees = {p: plain(read_tree(p)) for p in paths}
    words = Vocabulary(list(trees.values()))
    file = tmp_path / "fuzz.yaml"
    (tmp_path / "metric.py").write_text("def length(flight):\n    return 1.0\n")
    (tmp_path / "broken.py").write_text("def length(flight:\n")
    monkeypatch.chdir(tmp_path)

    def attempt(rng, number):
        path = nasty.pick(rng, paths)
        kind = rng.random()
        if number < len(ATTACKS):
            text = ATTACKS[number]
        elif kind < 0.2:
            text = edited(rng, texts[path])
        elif kind < 0.45 and "vary" in trees[path]:
            text = written(moved(rng, trees[path]))
        else:
            text = written(changed(rng, trees[path], words))
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        with np.errstate(all="ignore"):
            if path.parent.name == "tasks":
                load_task(str(file))
                return ACCEPTED
            loaded = load_study(file)
            study = loaded.study
            if study.flights <= MOST_FLIGHTS and (study.method != "grid" or len(study.vary) < 2):
                _, numbers = make_job(loaded, file)
                assert np.isfinite(numbers).all(), "a number of a flight is not finite"
        return ACCEPTED

    judge("studies", attempt)
