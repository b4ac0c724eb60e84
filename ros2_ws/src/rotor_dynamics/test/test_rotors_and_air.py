"""Force elements: sign, power and limit of each, against closed forms and conservation laws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import welch
from worlds import quaternion, started, state

from rotor_core.config.air.wind import Gust, Turbulence, Wind
from rotor_core.config.model import Hub, Rotors
from rotor_core.errors import ContractError, ModelError
from rotor_core.vehicles.rotors import rotor_set
from rotor_dynamics.engine import Engine
from rotor_dynamics.forces.rotors import ground_factor
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, Drag, Rotor, System, Weld
from rotor_sim.environment.dryden import DrydenProcess, dryden_scales
from rotor_sim.environment.wind import WindField

J = np.diag([0.006, 0.007, 0.011])
X, Z = np.array([1.0, 0, 0]), np.array([0.0, 0, 1.0])
REST = np.array([state()])


def craft(*rotors, drags=(), gravity=0.0, mass=1.0, **options):
    return Engine(
        System((Body("craft", mass, J),), (), (), (0,), gravity, tuple(rotors), drags, **options)
    )


def turning(engine, speeds, states=REST):
    engine.rotors.start(np.asarray(speeds, float))
    engine.set_state(states)
    return engine


# --- rotors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["plus", "canted", "custom"])
def test_LG_A13_hub_forces_give_the_wrench_of_the_mixing(layout):
    """Thrust at every hub and drag torque about its axis, at rest and steady: what the allocation assumes."""
    common = {"speed_rpm": (0.0, 9e3), "thrust_n_per_rpm2": 1e-7, "torque_per_thrust_m": 0.02}
    rotors = {
        "plus": Rotors("plus", arm_m=0.2, **common),
        "canted": Rotors("x", arm_m=0.2, count=6, cant_deg=15.0, **common),
        "custom": Rotors("custom", hubs=tuple(
            Hub((0.2 * np.cos(a), 0.15 * np.sin(a), 0.03), ("ccw", "cw")[i % 2], (0.0, 0.05 * i, 1.0))
            for i, a in enumerate(np.arange(4) * np.pi / 2)), **common),
    }[layout]  # fmt: skip
    packed = rotor_set(rotors)
    k = packed.thrust_per_speed2
    engine = craft(*(
        Rotor(0, a, p, s, k, 0.02 * k)
        for a, p, s in zip(rotors.axes, rotors.positions, rotors.spins, strict=True)
    ))  # fmt: skip
    speeds = np.linspace(400.0, 700.0, packed.count)
    turning(engine, speeds)
    expected = packed.mixing @ (k * speeds**2)
    assert engine.motion[0, 15] == pytest.approx(expected[0])
    np.testing.assert_allclose(J @ engine.motion[0, 16:19], expected[1:], atol=1e-12)


def test_LG_A12_gyroscopic_sign():
    """All rotors counter-clockwise, a small roll rate: pitch rate grows at h_z / J_y times it."""
    engine = turning(craft(Rotor(0, Z, inertia=1e-4)), [500.0], np.array([state(w=(0.1, 0, 0))]))
    assert engine.motion[0, 17] == pytest.approx(1e-4 * 500.0 / 0.007 * 0.1)
    assert engine.motion[0, 16] == engine.motion[0, 18] == 0.0


def test_coupling_to_steady_rotors_does_no_work():
    """Constant speeds, no torque: kinetic energy of the body and the total momentum in W stay."""
    engine = turning(
        craft(Rotor(0, np.array([0, 0.6, 0.8]), inertia=1e-4), Rotor(0, X, inertia=2e-5)),
        [600.0, -900.0], np.array([state(w=(3.0, -2.0, 1.0), q=quaternion(1, 2, 3, 4))]),
    )  # fmt: skip
    h = 1e-4 * 600.0 * np.array([0, 0.6, 0.8]) - 2e-5 * 900.0 * X

    def invariants():
        q, w = engine.update_kinematics()[0, 3:7], engine.motion[0, 10:13]
        v = q[1:]
        pi = J @ w + h
        return 0.5 * w @ J @ w, pi + 2 * np.cross(v, np.cross(v, pi) + q[0] * pi)

    energy, momentum = invariants()
    engine.run(3000)
    after, momentum_after = invariants()
    assert after == pytest.approx(energy, rel=1e-9)
    np.testing.assert_allclose(momentum_after, momentum, rtol=1e-9)


def test_spin_up_turns_the_body_backwards():
    """First-order motor, no air: J omega + I Omega stays zero at every time, and Omega follows its exponential."""
    engine = craft(Rotor(0, Z, inertia=1e-4, lag=0.05))
    engine.set_state(REST)
    engine.rotors.act(np.array([800.0]))
    for _ in range(5):
        engine.run(20)
        omega = 800.0 * (1.0 - np.exp(-engine.time / 0.05))
        assert engine.rotors.speeds[0] == pytest.approx(omega, rel=1e-13)
        assert engine.update_kinematics()[0, 12] == pytest.approx(-1e-4 * omega / J[2, 2], rel=1e-9)


def test_thrust_follows_the_lag_and_commands_may_change_at_any_time():
    """Velocity after two commands: integral of k Omega(t)^2 in closed form, both pieces."""
    k, lag = 1e-5, 0.04
    engine = craft(Rotor(0, Z, thrust=k, lag=lag))
    engine.set_state(REST)

    def integral(a, b, t):  # of (a + b exp(-t / lag))^2
        e = np.exp(-t / lag)
        return a * a * t + 2 * a * b * lag * (1 - e) + 0.5 * b * b * lag * (1 - e * e)

    engine.rotors.act(np.array([500.0]))
    engine.run(33)
    engine.run_until(0.0333)
    between = 500.0 * (1 - np.exp(-0.0333 / lag))
    engine.rotors.act(np.array([200.0]))
    engine.run(50)
    velocity = k * (integral(500.0, -500.0, 0.0333) + integral(200.0, between - 200.0, 0.05))
    # Simpson on exp(-2 t / lag): relative error (2 h / lag)^4 / 2880 = 2e-9
    assert engine.update_kinematics()[0, 9] == pytest.approx(velocity, rel=4e-9)


def test_a_jump_of_a_stiff_rotor_keeps_the_momentum():
    """No lag: the body jumps; with a taut cable the pull jumps with it, and nothing gains energy from nowhere."""
    engine = craft(Rotor(0, Z, inertia=1e-4))
    engine.set_state(REST)
    engine.rotors.act(np.array([300.0]))
    assert engine.update_kinematics()[0, 12] == pytest.approx(-1e-4 * 300.0 / J[2, 2], rel=1e-14)
    engine.run(100)
    assert engine.update_kinematics()[0, 12] == pytest.approx(-1e-4 * 300.0 / J[2, 2], rel=1e-12)


def test_rotors_of_welded_bodies_act_where_they_are():
    """A rotor on a member that sits aside and tilted accelerates the pair like a force there."""
    tilt = quaternion(np.cos(0.2), np.sin(0.2), 0, 0)
    bodies = (Body("frame", 1.0, J), Body("pod", 0.5, J))
    weld = Weld(0, 1, np.array([0.3, 0, 0]), tilt)
    system = System(
        bodies, (), (weld,), (), 0.0, (Rotor(1, Z, np.array([0, 0.1, 0]), thrust=1e-5),)
    )
    engine = Engine(system)
    engine.rotors.start(np.array([1000.0]))
    pose = state(x=(0.3, 0, 0), q=tilt)
    engine.set_state(np.array([state(), pose]))
    R = np.array([[1, 0, 0], [0, np.cos(0.4), -np.sin(0.4)], [0, np.sin(0.4), np.cos(0.4)]])
    force = R @ [0, 0, 10.0]
    centre = np.array([0.3, 0, 0]) * 0.5 / 1.5
    point = np.array([0.3, 0, 0]) + R @ [0, 0.1, 0]
    inertia = J + R @ J @ R.T
    for m, r in ((1.0, -centre), (0.5, np.array([0.3, 0, 0]) - centre)):
        inertia = inertia + m * (r @ r * np.eye(3) - np.outer(r, r))
    alpha = np.linalg.solve(inertia, np.cross(point - centre, force))
    np.testing.assert_allclose(engine.motion[0, 16:19], alpha, atol=1e-12)
    np.testing.assert_allclose(
        engine.motion[0, 13:16], force / 1.5 + np.cross(alpha, -centre), atol=1e-12
    )


# --- air ----------------------------------------------------------------------------------------------


def test_fall_with_quadratic_drag():
    """v = v_t tanh(g t / v_t), v_t = sqrt(m g / k); linear drag: v_t (1 - exp(-g t / v_t)), v_t = m g / c."""
    for drag, v in (
        (Drag(0, quadratic=0.3 * np.ones(3)), lambda t: np.sqrt(9.81 / 0.3) * np.tanh(t * np.sqrt(9.81 * 0.3))),
        (Drag(0, linear=0.8 * np.ones(3)), lambda t: 9.81 / 0.8 * (1 - np.exp(-0.8 * t))),
    ):  # fmt: skip
        engine = craft(drags=(drag,), gravity=9.81)
        engine.set_state(REST)
        engine.run(1500)
        assert -engine.update_kinematics()[0, 9] == pytest.approx(v(1.5), rel=1e-10)


def test_rate_damping_decays_as_it_should():
    """About a principal axis: linear exp(-c t / J), cubic 1 / sqrt(1 + 2 c w0^2 t / J)."""
    for drag, w in (
        (Drag(0, rate_linear=np.array([0, 0, 0.02])), 4.0 * np.exp(-0.02 / J[2, 2])),
        (Drag(0, rate_cubic=np.array([0, 0, 0.003])), 4.0 / np.sqrt(1 + 2 * 0.003 * 16.0 / J[2, 2])),
    ):  # fmt: skip
        engine = craft(drags=(drag,))
        engine.set_state(np.array([state(w=(0, 0, 4.0))]))
        engine.run(1000)
        assert engine.update_kinematics()[0, 12] == pytest.approx(w, rel=1e-9)


def test_drag_never_gives_power_to_a_body_in_still_air():
    """Random attitudes, velocities, rates and coefficients of bodies and rotors, far from the ground."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        drag = Drag(0, *rng.uniform(0, 1, (4, 3)))
        axis = rng.normal(size=3)
        rotor = Rotor(0, axis / np.linalg.norm(axis), rng.normal(size=3), drag=rng.uniform(0, 1e-3))
        q = rng.normal(size=4)
        start = state(q=q / np.linalg.norm(q), v=rng.normal(size=3), w=rng.normal(size=3))
        engine = turning(craft(rotor, drags=(drag,)), [rng.uniform(-900, 900)], np.array([start]))
        m = engine.motion[0]
        moment = J @ m[16:19] + np.cross(m[10:13], J @ m[10:13])
        assert m[13:16] @ m[7:10] + moment @ m[10:13] < 0.0


