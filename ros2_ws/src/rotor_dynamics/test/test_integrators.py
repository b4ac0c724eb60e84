"""Every registered integrator: the order it declares, on the group and with taut cables; what else it promises."""

import numpy as np
import pytest
from scipy.integrate import RK45, solve_ivp
from worlds import quaternion, started, state, team

from rotor_core.config.extensions import INTEGRATORS
from rotor_core.errors import ContractError
from rotor_dynamics.integrators import dopri5
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, Drag, Rotor, System
from validation.oracles.kkt import skew

J_SPHERE = 0.02 * np.eye(3)
FIXED = {"tolerance": 1e9}
"""Makes an adaptive method take the steps it is given."""


def angle_between(q, p):
    """Rotation angle between two attitudes, without loss near zero."""
    return 4.0 * np.arcsin(0.5 * min(np.linalg.norm(q - p), np.linalg.norm(q + p)))


def turning_ball(method, step):
    """Spherical body under a constant moment: the body rate is linear in time, so its integration is exact."""
    engine = started(
        System((Body("ball", 0.5, J_SPHERE),), (), (), (0,)),
        np.array([state(q=quaternion(0.9, 0.1, -0.3, 0.2), w=(1.0, -0.7, 0.4))]),
        np.array([[4.0, 0.03, 0.05, -0.04]]),
        step=step, integrator=method, **FIXED,
    )  # fmt: skip
    engine.run(round(2.0 / step))
    return engine.update_kinematics()[0, :13]


