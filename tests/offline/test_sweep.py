"""Studies: numbers, places, metrics, work that is stopped and goes on, and what comes out."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats
from sockets import sockets_of

import rotor
from rotor.cli import main
from rotor_core.config.loader import load_scenario, scenario_from_text
from rotor_core.config.parameters import prepared, read
from rotor_core.errors import ConfigError
from rotor_flight.fly import fly
from rotor_flight.studies.chunk import flown, fly_chunk
from rotor_flight.studies.metrics import METRICS
from rotor_flight.studies.parameters import varied
from rotor_flight.studies.run import CHUNKS, FLIGHTS, make_job, sweep
from rotor_flight.studies.sampling import sample
from rotor_flight.studies.sensitivity import by_chance, first_order, rank_correlation
from rotor_flight.studies.study import Distribution, Study, Variable, load_study

BASE = """schema: 1
scenario: hover
flights: {flights}
method: {method}
seed: 3
duration_s: 0.5
chunk: 4
check_flights: {check}
vary:
{vary}
metrics: [{metrics}]
"""
MASS = "  - {name: mass, at: [plant.quad1.mass_kg], how: scale, between: [0.8, 1.2]}"


def study(tmp_path, *, flights=10, method="sobol", vary=MASS, metrics="position_rmse_m", check=0):
    path = tmp_path / "study.yaml"
    path.write_text(
        BASE.format(flights=flights, method=method, vary=vary, metrics=metrics, check=check)
    )
    return path


# --- numbers ----------------------------------------------------------------------------------------


def numbers(method: str, *variables: Variable, flights: int = 1024) -> np.ndarray:
    return sample(
        Study(1, "hover", variables, ("lost",), flights=flights, method=method, seed=1)  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("method", ["random", "latin_hypercube", "sobol"])
def test_samples_have_their_distributions(method):
    """Kolmogorov-Smirnov, and no correlation between the columns.

    1024 numbers: a distance of 0.06 is reached by chance once in a thousand, a correlation of 0.12 too.
    """
    found = numbers(
        method,
        Variable(("a",), distribution=Distribution("norm", 2.0, 0.5)),
        Variable(("b",), distribution=Distribution("triang", -1.0, 2.0, (0.3,))),
        Variable(("c",), between=(4.0, 5.0)),
        Variable(("d",), distribution=Distribution("norm", 0.0, 1.0, low=-1.0, high=0.5)),
    )
    kinds = [
        stats.norm(2.0, 0.5).cdf, stats.triang(0.3, -1.0, 2.0).cdf, stats.uniform(4.0, 1.0).cdf,
        stats.truncnorm(-1.0, 0.5).cdf,
    ]  # fmt: skip
    for column, cdf in zip(found.T, kinds, strict=True):
        assert stats.kstest(column, cdf).statistic < 0.06
    assert np.abs(np.corrcoef(found.T) - np.eye(4)).max() < 0.12
    np.testing.assert_array_equal(found, numbers(
        method,
        Variable(("a",), distribution=Distribution("norm", 2.0, 0.5)),
        Variable(("b",), distribution=Distribution("triang", -1.0, 2.0, (0.3,))),
        Variable(("c",), between=(4.0, 5.0)),
        Variable(("d",), distribution=Distribution("norm", 0.0, 1.0, low=-1.0, high=0.5)),
    ))  # fmt: skip


def test_points_fill_better_than_chance():
    """Discrepancy of the mean: Sobol and Latin hypercube know the mean far better than 1/sqrt(n)."""
    wide = Variable(("a",), between=(0.0, 1.0))
    for method in ("latin_hypercube", "sobol"):
        assert abs(numbers(method, wide).mean() - 0.5) < 0.1 / np.sqrt(12 * 1024)


def test_a_grid_has_every_combination():
    found = numbers(
        "grid",
        Variable(("a",), values=(1.0, 2.0, 3.0)),
        Variable(("b",), between=(0.0, 1.0)),
        flights=5,
    )
    expected = [(a, b) for a in (1.0, 2.0, 3.0) for b in (0.0, 0.25, 0.5, 0.75, 1.0)]
    np.testing.assert_allclose(found, expected)


# --- places -----------------------------------------------------------------------------------------


def test_places_are_found_and_written(tmp_path):
    job, _ = make_job(
        load_study(study(tmp_path, vary="\n".join([
            "  - {at: [model.vehicles.quad1.mass_kg], between: [0.4, 0.6]}",
            "  - {at: [initial.quad1.position_m.z], how: add, between: [0.1, 0.2]}",
            "  - {at: [initial.quad1.quaternion_wxyz.x, seed], how: add, values: [0.0]}",
            "  - {at: [model.vehicles.1.gains.position_per_s2.3], how: scale, between: [2.0, 2.5]}",
            "  - {at: [plant.quad1.thrust_gain], between: [0.9, 0.95]}",
        ]))),
        Path("study"),
    )  # fmt: skip
    base = load_scenario("hover")
    scenario = job.scenario(0, [0.5, 0.15, 0.0, 2.0, 0.93])
    assert scenario.model.vehicles[0].mass_kg == 0.5
    assert scenario.initial[0].position_m[2] == pytest.approx(0.15)
    assert (
        scenario.model.vehicles[0].gains.position_per_s2[2]
        == 2.0 * base.model.vehicles[0].gains.position_per_s2[2]
    )
    assert scenario.plant[0].thrust_gain == 0.93
    assert (
        scenario.model.vehicles[0].gains.position_per_s2[:2]
        == base.model.vehicles[0].gains.position_per_s2[:2]
    )


def test_cables_are_varied_by_number():
    base = load_scenario("three_dragonflies_triangular_1m")
    document = prepared({"plant": []}, base, ["plant.cable2.length_m"])
    assert read(document, "plant.cable2.length_m") == 1.0
    v = Variable(("plant.cable2.length_m",), how="add", values=(0.01,))
    assert varied(document, "x", (v,), [0.01])["plant"] == [{"cable": 2, "length_m": 1.01}]


def test_what_the_plant_is_told_counts_from_the_nominal_numbers_of_the_flight(tmp_path):
    """A share of a mass, of one that settings or another variable have changed; the start follows the lengths."""
    path = tmp_path / "study.yaml"
    path.write_text(
        "schema: 1\nscenario: dragonfly_point_mass\nflights: 1\nduration_s: 1.0\n"
        "settings: [{at: model.attachments.1.length_m, value: 0.8}]\nvary:\n"
        "  - {at: [plant.payload.mass_kg], how: scale, values: [1.1]}\n"
        "  - {at: [model.payloads.payload.mass_kg], values: [0.14]}\n"
        "  - {at: [plant.cable1.length_m], how: add, values: [0.01]}\n"
        "  - {at: [initial.quad1.velocity_m_s.x, initial.payload.velocity_m_s.x], values: [0.3]}\n"
        "metrics: [tension_max_n]\n"
    )
    job, numbers = make_job(load_study(path), path)
    scenario = job.scenario(0, numbers[0].tolist())
    told = {c.entity or c.cable: c.mass_kg or c.length_m for c in scenario.plant}
    assert told == {"payload": pytest.approx(0.154), 1: pytest.approx(0.81)}
    start = rotor.initial_states(scenario)
    assert start["quad1"].position[2] - start["payload"].position[2] == pytest.approx(0.81)
    assert start["quad1"].velocity[0] == start["payload"].velocity[0] == 0.3


@pytest.mark.parametrize(
    ("vary", "text"),
    [
        ("  - {at: [model.vehicles.quad9.mass_kg], between: [1, 2]}", "no entry 'quad9'; it has quad1"),
        ("  - {at: [model.vehicles.quad1.mas], between: [1, 2]}", "has no 'mas'; it has name, mass_kg"),
        ("  - {at: [model.vehicles.quad1], between: [1, 2]}", "must be a number, got a group"),
        ("  - {at: [name], between: [1, 2]}", "must be a number, got 'hover'"),
        ("  - {at: [model.vehicles.quad1.mass_kg], between: [-2, -1]}", "must be > 0"),
        ("  - {at: [model.vehicles.quad1.mass_kg], between: [2, 1]}", "between must be"),
        ("  - {at: [model.vehicles.quad1.mass_kg]}", "one of distribution, between or values"),
        ("  - {at: [settle_s], distribution: {name: normal}}", "no continuous distribution 'normal'"),
        ("  - {at: [settle_s], distribution: {name: beta}}", "shape parameters a, b"),
        ("  - {at: [settle_s], distribution: {name: norm, low: 3, high: 2}}", "no part of norm"),
        ("  - {at: [settle_s], distribution: {name: norm, scale: -1}}", "must be > 0"),
        (MASS + "\n" + MASS, "same name"),
        (MASS.replace("mass, at", "flight, at"), "'flight' is the name of a column"),
        (MASS.replace("mass, at", "position_rmse_m, at"), "'position_rmse_m' is the name of a column"),
        ("  - {at: [seed], values: [5]}", "'seed' is the name of a column"),
        ("  - {at: [settle_s], values: [1, 2, -1, 3]}", "settle_s = -1"),
        (MASS + "\nworst: position_rmse", "worst: 'position_rmse' is not measured"),
    ],
)  # fmt: skip
def test_mistakes_are_one_clear_line(tmp_path, vary, text, capsys):
    path = study(tmp_path, vary=vary)
    assert main(["sweep", str(path), "--out", str(tmp_path / "out")]) == 2
    found = capsys.readouterr().err
    assert found.startswith("error: ") and text in found and "study" in found
    assert "Traceback" not in found and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("rmse", ", or FILE.py:FUNCTION, got 'rmse'"),
        ("absent.py:f", "cannot be read"),
        ("bad.py:f", "does not run"),
        ("good.py:g", "has no function 'g'"),
        ("good.py:fails", "fails on a flight (ZeroDivisionError"),
    ],
)
def test_metrics_that_are_none(tmp_path, metric, text, capsys):
    (tmp_path / "bad.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "good.py").write_text("def fails(flight):\n    return 1 / 0\n")
    path = study(tmp_path, metrics=f"'{metric}'")
    assert main(["sweep", str(path), "--out", str(tmp_path / "out"), "--workers", "0"]) == 2
    assert text in capsys.readouterr().err


# --- flights ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dragonfly_point_mass", "hexacopter_wind", "pick_and_place"])
def test_flights_are_those_of_fly(name):
    """By the compiled loop or not; thinned rows are rows of the whole."""
    scenario = load_scenario(name)
    whole, thin = fly(scenario, duration=0.5), flown(scenario, 0.5, 5)
    rows = np.unique([*range(0, len(whole.time), 5), len(whole.time) - 1])
    np.testing.assert_array_equal(thin.states, whole.states[rows])


def test_every_metric_is_a_number_or_says_that_there_is_none():
    for name in ("hover", "dragonfly_point_mass", "three_dragonflies_triangular_1m"):
        flight = flown(load_scenario(name), 1.0, 2)
        found = {key: metric(flight) for key, metric in METRICS.items()}
        assert all(isinstance(v, float) for v in found.values())
        cables = "tension_max_n" in found and np.isfinite(found["tension_max_n"])
        assert cables == (name != "hover")
    assert found["vehicle_distance_min_m"] == pytest.approx(
        0.534, abs=0.01
    )  # of the attachment points
    assert found["slack_share"] == 0.0 and found["lost"] == 0.0 and found["snaps"] == 0.0


def test_own_metrics_and_the_mean_of_a_known_answer(tmp_path):
    """A heavier vehicle under a law without integral sinks by weight error over stiffness."""
    (tmp_path / "mine.py").write_text(
        "def sag(flight):\n"
        "    return {'end': float(flight.references[-1, 0, 2] - flight.states[-1, 0, 2]), 'n': len(flight.time)}\n"
    )
    path = study(tmp_path, flights=8, metrics="'mine.py:sag', final_error_m")
    text = path.read_text().replace("duration_s: 0.5", "duration_s: 8.0")
    path.write_text(text)
    done = sweep(str(path), out=str(tmp_path / "out"), workers=0)
    base = load_scenario("hover")
    vehicle, g = base.model.vehicles[0], base.environment.gravity_m_s2
    factor, sag = done.table["mass"].to_numpy(), done.table["sag.end"].to_numpy()
    # thrust m (g + k e) carries factor m g
    np.testing.assert_allclose(
        sag, (factor - 1.0) * g / vehicle.gains.position_per_s2[2], rtol=1e-3
    )
    assert len(np.unique(factor)) == 8


def test_a_flight_that_cannot_go_on_is_a_result(tmp_path):
    """A speed at which positions overflow: what fails is counted, the others fly."""
    path = study(tmp_path, vary="  - {at: [initial.quad1.velocity_m_s.x], values: [0.0, 1.0e+308]}",
                 method="grid", metrics="final_error_m")  # fmt: skip
    job, table = make_job(load_study(path), path)
    rows = fly_chunk(job, 0, table)
    assert rows[0]["failure"] == "" and np.isfinite(rows[0]["final_error_m"])
    assert rows[1]["failure"] and "final_error_m" not in rows[1]


def test_numbers_that_make_no_scenario_are_a_result(tmp_path):
    """Two that are possible each, and not together: one of four flights, which --resume could not get past."""
    path = study(
        tmp_path,
        method="grid",
        vary="  - {at: [time.step_s], values: [0.001, 0.002]}\n"
        "  - {at: [time.control_s], values: [0.004, 0.005]}",
    )
    out = tmp_path / "out"
    assert main(["sweep", str(path), "--out", str(out), "--workers", "0"]) in (0, 1)
    failures = pq.read_table(out / FLIGHTS)["failure"].to_pylist()
    assert [bool(f) for f in failures] == [False, False, False, True], failures


@pytest.mark.parametrize(
    ("more", "is_worst"), [("", np.argmin), ("\nworst_is: largest", np.argmax)]
)
def test_the_worst_of_a_margin_are_the_smallest(tmp_path, more, is_worst):
    """The safest flights had been kept as the worst."""
    vary = "  - {at: [initial.quad1.velocity_m_s.z], values: [-3, -1, 0, 2]}\nworst: height_min_m\nkeep: 1"
    path = study(tmp_path, method="grid", vary=vary + more, metrics="height_min_m")
    out = tmp_path / "out"
    assert main(["sweep", str(path), "--out", str(out), "--workers", "0"]) in (0, 1)
    heights = pq.read_table(out / FLIGHTS)["height_min_m"].to_numpy()
    kept = json.loads((out / "summary.json").read_text())["worst"]
    assert [w["flight"] for w in kept] == [int(is_worst(heights))]


# --- work -------------------------------------------------------------------------------------------


def test_workers_a_kill_and_the_same_table(tmp_path):
    """Workers in processes give the bits of one process; killed in the middle and gone on with, too.

    One of the workers is killed as well: another one flies its chunk again.
    """
    path = study(tmp_path, flights=40, metrics="position_rmse_m, final_error_m", check=2)
    alone = sweep(str(path), out=str(tmp_path / "alone"), workers=0)
    text = path.read_text().replace("duration_s: 0.5", "duration_s: 0.5 ")
    path.write_text(text)
    code = f"import sys; from rotor.cli import main; sys.exit(main(['sweep', {str(path)!r}, '--out', " \
           f"{str(tmp_path / 'killed')!r}, '--workers', '2']))"  # fmt: skip
    program = (
        tmp_path / "program.py"
    )  # workers start as new interpreters that read the main program
    program.write_text(f"if __name__ == '__main__':\n    {code}\n")
    process = subprocess.Popen([sys.executable, str(program)], start_new_session=True)
    chunks = tmp_path / "killed" / CHUNKS
    end = time.monotonic() + 120.0
    while process.poll() is None and time.monotonic() < end:
        if chunks.exists() and len(list(chunks.glob("*.parquet"))) >= 2:
            listeners = [s for s in _sockets(process.pid) if s.takes_connections]
            break
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = {f.name: f.stat().st_mtime_ns for f in chunks.glob("*.parquet")}
    assert before
    assert listeners and all(s.is_on_loopback for s in listeners)
    resumed = sweep("", resume=str(tmp_path / "killed"), workers=0)
    after = {f.name: f.stat().st_mtime_ns for f in chunks.glob("*.parquet")}
    assert {n: after[n] for n in before} == before  # what was flown was not flown again
    assert len(after) == 10 and not list(chunks.glob("*.part"))
    assert resumed.table.equals(alone.table)
    assert resumed.step_errors.shape == (2,) and np.nanmax(resumed.step_errors) < 1e-5


def _sockets(pid: int) -> list:
    """Of a process and all that it has started."""
    found = sockets_of(pid)
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            found += _sockets(int(child))
    return found


def test_workers_that_die_cost_only_their_chunks(tmp_path):
    """A metric kills both workers in the same instant; the study comes to its end and has every flight once.

    Nothing that only workers held may be needed then.
    """
    (tmp_path / "deadly.py").write_text(
        "import os, pathlib, signal, time\n"
        f"MARKS = [pathlib.Path({str(tmp_path)!r}, name) for name in ('first', 'second')]\n"
        "def metric(flight):\n"
        "    for mark in MARKS:\n"
        "        try:\n"
        "            mark.touch(exist_ok=False)\n"
        "        except FileExistsError:\n"
        "            continue\n"
        "        while not MARKS[1].exists():\n"
        "            time.sleep(0.001)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return 1.0\n"
    )
    path = study(tmp_path, flights=12, metrics="'deadly.py:metric'")
    program = tmp_path / "program.py"
    program.write_text(
        "if __name__ == '__main__':\n    from rotor_flight.studies.run import sweep\n"
        f"    sweep({str(path)!r}, out={str(tmp_path / 'out')!r}, workers=2)\n"
    )
    subprocess.run([sys.executable, str(program)], check=True, timeout=200)
    assert (tmp_path / "second").exists()
    table = pq.read_table(tmp_path / "out" / FLIGHTS)
    assert table["flight"].to_pylist() == list(range(12))


def test_the_command_reports_and_the_worst_flies_again(tmp_path, capsys):
    path = study(tmp_path, flights=24, metrics="final_error_m, tilt_max_deg", check=1)
    out = tmp_path / "out"
    assert main(["sweep", str(path), "--out", str(out), "--workers", "0"]) == 0
    assert "final_error_m" in capsys.readouterr().out
    summary = json.loads((out / "summary.json").read_text())
    table = pq.read_table(out / FLIGHTS)
    assert summary["flights"] == 24 and summary["step_error_max_m"] < 1e-5
    assert b"rotor.study" in table.schema.metadata and b"rotor.scenario" in table.schema.metadata
    for name in ("report.html", "report.md", "distributions.png", "sensitivity.png"):
        assert (out / name).stat().st_size > 500, name
    worst = summary["worst"][0]
    errors = table["final_error_m"].to_numpy()
    assert worst["flight"] == int(np.argmax(errors))
    again = flown(load_scenario(out / worst["file"]), 0.5, 1)
    assert METRICS["final_error_m"](again) == errors.max()  # to the bit
    assert main(["sweep", str(path), "--out", str(out)]) == 2  # never overwritten
    assert main(["sweep", "--resume", str(tmp_path)]) == 2
    assert "is not the folder of a sweep" in capsys.readouterr().err
    assert (
        main(
            ["sweep", str(path), "--scheduler", "tcp://127.0.0.1:1", "--out", str(tmp_path / "o2")]
        )
        == 2
    )
    assert "does not answer" in capsys.readouterr().err


def test_a_study_that_was_edited_is_not_gone_on_with(tmp_path):
    """Flights of the old numbers and of the new ones would stand in one table."""
    path, out = study(tmp_path), tmp_path / "out"
    sweep(str(path), out=str(out), workers=0)
    next((out / CHUNKS).glob("*.parquet")).unlink()
    kept = out / "study.yaml"
    kept.write_text(kept.read_text().replace("1.2", "1.4"))
    with pytest.raises(ConfigError, match="has been changed since the first flights"):
        sweep("", resume=str(out), workers=0)
    kept.write_text(kept.read_text().replace("1.4", "1.2"))
    assert sweep("", resume=str(out), workers=0).table.num_rows == 10


@pytest.mark.parametrize(
    "metrics", ["own.py:mass", "own.py:seed", "own.py:load, other.py:load", "lost, own.py:lost"]
)
def test_columns_of_a_study_do_not_overwrite_each_other(tmp_path, metrics):
    """A function of the user had replaced the numbers that were drawn."""
    for name in ("own.py", "other.py"):
        functions = ("mass", "seed", "load", "lost")
        text = "".join(f"def {f}(flight):\n    return 1.0\n" for f in functions)
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match="which there is already"):
        sweep(str(study(tmp_path, metrics=metrics)), out=str(tmp_path / "out"), workers=0)


def test_the_shipped_study_is_right():
    from rotor_core.config.catalog import shipped
    from rotor_flight.studies.study import locate_study

    for name in shipped("studies"):
        job, table = make_job(load_study(locate_study(name)), Path(name))
        assert job.scenario(0, table[0].tolist()).time.step_s == 0.004


# --- sensitivity ------------------------------------------------------------------------------------


def test_indices_of_a_known_function():
    """Ishigami: first-order indices 0.3139, 0.4424, 0 (Ishigami and Homma 1990)."""
    x = stats.qmc.Sobol(3, seed=2).random(4096) * 2.0 * np.pi - np.pi
    y = np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])
    found = [first_order(x[:, i], y) for i in range(3)]
    np.testing.assert_allclose(found, [0.3139, 0.4424, 0.0], atol=0.02)
    assert rank_correlation(x[:, 0], x[:, 0] ** 3) == pytest.approx(1.0)
    assert np.isnan(first_order(x[:, 0], np.ones(4096)))


@pytest.mark.parametrize("seed", range(10))
def test_indices_of_errors_that_may_cancel(seed):
    """y = |a x1 + x2| of normal numbers, as of masses that are wrong: indices by quadrature, from few points of Sobol.

    Estimates from frequencies in the order of a number (RBD-FAST) tell 0.3 of the first in two of these ten samples.
    Classes hide what goes up and down within them, and points of Sobol leave less to chance than is taken off: 0.06.
    """
    x, a = stats.norm.ppf(stats.qmc.Sobol(3, seed=seed).random(256)), 0.4
    y = np.abs(a * x[:, 0] + x[:, 1])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()

    def index(own, other):
        means = stats.foldnorm.mean(np.abs(own * nodes) / other, scale=other)
        return weights @ (means - weights @ means) ** 2 / ((1.0 + a * a) * (1.0 - 2.0 / np.pi))

    true = [index(a, 1.0), index(1.0, a), 0.0]
    found = [first_order(x[:, i], y) for i in range(3)]
    np.testing.assert_allclose(found, true, rtol=0, atol=0.1)


@pytest.mark.parametrize("n", [20, 64, 256])
def test_what_decides_nothing_is_told_from_what_does(n):
    """One of twenty random samples shows more than is told: 400 of them, of which 8 to 32 (binomial, 0.2 %)."""
    random = np.random.default_rng(5)
    found = [first_order(random.uniform(size=n), random.normal(size=n)) for _ in range(400)]
    assert 8 <= sum(share > by_chance(n) for share in found) <= 32
    assert np.isnan(by_chance(10))


def test_a_study_of_nothing_is_refused(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("schema: 1\nscenario: hover\nvary: []\nmetrics: []\n")
    with pytest.raises(ConfigError, match="metrics must name"):
        load_study(path)


WALL = """
schema: 1
model: {vehicles: [{use: dragonfly}]}
controller: {type: quadrotor}
initial: [{entity: quad1, position_m: [-3, 0, 2]}]
trajectory: {type: line, relative: true, waypoints_m: [[6, 0, 0]], speed_m_s: 3.0, acceleration_m_s2: 3.0}
environment: {obstacles: [{name: wall, shape: {type: box, size_m: [0.05, 10, 10]}, position_m: [0, 0, 2]}]}
"""


def test_what_is_passed_through_is_seen_however_few_rows_are_kept():
    """At 2 Hz a flight through a wall was `flown`."""
    scenario = scenario_from_text(WALL)
    whole, thin = flown(scenario, None, 1), flown(scenario, None, 100)
    assert len(thin.time) < 15
    assert [e.type for e in thin.events] == ["touch", "leave"]
    assert [e.time for e in thin.events] == [e.time for e in whole.events]
    assert thin.verdict().kind == whole.verdict().kind == "lost"
    np.testing.assert_array_equal(thin.states, whole.states[np.searchsorted(whole.time, thin.time)])


def test_helicopters_have_no_largest_thrust():
    """It was their collective, in radians."""
    flight = fly(load_scenario("helicopter_hover"), duration=0.2)
    assert np.isnan(METRICS["thrust_max_n"](flight))


def test_a_study_that_is_refused_leaves_nothing_behind(tmp_path):
    folder = tmp_path / "out"
    wrong = rotor.Study("hover", {"plant.nobody.mass_kg": rotor.uniform(0.1, 0.2)}, ["lost"])
    with pytest.raises(ConfigError, match="nobody"):
        wrong.run(2, out=folder, workers=0)
    assert not folder.exists()


def test_settings_are_made_after_what_they_are_implied_by(tmp_path):
    """The plant after its model, a start after the lengths of cables; numbers that are asked for are kept."""
    path = tmp_path / "study.yaml"
    path.write_text(
        "schema: 1\nscenario: three_dragonflies_triangular_1m\nflights: 1\nduration_s: 1.0\nsettings:\n"
        "  - {at: plant.payload.inertia_kg_m2.x, value: 0.007}\n"
        "  - {at: model.payloads.payload.inertia_kg_m2.y, value: 0.008}\n"
        "  - {at: plant.cable1.length_m, value: 1.2}\n"
        "vary: [{at: [initial.quad1.position_m.x], how: add, values: [0.0]}]\nmetrics: [snaps]\n"
    )
    job, numbers = make_job(load_study(path), path)
    scenario = job.scenario(0, numbers[0].tolist())
    assert scenario.plant[0].inertia_kg_m2[:2] == (0.007, 0.008)
    nominal = rotor.initial_states(load_scenario("three_dragonflies_triangular_1m"))
    start = rotor.initial_states(scenario)
    assert start["quad1"].position[2] - nominal["quad1"].position[2] == pytest.approx(0.2)
    delivery = load_scenario("delivery")
    name, thrust = (
        delivery.model.vehicles[0].name,
        delivery.model.vehicles[0].rotors.thrust_n_per_rpm2,
    )
    path.write_text(
        f"schema: 1\nscenario: delivery\nflights: 1\nsettings: [{{at: model.vehicles.{name}.rotors.thrust_n_per_rpm2, "
        f"value: {thrust!r}}}]\nvary: [{{at: [environment.air.altitude_m], values: [3000.0]}}]\nmetrics: [snaps]\n"
    )
    job, numbers = make_job(load_study(path), path)
    assert job.scenario(0, numbers[0].tolist()).model.vehicles[0].rotors.thrust_n_per_rpm2 == thrust