def test_rotor_drag_acts_across_the_axis_only():
    """Proportional to speed and to the airspeed across the axis; climbing feels none; at the hub."""
    hub = np.array([0.2, 0, 0.1])
    rotor = Rotor(0, Z, hub, drag=1e-4)
    climbing = turning(craft(rotor), [800.0], np.array([state(v=(0, 0, 3.0))]))
    np.testing.assert_allclose(climbing.motion[0, 13:19], 0.0, atol=1e-15)
    sideways = turning(craft(rotor), [800.0], np.array([state(v=(0, 2.0, 5.0))]))
    push = np.array([0, -1e-4 * 800.0 * 2.0, 0])
    np.testing.assert_allclose(sideways.motion[0, 13:16], push, atol=1e-14)
    np.testing.assert_allclose(J @ sideways.motion[0, 16:19], np.cross(hub, push), atol=1e-14)


def test_motion_in_steady_wind_is_motion_in_still_air_of_a_moving_frame():
    """Galilean invariance, with every force element on."""
    rotors = (
        Rotor(0, Z, np.array([0.1, 0, 0]), thrust=1e-5, torque=1e-7, inertia=1e-5, drag=1e-4),
    )
    drags = (Drag(0, 0.2 * np.ones(3), 0.1 * np.ones(3), 0.01 * np.ones(3), 0.001 * np.ones(3)),)
    wind = np.array([3.0, -1.0, 0.5])
    ends = []
    for air in (np.zeros(3), wind):
        engine = turning(
            craft(*rotors, drags=drags, gravity=9.81), [900.0],
            np.array([state(v=air + [0.5, 0.2, 0.1], w=(0.3, 0.2, 0.1))]),
        )  # fmt: skip
        engine.set_wind(air[None])
        engine.run(1000)
        ends.append(engine.update_kinematics()[0].copy())
    ends[1][0:3] -= 1.0 * wind
    ends[1][7:10] -= wind
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-11)


