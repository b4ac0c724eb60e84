"""A study: which scenario is flown how often, what is varied, what is measured."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rotor_core.config.catalog import locate
from rotor_core.config.loader import dump_scenario, load_scenario_beside
from rotor_core.config.yaml.structure import bounded, build
from rotor_core.config.yaml.tree import parse_tree, plain, read_tree
from rotor_core.errors import ConfigError

SCHEMA = 1
MOST_FLIGHTS = 10_000_000


@dataclass(frozen=True)
class Distribution:
    """A distribution of SciPy (``scipy.stats``), cut to an interval where one is given.

    ``name`` as SciPy calls it (norm, uniform, triang, lognorm, ...), ``shape``: its shape parameters.
    """

    name: str
    loc: float = 0.0
    scale: float = bounded(1.0, gt=0.0)
    shape: tuple[float, ...] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Variable:
    """A number of the scenario that differs from flight to flight.

    ``at``: dotted places in the scenario as ``--print-config`` prints it, such as
    ``model.payloads.payload.mass_kg``, ``plant.quad1.thrust_gain``, ``plant.cable2.length_m`` or
    ``initial.payload.position_m.x``; entries of lists by name or number (from 1); several places get
    the same number. ``how``: the number replaces what stands there, scales it, or is added to it.
    One of: ``distribution``; ``between``: uniform; ``values``: one of them.
    """

    at: tuple[str, ...]
    name: str = ""
    how: Literal["set", "scale", "add"] = "set"
    distribution: Distribution | None = None
    between: tuple[float, float] | None = None
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        given = (self.distribution is not None, self.between is not None, bool(self.values))
        if sum(given) != 1:
            raise ValueError("a variable has one of distribution, between or values.")
        if self.between is not None and not self.between[0] < self.between[1]:
            raise ValueError(f"between must be [low, high], got {list(self.between)}.")
        if not self.at:
            raise ValueError("a variable needs at least one place (at).")
        for text in (self.name, *self.at):  # columns of tables, and words of messages
            if not text.isprintable():
                raise ValueError(
                    f"name and at must be of characters that can be shown, got {text!r}."
                )

    @property
    def label(self) -> str:
        """Name of its column."""
        return self.name or self.at[0]


@dataclass(frozen=True)
class Setting:
    """A number that is the same in all flights, other than in the scenario."""

    at: str
    value: float


@dataclass(frozen=True)
class Study:
    """Study definition that ``./rotor sweep`` reads.

    Attributes:
        scenario: shipped name, or path (from the file of the study).
        vary: what differs.
        metrics: what is measured of every flight: names of :data:`rotor_flight.studies.metrics.METRICS`, or
            ``FILE.py:FUNCTION`` (path from the file of the study), which gets a
            :class:`rotor_flight.flight.Flight` and returns a number or a mapping of numbers.
        flights: how many; of a grid: how many values of every variable that has no ``values``.
        method: how the numbers are drawn.
        settings: what is different in all flights.
        seed: of the numbers; flight i also gets the scenario's seed plus i where ``vary_seed`` is true.
        duration_s: of every flight; default the scenario's trajectory and ``settle_s``, or until its mission is over.
        record_hz: rows per second that metrics see; default all control periods.
        worst: metric that selects the flights to keep for inspection; default the first one.
        worst_is: which of its numbers are bad; default: the smallest where ``_min`` is in the name of the metric,
            otherwise the largest.
        keep: how many of the worst.
        check_flights: how many flights are flown again with a quarter of the step, to know its error.
        chunk: flights per piece of work: what a kill costs.
        bad_share_max: largest share of flights that are lost or at their limits with which `./rotor sweep` ends with 0.
    """

    schema: int
    scenario: str
    vary: tuple[Variable, ...]
    metrics: tuple[str, ...]
    flights: int = bounded(100, ge=1, le=MOST_FLIGHTS)
    method: Literal["random", "latin_hypercube", "sobol", "grid"] = "sobol"
    description: str = ""
    settings: tuple[Setting, ...] = ()
    seed: int = bounded(0, ge=0)
    vary_seed: bool = True
    duration_s: float | None = bounded(None, gt=0.0, le=20000.0)
    record_hz: float | None = bounded(None, gt=0.0)
    worst: str = ""
    worst_is: Literal["smallest", "largest"] | None = None
    keep: int = bounded(5, ge=0, le=1000)
    check_flights: int = bounded(16, ge=0, le=1000)
    chunk: int = bounded(50, ge=1, le=10000)
    bad_share_max: float = bounded(0.0, ge=0.0, le=1.0)

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise ValueError(f"schema must be {SCHEMA}, got {self.schema}.")
        if not self.metrics:
            raise ValueError("metrics must name at least one.")
        labels = [v.label for v in self.vary]
        if len(set(labels)) != len(labels):
            raise ValueError(f"two variables have the same name: {', '.join(sorted(labels))}.")


@dataclass(frozen=True)
class LoadedStudy:
    """A study with all that its files said, so that workers need no files.

    Attributes:
        study: as written.
        text: of the file.
        scenario: of all flights before anything is varied, as plain data.
        name: of the scenario.
        functions: source of the files of metrics, by path as written.
    """

    study: Study
    text: str
    scenario: dict[str, Any]
    name: str
    functions: dict[str, str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides about results."""
        whole = repr((self.text, self.scenario, sorted(self.functions.items())))
        return hashlib.sha256(whole.encode()).hexdigest()


def load_study(path: Path) -> LoadedStudy:
    """Read a study and what it names.

    Raises:
        ConfigError: with file, line, value, limit and remedy.
    """
    tree = read_tree(path)
    study = build(Study, tree)
    base = load_scenario_beside(path, study.scenario)
    document = plain(parse_tree(dump_scenario(base), f"{path}: scenario"))
    document.setdefault("name", base.name)
    functions = {}
    for metric in study.metrics:
        file = metric.partition(":")[0]
        if file.endswith(".py"):
            functions[file] = _source(path.parent / file)
    return LoadedStudy(study, path.read_text(), document, base.name, functions)


def _source(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read ({error}). It holds a metric.") from error


def locate_study(name: str) -> Path:
    """A file, or a study of the folder ``config/studies`` by its name.

    Raises:
        ConfigError: there is none.
    """
    return locate("studies", name)
