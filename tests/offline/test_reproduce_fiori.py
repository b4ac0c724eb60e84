"""LG-A3 to LG-A11: the figures of Fiori 2019, one test per section, and what no table can say."""

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from rotor_core.errors import ModelError
from rotor_core.kernels.jit import kernel
from rotor_core.math import so3
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import System
from validation.oracles.kkt import skew
from validation.papers.fiori import report as fiori

vectors = st.tuples(*[st.floats(-1.5, 1.5)] * 3).map(np.array)


@pytest.mark.parametrize("title", list(fiori.SECTIONS))
def test_LG_section(title):
    rows = list(fiori.SECTIONS[title]())
    assert rows
    wrong = [(r.test, r.what, r.ours, r.theirs, r.bound) for r in rows if not r.passes]
    assert not wrong


@kernel
def _maps(theta, omega):
    """The maps under test, reached from Python."""
    return (
        so3.matrix(so3.exp(theta)),
        so3.dexp_inverse_exact(theta, omega),
        so3.transported(theta, omega),
    )


def rotation(u):
    return Rotation.from_rotvec(u).as_matrix()


@settings(deadline=None)
@given(vectors, vectors)
def test_LG_A1_maps(u, a):
    """exp against SciPy's and its logarithm; transport is an isometry, half a turn, and its own formula."""
    E, rate, carried = (np.array(m) for m in _maps(tuple(u), tuple(a)))
    E = E.reshape(3, 3)
    np.testing.assert_allclose(E, rotation(u), atol=2e-15)
    np.testing.assert_allclose(Rotation.from_matrix(E).as_rotvec(), u, atol=1e-14)
    # parallel transport from R to Q = R exp(u): S (R^T V) S with S the square root of R^T Q
    S = rotation(0.5 * u)
    there = S @ skew(carried) @ S  # V = R hat(carried) carried to Q, in components of R
    np.testing.assert_allclose(E.T @ there, skew(a), atol=1e-14)
    assert np.linalg.norm(carried) == pytest.approx(np.linalg.norm(a), abs=1e-14)
    # dexp of the inverse of dexp, by the series of dexp
    term, total = rate, rate.copy()
    for n in range(2, 30):
        term = -np.cross(u, term) / n
        total = total + term
    np.testing.assert_allclose(total, a, atol=1e-13)


def test_LG_A2_error_constants_of_one_step():
    """Rate linear in time: eRK4M misses by T^4 / 192 w x (w x w'); with the misprinted half by T^3 / 48 w x w'."""
    w0, alpha = np.array([0.3, -0.2, 0.4]), np.array([0.2, 0.5, -0.3])
    J = 2.0 * np.eye(3)

    def exact(T):
        R, n = np.eye(3), 4000
        for k in range(n):  # Magnus of order four in 4000 steps: error T^5 / n^4
            h, t = T / n, k * T / n
            mean = w0 + alpha * (t + 0.5 * h)
            R = R @ rotation(h * mean - h**3 / 12.0 * np.cross(mean, alpha))
        return R

    for T in (0.2, 0.1):
        engine = Engine(
            System((Body("ball", 1.0, J),), (), (), (0,), 0.0), step=T, integrator="erk4m"
        )
        engine.wrenches[0, 1:4] = J @ alpha
        engine.set_state(np.concatenate([np.zeros(3), [1, 0, 0, 0], np.zeros(3), w0])[None])
        engine.run(1)
        error = Rotation.from_matrix(
            exact(T).T @ fiori.matrix(engine.update_kinematics()[0, 3:7])
        ).as_rotvec()
        expected = T**4 / 192.0 * np.cross(w0, np.cross(w0, alpha))
        np.testing.assert_allclose(np.linalg.norm(error), np.linalg.norm(expected), rtol=0.1)

        w = [w0, w0 + 0.5 * T * alpha, w0 + 0.5 * T * alpha, w0 + T * alpha]
        f1 = T * w[0]
        f2 = rotation(0.25 * f1) @ (T * w[1])
        f3 = rotation(0.25 * f2) @ (T * w[2])
        f4 = rotation(0.25 * f3) @ (T * w[3])  # eq 121 as printed has u3 = f3 / 2
        misprinted = rotation(f1 / 6 + (f2 + f3) / 3 + f4 / 6)
        error = Rotation.from_matrix(exact(T).T @ misprinted).as_rotvec()
        expected = -(T**3) / 48.0 * np.cross(w0, alpha)
        np.testing.assert_allclose(error, expected, atol=0.1 * np.linalg.norm(expected))


def test_LG_A6_attitudes_stay_rotations():
    """60 000 steps of G2 without any repair but the rounding of the last digit."""
    simulation = fiori.gyrostat("g2", "rkmk4", 0.01)
    _, R = fiori.run_to(simulation, 600.0)
    assert np.linalg.norm(R.T @ R - np.eye(3)) < 1e-12


def test_LG_A8_degenerate_gyrostats():
    """A ball turns for ever; locked rotors are Euler's equations; a needle is refused."""
    w0 = np.array([1.0, -0.5, 0.3])
    state = np.concatenate([np.zeros(3), [1, 0, 0, 0], np.zeros(3), w0])[None]
    ball = Engine(System((Body("ball", 1.0, np.eye(3)),), gravity=0.0), step=0.01)
    ball.set_state(state)
    ball.run(1000)
    np.testing.assert_allclose(ball.update_kinematics()[0, 10:13], w0, atol=1e-13)
    J = np.array([1.0, 2.0, 2.5])
    locked = Engine(System((Body("top", 1.0, np.diag(J)),), gravity=0.0))
    locked.set_state(state)
    np.testing.assert_allclose(J * locked.motion[0, 16:19], np.cross(J * w0, w0), atol=1e-14)
    with pytest.raises(ModelError, match="positive definite"):
        Body("needle", 1.0, np.diag([1.0, 1.0, 0.0]))


def test_LG_A11_hover_speed_and_yaw_moment():
    """Speeds of equilibrium by variant; T_z = 2 gamma (dw2^2 - dw1^2) for deviations of two pairs."""
    for variant, rpm in (("half", 3047.72), ("printed", 3047.72), ("os4", 2155.07)):
        simulation = fiori.quadrotor(1, variant)
        vehicle = simulation.scenario.model.vehicles[0]
        speed = np.sqrt(vehicle.mass_kg * 9.81 / 4.0 / vehicle.rotors.thrust_n_per_rpm2)
        assert speed == pytest.approx(rpm, abs=0.005)
    end = [fiori.fly_open_loop(fiori.quadrotor(e, "half"), 3.0) for e in (2, 3)]
    assert end[0][1] == pytest.approx(-end[1][0], abs=1e-12)  # mirror images
    assert end[0][2] == pytest.approx(end[1][2], abs=1e-12)


def test_the_command_reproduces_and_reports(tmp_path):
    """Exit code 0, a report with every section, a picture with ink in it."""
    run = subprocess.run(
        [sys.executable, "-m", "rotor.cli", "reproduce", "fiori", "--out", str(tmp_path / "out")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    report = (tmp_path / "out" / "report.md").read_text()
    assert all(f"## {title}" in report for title in fiori.SECTIONS) and "differs" not in report
    assert (tmp_path / "out" / "curves.png").stat().st_size > 50_000
    assert json.dumps(run.stdout.count("agree")) == str(len(fiori.SECTIONS))