def test_a_load_in_the_wind_hangs_at_its_angle():
    """tan(angle) = drag / weight; the tension carries both: drag comes before the cables are solved for."""
    system = System(
        (Body("load", 0.2),), (Cable(WORLD, 0, 1.0),), drags=(Drag(0, linear=0.1 * np.ones(3)),)
    )
    angle = np.arctan2(0.1 * 6.0, 0.2 * 9.81)
    engine = Engine(system)
    engine.set_state(np.array([state(x=(np.sin(angle), 0, -np.cos(angle)))]))
    engine.set_wind(np.array([[6.0, 0, 0]]))
    engine.run(500)
    np.testing.assert_allclose(engine.update_kinematics()[0, 7:10], 0.0, atol=1e-12)
    assert engine.tensions[0] == pytest.approx(np.hypot(0.6, 0.2 * 9.81), rel=1e-12)


def test_ground_effect():
    """Cheeseman and Bennett: 16/15 at one radius, none far away, never less than far, clipped very near."""
    ratio = ground_factor.py_func
    assert ratio(1.0, 1.0) == pytest.approx(16.0 / 15.0)
    heights = np.linspace(0.0, 20.0, 400)
    factors = np.array([ratio(h, 1.0) for h in heights])
    assert np.all(np.diff(factors) <= 0.0) and factors[0] == ratio(0.5, 1.0) == pytest.approx(4 / 3)
    assert 1.0 < ratio(20.0, 1.0) < 1.0002
    # in the engine: at the height of the hub above the ground, on one rotor of two
    rotors = tuple(
        Rotor(0, Z, y * np.array([0, 1.0, 0]), thrust=1e-5, radius=0.3) for y in (1.0, -1.0)
    )
    tilt = quaternion(np.cos(0.15), np.sin(0.15), 0, 0)
    engine = turning(
        craft(*rotors, ground=-1.0), [700.0, 700.0], np.array([state(x=(0, 0, -0.4), q=tilt)])
    )
    thrusts = [4.9 * ratio(0.6 + y * np.sin(0.3), 0.3) for y in (1.0, -1.0)]
    assert np.linalg.norm(engine.motion[0, 13:16]) == pytest.approx(sum(thrusts), rel=1e-12)
    assert J[0, 0] * engine.motion[0, 16] == pytest.approx(thrusts[0] - thrusts[1], rel=1e-9)


