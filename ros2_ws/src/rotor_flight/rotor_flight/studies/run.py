"""Fly a study: chunks to workers, results to Parquet as they come, and on where it was stopped."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from rotor_core.config.yaml.structure import build
from rotor_core.config.yaml.tree import read_tree
from rotor_core.errors import ConfigError, RotorError
from rotor_core.kernels.jit import COMPILED
from rotor_core.saved.durable import write_durably
from rotor_flight.fly import flight_duration
from rotor_flight.reports.folder import new_folder
from rotor_flight.studies.chunk import ABOUT, Job, flown, fly_chunk, step_error
from rotor_flight.studies.metrics import ACCURACY, label_of, metrics_of
from rotor_flight.studies.parameters import settled
from rotor_flight.studies.sampling import notes, sample
from rotor_flight.studies.study import LoadedStudy, Study, load_study, locate_study
from rotor_flight.warm import warm

RETRIES = 3
"""So often a chunk is given to another worker after its own died."""

STUDY_FILE, JOB_FILE, CHUNKS, FLIGHTS = "study.yaml", "job.json", "chunks", "flights.parquet"


@dataclass(frozen=True)
class Sweep:
    """A finished study.

    Attributes:
        folder: of its results.
        job: what was flown.
        table: one row per flight: number, seed, varied numbers, metrics, failure, verdict.
        step_errors: of the flights that were flown again with finer steps, m.
        wall_time, flown: of what was flown now, s, and how many flights.
    """

    folder: Path
    job: Job
    table: pa.Table
    step_errors: np.ndarray
    wall_time: float
    flown: int


def make_job(loaded: LoadedStudy, place: Path) -> tuple[Job, np.ndarray]:
    """Job for the workers, and the numbers of all flights; every error in the study is reported here.

    Raises:
        ConfigError: an unknown place, an unknown distribution, or numbers that make no valid scenario.
    """
    study = loaded.study
    try:
        job = Job(loaded, settled(loaded.scenario, loaded.name, study))
        numbers = sample(study)
        metrics_of(study, loaded.functions)
        _check_names(study)
        for number in {*numbers.argmin(axis=0).tolist(), *numbers.argmax(axis=0).tolist()}:
            job.scenario(number, numbers[number].tolist())
        scenario = job.scenario(0, numbers[0].tolist())
    except ConfigError as error:
        raise error.within(str(place)) from error
    ends = scenario.mission is not None or flight_duration(scenario) > 0.0
    if study.duration_s is None and not ends:
        raise ConfigError(
            f"{place}: duration_s: is missing, and nothing in the scenario ends by itself. Add it."
        )
    return job, numbers


def _check_names(study: Study) -> None:
    """Refuse variables and metrics with the name of another column, and a ``worst`` that is no metric."""
    columns = {*ABOUT, *ACCURACY, *(name for name in study.metrics if ":" not in name)}
    for variable in study.vary:
        if variable.label in columns:
            raise ConfigError(
                f"vary: {variable.label!r} is the name of a column of every table. Give the variable another: name: ..."
            )
        columns.add(variable.label)
    for name in study.metrics:
        if ":" in name and label_of(name) in columns:
            raise ConfigError(
                f"metrics: {name} would be a column {label_of(name)!r}, which there is already. Give the function "
                "another name."
            )
        columns.add(label_of(name))
    has_own = any(":" in name for name in study.metrics)  # which may give numbers of any names
    if study.worst and study.worst not in study.metrics and not has_own:
        raise ConfigError(
            f"worst: {study.worst!r} is not measured. Metrics of this study: {', '.join(study.metrics)}."
        )


def sweep(
    name: str,
    *,
    out: str | None = None,
    flights: int | None = None,
    workers: int | None = None,
    scheduler: str = "",
    resume: str = "",
) -> Sweep:
    """Fly a study, or go on with one.

    Args:
        name: file of the study, or a shipped one.
        out: result folder; must be new or empty.
        flights: in place of the study's.
        workers: processes on this machine; default one per core. 0: in this process.
        scheduler: address of a Dask scheduler whose workers have this suite.
        resume: result folder of a sweep that was stopped.

    Raises:
        ConfigError: the study is wrong, or the folder is that of another one.
        RotorError: workers died again and again, or the scheduler does not answer.
    """
    path = Path(resume) / STUDY_FILE if resume else locate_study(name)
    if resume and not path.is_file():
        raise ConfigError(
            f"--resume {resume}: is not the folder of a sweep; it holds no {STUDY_FILE}."
        )
    loaded = _stored(Path(resume)) if resume else load_study(path)
    if resume:
        _check_same(Path(resume), loaded)
    if flights is not None and not resume:
        loaded = _with_flights(loaded, flights)
    job, numbers = make_job(loaded, path)
    for note in notes(loaded.study):
        print(f"note: {note}", file=sys.stderr)
    folder = Path(resume) if resume else new_folder(out, f"sweep-{loaded.name}")
    if not resume:
        _store(folder, loaded)
    (folder / CHUNKS).mkdir(exist_ok=True)
    first = job.scenario(0, numbers[0].tolist())
    warm(first)
    if COMPILED:  # once, so that workers find the kernels
        flown(first, 0.1, 1)
    began, due = time.perf_counter(), sum(b - a for a, b, _ in _pieces(job, len(numbers), folder))
    try:
        _fly_all(job, numbers, folder, workers, scheduler)
    except KeyboardInterrupt:
        print(f"finished flights are kept: go on with --resume {folder}", file=sys.stderr)
        raise
    table = _collect(folder, job, len(numbers))
    took = time.perf_counter() - began
    n = min(loaded.study.check_flights, len(numbers))
    checked = np.linspace(0, len(numbers) - 1, n).round().astype(int) if n else np.zeros(0, int)
    errors = np.array([step_error(job, int(i), numbers[i]) for i in checked])
    return Sweep(folder, job, table, errors, took, due)


# --- work -------------------------------------------------------------------------------------------


def _pieces(job: Job, count: int, folder: Path) -> list[tuple[int, int, Path]]:
    """First flight, end and file of the chunks that are not there yet."""
    size = job.loaded.study.chunk
    edges = [(first, min(first + size, count)) for first in range(0, count, size)]
    files = [(a, b, folder / CHUNKS / f"{a:08d}.parquet") for a, b in edges]
    return [(a, b, file) for a, b, file in files if not file.exists()]


def _fly_all(
    job: Job, numbers: np.ndarray, folder: Path, workers: int | None, scheduler: str
) -> None:
    left = _pieces(job, len(numbers), folder)
    done = len(numbers) - sum(b - a for a, b, _ in left)
    bar = tqdm(total=len(numbers), initial=done, unit=" flights", smoothing=0.1, mininterval=0.5)
    with bar:
        for (a, b, file), rows in _results(job, numbers, left, workers, scheduler):
            _write(file, rows)
            bar.update(b - a)


def _results(
    job: Job,
    numbers: np.ndarray,
    pieces: list[tuple[int, int, Path]],
    workers: int | None,
    scheduler: str,
) -> Iterator[tuple[tuple[int, int, Path], list[dict[str, Any]]]]:
    if not pieces:
        return
    if workers == 0 and not scheduler:
        for piece in pieces:
            yield piece, fly_chunk(job, piece[0], numbers[piece[0] : piece[1]])
        return
    with _client(workers, scheduler) as client:
        from distributed import CancelledError, as_completed
        from distributed.scheduler import KilledWorker

        # a task, not data: where all workers die that hold it, the scheduler has it made again
        sent = client.submit(_study, job, pure=False)
        futures = {
            client.submit(
                fly_chunk, sent, a, numbers[a:b], pure=False, retries=RETRIES, key=f"flights-{a}"
            ): (a, b, file)
            for a, b, file in pieces
        }
        try:
            for future, rows in as_completed(list(futures), with_results=True):
                if isinstance(rows, CancelledError):
                    raise RotorError(
                        f"sweep: the scheduler has given up flights ({rows}). Finished flights are kept: go on "
                        "with --resume."
                    )
                yield futures[future], rows
                future.release()
        except KilledWorker as error:
            raise RotorError(
                "sweep: workers died repeatedly at the same flights. Finished flights are kept: go on with "
                "--resume. Use --workers 0 to see the reason."
            ) from error


def _study(job: Job) -> Job:
    """The study, on a worker."""
    return job


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Ctrl-C is for this process, which ends what it has started in here; each would tell of it with a trace."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, heard)


@contextmanager
def _client(workers: int | None, scheduler: str) -> Iterator[Any]:
    """A client of the scheduler at an address, or of workers on this machine that talk on loopback."""
    import dask.config
    from distributed import Client, LocalCluster

    quiet = {
        "distributed.logging.distributed": "error",
        "distributed.admin.large-graph-warning-threshold": "100MB",
        "distributed.worker.daemon": False,
    }
    with dask.config.set(quiet):
        if scheduler:
            try:
                client = Client(scheduler, timeout="10s")
            except (OSError, ValueError, TimeoutError) as error:
                raise RotorError(
                    f"--scheduler {scheduler}: does not answer ({error}). Give an address such as tcp://host:8786."
                ) from error
            with client:
                yield client
            return
        with _deaf_children():
            try:
                cluster = LocalCluster(
                    n_workers=workers or os.cpu_count() or 1,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address=None,
                    silence_logs=50,
                )
            except RuntimeError as error:
                raise RotorError(
                    f"study: its processes do not begin ({error}). A script must run it below "
                    '`if __name__ == "__main__":`, for every process imports the script first; or give workers=0.'
                ) from error
        with cluster, Client(cluster) as client:
            yield client


# --- files ------------------------------------------------------------------------------------------


def _write(file: Path, rows: list[dict[str, Any]]) -> None:
    """Whole or not at all: neither a kill nor a loss of power leaves half of a chunk."""
    columns = {key: None for row in rows for key in row}
    table = pa.table({key: [row.get(key, float("nan")) for row in rows] for key in columns})
    try:
        write_durably(file, _parquet(table))
    except OSError as error:
        raise RotorError(
            f"{file}: cannot be written ({error.strerror}). Finished flights are kept: free some space and "
            "go on with --resume."
        ) from error


def _parquet(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream)
    return stream.getvalue()


def _collect(folder: Path, job: Job, count: int) -> pa.Table:
    """All flights in one file, with what was flown in its metadata."""
    files = sorted((folder / CHUNKS).glob("*.parquet"))
    tables = [pq.read_table(file) for file in files]
    table = pa.concat_tables(tables, promote_options="default").sort_by("flight")
    if table.num_rows != count:
        raise RotorError(
            f"{folder}: holds {table.num_rows} of {count} flights; go on with --resume."
        )
    about = {
        "study": job.loaded.text,
        "scenario": json.dumps(job.document),
        "fingerprint": job.loaded.fingerprint,
        "versions": json.dumps(_versions()),
    }
    table = table.replace_schema_metadata({f"rotor.{k}": v for k, v in about.items()})
    write_durably(folder / FLIGHTS, _parquet(table))
    return table


def _versions() -> dict[str, str]:
    names = ("numpy", "scipy", "numba", "pyarrow", "distributed")
    return {"python": sys.version.split()[0]} | {name: version(name) for name in names}


def _store(folder: Path, loaded: LoadedStudy) -> None:
    """Store the inputs of a sweep, so that a resumed sweep flies the same even if files have changed since."""
    write_durably(folder / STUDY_FILE, loaded.text.encode())
    about = {"name": loaded.name, "scenario": loaded.scenario, "functions": loaded.functions}
    about |= {"flights": loaded.study.flights, "fingerprint": loaded.fingerprint}
    write_durably(folder / JOB_FILE, json.dumps(about).encode())


def _stored(folder: Path) -> LoadedStudy:
    try:
        about = json.loads((folder / JOB_FILE).read_text())
        study = build(Study, read_tree(folder / STUDY_FILE))
        text = (folder / STUDY_FILE).read_text()
        loaded = LoadedStudy(study, text, about["scenario"], about["name"], about["functions"])
        return _with_flights(loaded, about["flights"])
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"{folder}: is not the folder of a sweep ({error}).") from error


def _check_same(folder: Path, loaded: LoadedStudy) -> None:
    """Refuse to go on with another study than the flights that are there.

    Raises:
        ConfigError: its file has been changed.
    """
    about = json.loads((folder / JOB_FILE).read_text())
    if about.get("fingerprint", loaded.fingerprint) != loaded.fingerprint:
        raise ConfigError(
            f"{folder / STUDY_FILE}: has been changed since the first flights were flown. Put it back, or begin the "
            "changed study anew in another folder."
        )


def _with_flights(loaded: LoadedStudy, flights: int) -> LoadedStudy:
    return replace(loaded, study=replace(loaded.study, flights=flights))