def exact_turning_ball():
    """SciPy on the quaternion itself."""
    alpha = np.array([0.03, 0.05, -0.04]) / 0.02
    w0 = np.array([1.0, -0.7, 0.4])

    def rate(t, y):
        q, w = y[3:7], w0 + alpha * t
        v = q[1:]
        R = np.eye(3) + 2 * q[0] * skew(v) + 2 * skew(v) @ skew(v)
        q_dot = 0.5 * np.concatenate([[-v @ w], q[0] * w + np.cross(v, w)])
        return np.concatenate([y[7:10], q_dot, 4.0 / 0.5 * R[:, 2] - [0, 0, 9.81]])

    start = np.concatenate([np.zeros(3), quaternion(0.9, 0.1, -0.3, 0.2), np.zeros(3)])
    return solve_ivp(rate, (0.0, 2.0), start, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


@pytest.mark.parametrize("name", list(INTEGRATORS))
def test_LG_A2_order_on_the_group(name):
    """Attitude error at three steps; a body rate that is integrated exactly shows what the group does to the order."""
    exact = exact_turning_ball()
    steps = np.array([0.1, 0.05, 0.025]) if name != "euler" else np.array([0.01, 0.005, 0.0025])
    errors = np.array([angle_between(turning_ball(name, h)[3:7], exact[3:7]) for h in steps])
    slopes = np.diff(np.log(errors)) / np.diff(np.log(steps))
    assert slopes[-1] == pytest.approx(INTEGRATORS[name].order, abs=0.15), (errors, slopes)


@pytest.mark.parametrize("name", list(INTEGRATORS))
def test_order_of_positions_and_with_taut_cables(name):
    """A heavy body on two cables, swinging and turning, against the adaptive reference at 1e-13."""

    def swing(method, step, **options):
        load = Body("load", 0.4, np.diag([0.004, 0.006, 0.008]))
        points = np.array([[0.2, 0.1, 0.1], [-0.2, 0.05, 0.12]])
        anchors = points + [[0.3, 0.0, 1.0], [-0.3, 0.1, 1.1]]
        system = System(
            (load,),
            tuple(
                Cable(WORLD, 0, float(np.linalg.norm(a - p)), r_a=a, r_b=p)
                for a, p in zip(anchors, points, strict=True)
            ),
        )
        engine = started(system, np.array([state()]), step=step, integrator=method, **options)
        # rates that keep both cables at their length
        xi = (points - anchors) / np.linalg.norm(points - anchors, axis=1)[:, None]
        D = np.hstack([xi, np.cross(points, xi)])
        W = np.linalg.solve(np.diag([0.4, 0.4, 0.4, 0.004, 0.006, 0.008]), D.T)
        u = np.array([0.1, 0.5, 0.0, 0.8, -0.3, 0.9])
        start = engine.motion[:, :13].copy()
        start[0, 7:13] = u - W @ np.linalg.solve(D @ W, D @ u)
        engine.set_state(start)
        engine.run(round(0.5 / step))
        assert engine.taut.all()
        return engine.update_kinematics()[0, :13]

    reference = swing("dopri5", 0.01, tolerance=1e-13)
    steps = np.array([0.01, 0.005]) if name != "euler" else np.array([0.0005, 0.00025])
    errors = [np.max(np.abs(swing(name, h, **FIXED) - reference)) for h in steps]
    slope = np.log(errors[0] / errors[1]) / np.log(2.0)
    assert slope > INTEGRATORS[name].order - 0.3, (errors, slope)


@pytest.mark.parametrize("name", list(INTEGRATORS))
def test_order_with_forces_that_depend_on_velocity(name):
    """Drag of the body, damping of its rates and drag of rotors: the splitting took those of half a step before."""
    hubs = [(0.2, 0.2, 0.0), (-0.2, 0.2, 0.0), (-0.2, -0.2, 0.0), (0.2, -0.2, 0.0)]
    system = System(
        (Body("body", 1.0, np.diag([0.01, 0.02, 0.03])),),
        rotors=tuple(
            Rotor(0, hub=np.array(hub), spin=spin, thrust=1e-5, torque=1e-6, inertia=1e-4, drag=1e-4, lag=0.05)
            for hub, spin in zip(hubs, (1, -1, 1, -1), strict=True)
        ),
        drags=(Drag(0, linear=np.array([0.5, 0.6, 0.9]), rate_linear=np.array([0.01, 0.02, 0.01])),),
    )  # fmt: skip

    def flown(method, step, **options):
        start = np.array([state(v=(1.0, 2.0, 0.0), w=(1.0, -1.0, 0.5))])
        engine = started(system, start, step=step, integrator=method, **options)
        engine.rotors.start(np.full(4, 500.0))
        engine.set_state(start)
        engine.rotors.act(np.array([520.0, 480.0, 510.0, 505.0]))
        engine.run(round(0.5 / step))
        return engine.update_kinematics()[0, :13]

    reference = flown("dopri5", 0.01, tolerance=1e-13)
    steps = np.array([0.01, 0.005]) if name != "euler" else np.array([0.0005, 0.00025])
    errors = [np.max(np.abs(flown(name, h, **FIXED) - reference)) for h in steps]
    slope = np.log(errors[0] / errors[1]) / np.log(2.0)
    assert slope > INTEGRATORS[name].order - 0.3, (errors, slope)


def test_the_splitting_keeps_energy_and_momentum_on_a_long_run():
    """10^5 tumbles: energy error stays bounded (no trend), momentum in W to rounding; RKMK4 at the same step drifts."""
    J = np.diag([0.01, 0.014, 0.02])
    start = np.array([state(w=(3.0, 1.0, -2.0), q=quaternion(1, 0.2, 0.1, 0.3))])
    h, blocks = 0.02, 20

    def run(name):
        engine = started(
            System((Body("top", 1.0, J),), gravity=0.0), start, step=h, integrator=name, **FIXED
        )
        energies, momenta = [], []
        for _ in range(blocks):
            engine.run(5000)
            s = engine.update_kinematics()[0]
            R = np.eye(3) + 2 * s[3] * skew(s[4:7]) + 2 * skew(s[4:7]) @ skew(s[4:7])
            energies.append(0.5 * s[10:13] @ J @ s[10:13])
            momenta.append(R @ J @ s[10:13])
        return np.array(energies), np.array(momenta)

    exact = 0.5 * start[0, 10:13] @ J @ start[0, 10:13]
    energies, momenta = run("splitting")
    size = np.linalg.norm(momenta[0])
    assert np.ptp(momenta, axis=0).max() < 1e-11 * size  # 5e5 rotations of a vector, rounding only
    first, second = energies[: blocks // 2], energies[blocks // 2 :]
    assert np.max(np.abs(energies - exact)) < 2e-3 * exact
    assert abs(second.mean() - first.mean()) < 2e-4 * exact
    drift = np.abs(run("rkmk4")[0] - exact)
    assert drift[-1] > 10.0 * drift[0]  # what the splitting does not do: grow with time


def test_the_splitting_runs_backwards():
    """Time-reversible: forward, velocities reversed, forward again, ends at the start (with a taut cable)."""
    system = System(
        (Body("bob", 0.3, np.diag([0.002, 0.003, 0.004])),),
        (Cable(WORLD, 0, 0.8, r_b=np.array([0.05, 0.02, 0.1])),),
    )
    direction = np.array([0.6, 0.0, -0.8])
    point = np.array([0.05, 0.02, 0.1])
    begin = np.array([state(x=0.8 * direction - point)])
    engine = started(system, begin, step=0.005, integrator="splitting")
    begin = engine.motion[:, :13].copy()
    engine.run(200)
    back = engine.update_kinematics()[:, :13].copy()
    assert np.max(np.abs(back - begin)) > 0.1
    back[:, 7:13] *= -1.0
    engine.set_state(back)
    engine.run(200)
    end = engine.update_kinematics()[:, :13].copy()
    end[:, 7:13] *= -1.0
    np.testing.assert_allclose(end, begin, atol=1e-9)  # projections close lengths to 1e-14 a step


def test_the_adaptive_method_keeps_its_tolerance():
    """Global error within a few hundred tolerances, falling with it, and dense output of the same accuracy."""
    exact = exact_turning_ball()
    errors = []
    for tolerance in (1e-6, 1e-8, 1e-10):
        engine = started(
            System((Body("ball", 0.5, J_SPHERE),), (), (), (0,)),
            np.array([state(q=quaternion(0.9, 0.1, -0.3, 0.2), w=(1.0, -0.7, 0.4))]),
            np.array([[4.0, 0.03, 0.05, -0.04]]),
            step=0.1, integrator="dopri5", tolerance=tolerance,
        )  # fmt: skip
        samples = engine.run_dense(np.linspace(0.0, 2.0, 101)[1:])
        errors.append(np.max(np.abs(samples[-1, 0, :10] - exact[:10])))
        fine = started(
            engine.system, np.array([state(q=quaternion(0.9, 0.1, -0.3, 0.2), w=(1.0, -0.7, 0.4))]),
            np.array([[4.0, 0.03, 0.05, -0.04]]), step=0.02, integrator="dopri5", tolerance=1e-13,
        )  # fmt: skip
        for i, row in enumerate(samples):
            fine.run(1)
            assert np.max(np.abs(fine.update_kinematics()[0, :13] - row[0])) < 300.0 * tolerance, i
    assert errors[0] > 10.0 * errors[1] > 100.0 * errors[2]


def test_dense_output_may_begin_now():
    engine = started(System((Body("ball", 0.5, J_SPHERE),)), np.array([state(v=(1, 0, 0))]), integrator="dopri5")  # fmt: skip
    now = engine.update_kinematics()[0, :13].copy()
    np.testing.assert_array_equal(engine.run_dense(np.array([0.0]))[0, 0], now)
    samples = engine.run_dense(np.array([0.0, 0.1, 0.2]))
    np.testing.assert_allclose(samples[:, 0, 0], (0.0, 0.1, 0.2), atol=1e-12)


def test_dense_output_passes_through_events():
    """A snap between two samples: the samples after it belong to the motion after it."""
    states = np.array([state((0, 0, 0), v=(0.2, 0.0, 3.4))])
    system = System((Body("load", 0.1),), (Cable(WORLD, 0, 0.5),))
    dense = started(system, states, step=0.01, integrator="dopri5", tolerance=1e-12)
    times = np.arange(1, 60) * 0.01
    samples = dense.run_dense(times)
    fixed = started(system, states, step=0.001)
    for t, row in zip(times, samples, strict=True):
        fixed.run(10)
        assert fixed.time == pytest.approx(t)
        np.testing.assert_allclose(row[0], fixed.update_kinematics()[0, :13], atol=1e-9)
    assert [e.type for e in dense.take_events()] == [e.type for e in fixed.take_events()] != []


def test_spinning_rotors_keep_the_order():
    """Stored momentum that varies in time, for every method, against the reference."""

    def spin(method, step, **options):
        rotor = Rotor(0, axis=np.array([0.0, 0.6, 0.8]), inertia=1e-4)
        system = System(
            (Body("gyrostat", 1.0, np.diag([0.01, 0.012, 0.02])),), rotors=(rotor,), gravity=0.0
        )
        engine = started(
            system, np.array([state(w=(1.0, 0.5, -0.4))]), step=step, integrator=method, **options
        )
        engine.rotors.prescribe(0, 100.0, 60.0, 1.0, 0.3)
        engine.set_state(np.array([state(w=(1.0, 0.5, -0.4))]))
        engine.run(round(1.0 / step))
        return engine.update_kinematics()[0, :13]

    reference = spin("dopri5", 0.01, tolerance=1e-13)
    for name, method in INTEGRATORS.items():
        steps = (0.02, 0.01) if name != "euler" else (0.001, 0.0005)
        errors = [np.max(np.abs(spin(name, h, **FIXED) - reference)) for h in steps]
        assert np.log2(errors[0] / errors[1]) > method.order - 0.3, (name, errors)


def test_unknown_integrators_are_refused():
    with pytest.raises(ContractError, match=r"must be one of .*rkmk4.*rkmk5"):
        started(System((Body("ball", 0.5, J_SPHERE),)), np.array([state()]), integrator="rkmk5")
    engine = started(System((Body("ball", 0.5, J_SPHERE),)), np.array([state()]))
    with pytest.raises(ContractError, match="no dense output"):
        engine.run_dense(np.array([0.1]))


def test_methods_agree_on_a_team_with_events():
    """Three vehicles, a payload that snaps: methods of order four agree to their error."""
    rho = np.array([[0.3, 0.0, 0.0], [-0.15, 0.26, 0.0], [-0.15, -0.26, 0.0]])
    system = team(3, rho, np.ones(3))
    states = [state(v=(0.1, 0.0, -0.3))]
    states += [state(x=r + [0, 0, 0.95], v=(0.0, 0.05, 0.2)) for r in rho]
    thrust = np.tile([(0.25 + 0.278 / 3) * 9.81 * 1.05, 0, 0, 0], (3, 1))
    ends, events = {}, {}
    for name in ("rkmk4", "cf4", "erk4m", "dopri5"):
        engine = started(system, np.array(states), thrust, step=1e-3, integrator=name)
        engine.run(1000)
        ends[name], events[name] = engine.update_kinematics()[:, :13].copy(), engine.take_events()
    assert len(events["rkmk4"]) >= 1
    for name in ("cf4", "erk4m", "dopri5"):
        np.testing.assert_allclose(ends[name], ends["rkmk4"], atol=1e-6)
        assert [e.type for e in events[name]] == [e.type for e in events["rkmk4"]]


def test_the_tableau_of_dormand_and_prince_is_that_of_scipy():
    """Two who wrote it down: the same number in every place."""
    ours = (dopri5.A, dopri5.B, dopri5.C, dopri5.ERROR, dopri5.DENSE)
    for mine, theirs in zip(ours, (RK45.A, RK45.B, RK45.C, RK45.E, RK45.P), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("integrator", ["rkmk4", "dopri5", "splitting"])
def test_a_rise_and_fall_of_a_gap_within_a_step_is_seen(integrator):
    """The arm of a body turns by up to a radian a step; its end comes beyond the length of a cable for a moment.

    The cubic through gap and rate at both ends is off by a quartic of up to a millimetre there: snaps at 20 m/s were
    passed over.
    """
    arm, anchor = 0.5, 2.0
    body = Body("body", 1.0, 0.1 * np.diag([1.0, 1.0, 2.0]))
    for rate, step in ((1000.0, 1e-3), (300.0, 1e-3), (20.0, 0.05)):
        for over in (1e-3, 1e-4, 1e-6):
            length = anchor + arm - over
            touch = np.arccos((length**2 - anchor**2 - arm**2) / (2.0 * anchor * arm))
            for phase in np.linspace(0.3, 0.3 + rate * step, 5):
                angle = np.pi + phase
                cable = Cable(
                    WORLD,
                    0,
                    length,
                    r_a=np.array([-anchor, 0.0, 0.0]),
                    r_b=np.array([arm, 0.0, 0.0]),
                )
                engine = started(
                    System((body,), (cable,), gravity=0.0),
                    np.array([state(q=quaternion(np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)), w=(0.0, 0.0, rate))]),
                    step=step, integrator=integrator,
                )  # fmt: skip
                expected = (2.0 * np.pi - touch - angle) / rate
                engine.run(int(expected / step) + 2)
                first = engine.take_events()[0]
                assert (first.type, first.time) == ("snap", pytest.approx(expected, abs=1e-9))


def test_a_clock_that_is_set_takes_lags_along():
    """Speeds of rotors and efforts of motors that lag were those of seconds in the future: -14341 for 500 rad/s."""
    rotor = Rotor(0, hub=np.zeros(3), spin=1, thrust=1e-5, torque=1e-7, inertia=1e-5, lag=0.02)
    engine = started(System((Body("b", 1.0, J_SPHERE),), rotors=(rotor,)), np.array([state()]))
    engine.rotors.start(np.array([400.0]))
    engine.rotors.act(np.array([500.0]))
    engine.run(30)
    speed = engine.rotors.speeds.copy()
    assert speed[0] == pytest.approx(500.0 - 100.0 * np.exp(-0.03 / 0.02))
    for time in (0.0, 7.0):
        engine.set_state(np.array([state()]), time=time)
        np.testing.assert_allclose(engine.rotors.speeds, speed)