# --- wind ---------------------------------------------------------------------------------------------

TURBULENCE = Turbulence(wind_at_6m_m_s=8.0, altitude_m=20.0, airspeed_m_s=6.0)


def test_dryden_scales_at_the_altitude_of_the_standard():
    """MIL-F-8785C at h = 6.096 m (20 ft): L_u = 20 / 0.19346^1.2 ft = 143.7 ft; sigma_w a tenth of the wind."""
    lengths, deviations = dryden_scales(Turbulence(10.0, altitude_m=6.096))
    assert lengths[0] / 0.3048 == pytest.approx(20.0 / (0.177 + 0.000823 * 20.0) ** 1.2)
    assert lengths[0] / 0.3048 == pytest.approx(143.6, abs=0.2)
    assert deviations[2] == 1.0 and deviations[0] == pytest.approx(1.0 / 0.19346**0.4)


def test_dryden_process_has_the_variance_and_the_spectrum_of_the_standard():
    """100 000 samples; the density at the corner follows the filters (V.3). Statistical error about 3 %."""
    period = 0.05
    process = DrydenProcess(TURBULENCE, period, seed=4)
    samples = np.array([process.sample() for _ in range(100_000)])
    lengths, deviations = dryden_scales(TURBULENCE)
    # independent samples: duration over twice the correlation time L / V; five standard errors
    independent = 100_000 * period / (2.0 * lengths / TURBULENCE.airspeed_m_s)
    np.testing.assert_array_less(
        np.abs(samples.std(axis=0) / deviations - 1.0), 5.0 / np.sqrt(2.0 * independent)
    )
    frequency, density = welch(samples, 1.0 / period, nperseg=8192, axis=0)
    band = (frequency > 0.02) & (frequency < 0.5)
    k = 2 * np.pi * frequency[band, None] * lengths / TURBULENCE.airspeed_m_s
    shape = np.stack(
        [
            1 / (1 + k[:, 0] ** 2),
            *((1 + 3 * k[:, i] ** 2) / (1 + k[:, i] ** 2) ** 2 / 2 for i in (1, 2)),
        ],
        axis=1,
    )
    expected = 4.0 * deviations**2 * lengths / TURBULENCE.airspeed_m_s * shape
    ratio = (density[band] / expected).mean(axis=0)
    np.testing.assert_allclose(ratio, 1.0, atol=0.06)


def test_dryden_variance_does_not_depend_on_the_period_and_streams_repeat():
    slow, fast = (DrydenProcess(TURBULENCE, p, seed=1) for p in (0.2, 0.001))
    for process in (slow, fast):
        spread = process._step @ process._start @ process._start.T @ process._step.T
        total = spread + process._noise @ process._noise.T
        np.testing.assert_allclose(total, process._start @ process._start.T, atol=1e-10)
    first = [slow.sample() for _ in range(3)]
    slow.reset()
    np.testing.assert_array_equal(first, [slow.sample() for _ in range(3)])
    other = DrydenProcess(TURBULENCE, 0.2, seed=2)
    assert not np.array_equal(first[0], other.sample())


