"""Studies from Python: many flights of a scenario whose numbers differ, as ``./rotor sweep`` flies them."""

from __future__ import annotations

import numbers
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from ruamel.yaml import YAML

from rotor_core.config.loader import dump_scenario, scenario_of
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError
from rotor_core.extras import explained, require
from rotor_flight.reports.folder import new_folder

if TYPE_CHECKING:
    import pandas
    import pyarrow


@dataclass(frozen=True)
class Varied:
    """Variation of a number from flight to flight, as in the file of a study."""

    keys: dict[str, Any]


def _check_numbers(name: str, *given: float) -> None:
    for value in given:
        if not isinstance(value, numbers.Real) or not np.isfinite(value):
            raise ConfigError(f"rotor.{name}: takes finite numbers, got {value!r}.")


def normal(mean: float, deviation: float) -> Varied:
    """Normal distribution.

    Raises:
        ConfigError: a deviation that is not above 0.
    """
    _check_numbers("normal", mean, deviation)
    if not deviation > 0.0:
        raise ConfigError(f"rotor.normal: the deviation must be > 0 and finite, got {deviation}.")
    return Varied({"distribution": {"name": "norm", "loc": float(mean), "scale": float(deviation)}})


def uniform(low: float, high: float) -> Varied:
    """Uniform distribution between two numbers.

    Raises:
        ConfigError: they do not grow.
    """
    _check_numbers("uniform", low, high)
    if not low < high:
        raise ConfigError(f"rotor.uniform: needs finite low < high, got {low} and {high}.")
    return Varied({"between": [float(low), float(high)]})


def choice(*values: float) -> Varied:
    """One of some numbers.

    Raises:
        ConfigError: there are none, or not finite ones.
    """
    _check_numbers("choice", *values)
    if not values:
        raise ConfigError("rotor.choice: needs at least one number.")
    return Varied({"values": [float(v) for v in values]})


def _plain(value: Any) -> Any:
    """Numbers and lists of NumPy as those of Python, which files hold."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class StudyResult:
    """Findings of a study.

    Attributes:
        table: one row per flight: number, seed, varied numbers, metrics, failure.
        folder: of its files.
    """

    table: pyarrow.Table
    folder: Path

    def to_pandas(self) -> pandas.DataFrame:
        """The table for pandas, which must be installed."""
        return self.table.to_pandas()


OWN = {"schema", "scenario", "vary", "metrics", "flights", "method", "seed"}
"""Keys of the file of a study that :class:`Study` writes itself."""


@dataclass(frozen=True)
class Study:
    """Many flights of a scenario; needs the extra ``studies``, without which a :class:`ConfigError` names it.

    Args:
        scenario: or the name or path of one.
        vary: by dotted place, such as ``plant.payload.mass_kg``: :func:`normal`, :func:`uniform` or :func:`choice`.
        metrics: names of metrics, or ``FILE.py:FUNCTION``.
        method: random, latin_hypercube, sobol or grid.
        seed: of the numbers.
        options: further keys of the file of a study (docs/how-to/sweep.md), none of those above.
    """

    scenario: Scenario | str | Path
    vary: Mapping[str, Varied]
    metrics: Sequence[str]
    method: str = "sobol"
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require("pyarrow")
        if taken := sorted({*self.options} & OWN):
            raise ConfigError(f"study: options: {', '.join(taken)} has an argument of its own.")

    def run(
        self, flights: int = 100, *, out: str | Path | None = None, workers: int | None = None
    ) -> StudyResult:
        """Fly it.

        Args:
            flights: how many.
            out: result folder; must be new or empty. Default: ``results/sweep-NAME-DATE``.
            workers: processes; default one per core, 0: in this process. Each begins by importing the script that
                runs the study, which must do so below ``if __name__ == "__main__":``.

        Raises:
            ConfigError: a place, distribution, metric or number is wrong, or the folder is not empty.
            RotorError: the processes do not begin.
        """
        with explained():
            from rotor_flight.studies.run import sweep

        if not isinstance(flights, numbers.Integral) or flights < 1:
            raise ConfigError(f"study: flights must be a whole number >= 1, got {flights!r}.")
        if workers is not None and (not isinstance(workers, numbers.Integral) or workers < 0):
            raise ConfigError(f"study: workers must be a whole number >= 0, got {workers!r}.")
        for place, varied in self.vary.items():
            if not isinstance(varied, Varied):
                raise ConfigError(
                    f"study: {place} must vary as rotor.normal, rotor.uniform or rotor.choice, got {varied!r}."
                )
        scenario = scenario_of(self.scenario)
        folder = new_folder(None if out is None else str(out), f"sweep-{scenario.name}")
        inputs = folder / "study"
        inputs.mkdir()
        (inputs / "scenario.yaml").write_text(dump_scenario(scenario))
        document = _plain({
            "schema": 1,
            "scenario": "scenario.yaml",
            "vary": [{"at": [place], **varied.keys} for place, varied in self.vary.items()],
            "metrics": [str(Path(m).resolve() if ".py:" in m else m) for m in self.metrics],
            "flights": int(flights),
            "method": self.method,
            "seed": self.seed,
            **self.options,
        })  # fmt: skip
        file = inputs / "study.yaml"
        try:
            YAML().dump(document, file)
            done = sweep(str(file), out=str(folder / "flights"), workers=workers)
        except Exception:
            if not (folder / "flights").exists():  # it has not begun
                shutil.rmtree(inputs)
                with suppress(OSError):
                    folder.rmdir()
            raise
        return StudyResult(done.table, done.folder)