def test_gusts_rise_and_fall():
    field = WindField(Wind((1.0, 0, 0), (Gust(2.0, 4.0, (0, 6.0, 0)),)), 0.01, 0)
    at = lambda t: field.sample(t)  # noqa: E731
    np.testing.assert_array_equal(at(2.0), (1.0, 0, 0))
    np.testing.assert_allclose(at(4.0), (1.0, 6.0, 0))
    np.testing.assert_allclose(at(3.0), (1.0, 3.0, 0))
    np.testing.assert_array_equal(at(6.0), (1.0, 0, 0))


# --- mistakes -----------------------------------------------------------------------------------------


def test_new_commands_go_on_about_a_new_mean():
    """A prescribed oscillation is no part of what fades."""
    engine = craft(Rotor(0, Z, lag=0.05))
    engine.set_state(REST)
    engine.rotors.prescribe(0, 100.0, 30.0, 2.0, np.pi / 2)
    before = engine.rotors.speeds[0]
    engine.rotors.act(np.array([100.0]))
    assert engine.rotors.speeds[0] == before == 130.0


def test_impossible_elements_are_refused():
    for element in (
        {"rotors": (Rotor(0, Z, inertia=0.02),)},
        {"rotors": (Rotor(3),)},
        {"rotors": (Rotor(0, axis=np.array([0, 0, 2.0])),)},
        {"rotors": (Rotor(0, thrust=-1.0),)},
        {"rotors": (Rotor(0, lag=np.nan),)},
        {"drags": (Drag(0, linear=np.array([0, -1.0, 0])),)},
        {"drags": (Drag(1),)},
    ):
        with pytest.raises(ModelError):
            System((Body("craft", 1.0, J),), **element)
    with pytest.raises(ModelError, match="point mass"):
        System((Body("dot", 1.0),), rotors=(Rotor(0),))
    engine = craft(Rotor(0, Z, lag=0.1))
    engine.set_state(REST)
    for bad in (np.zeros(2), np.array([np.nan])):
        with pytest.raises(ContractError):
            engine.rotors.act(bad)
    with pytest.raises(ContractError):
        engine.set_wind(np.array([[np.inf, 0, 0]]))
    engine.run(10)
    np.testing.assert_array_equal(
        engine.update_kinematics()[0], started(engine.system, REST).motion[0]
    )


def test_drag_acts_at_the_centre_of_pressure():
    """Behind the centre of mass it turns a body into the wind like an arrow; by default it turns nothing (R.7)."""
    wind = np.array([[0.0, 4.0, 0.0]])
    vane = Drag(0, linear=np.full(3, 0.2), centre=np.array([-0.3, 0.0, 0.0]))
    for drag, moment in ((vane, -0.3 * 0.2 * 4.0), (replace(vane, centre=None), 0.0)):
        engine = craft(drags=(drag,))
        engine.set_state(REST)
        engine.set_wind(wind)
        acceleration = engine.update_kinematics()[0, 13:19]
        np.testing.assert_allclose(acceleration[:3], (0.0, 0.8, 0.0), atol=1e-15)
        np.testing.assert_allclose(acceleration[3:], (0.0, 0.0, moment / J[2, 2]), atol=1e-12)


def test_drag_without_a_centre_acts_at_the_centre_of_mass_of_its_own_body():
    """A body whose frame is off its centre, alone and welded to another."""
    com = np.array([0.1, 0.0, -0.2])
    body = Body("craft", 1.0, J, com=com)
    for welds, bodies in (
        ((), (body,)),
        ((Weld(0, 1, np.array([0.0, 0.5, 0.0])),), (body, Body("b", 0.5, J))),
    ):
        found = []
        for centre in (None, com):
            drag = Drag(0, linear=np.full(3, 0.2), centre=centre)
            engine = Engine(System(bodies, (), welds, (0,), 0.0, (), (drag,)))
            rows = np.repeat(REST, len(bodies), axis=0)
            rows[1:, 1] = 0.5
            engine.set_state(rows)
            engine.set_wind(np.tile([3.0, -1.0, 2.0], (len(bodies), 1)))
            found.append(engine.update_kinematics()[0, 13:19].copy())
        np.testing.assert_array_equal(*found)
        assert np.abs(found[0][3:]).max() < 1e-12 or len(bodies) == 2


def test_a_centre_of_pressure_off_a_point_mass_is_refused():
    drag = Drag(0, linear=np.ones(3), centre=np.array([0.1, 0.0, 0.0]))
    with pytest.raises(ModelError, match=r"'load'.*point mass.*centre of pressure"):
        System((Body("load", 1.0),), drags=(drag,))
