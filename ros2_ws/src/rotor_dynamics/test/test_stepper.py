"""Fixed steps through events: exact clock, located events, order of convergence, conservation."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from worlds import DRAGONFLY, TRI_C, oracle, quaternion, started, state, team

from rotor_core.errors import ContractError, ModelError, SolverError
from rotor_dynamics.model.body import Body
from rotor_dynamics.model.system import WORLD, Cable, System
from validation.oracles import kkt
from validation.oracles.free_body import symmetric_top


def tossed_mass(speed=(0.0, 0.0, 3.0), length=0.5):
    """A point mass on a cable to the world, thrown upwards from the anchor."""
    system = System((Body("load", 0.1),), (Cable(WORLD, 0, length),))
    return started(system, np.array([state((0.05, 0.0, 0.1), v=speed)]))


def test_snap_is_located_where_the_parabola_meets_the_sphere():
    """Closed form: |p0 + v t - g t^2/2| = l; the jump removes the radial velocity."""
    p0, v0, g = np.array([0.05, 0.0, 0.1]), np.array([0.2, 0.1, 3.0]), np.array([0, 0, -9.81])
    coefficients = np.polynomial.Polynomial(
        [p0 @ p0 - 0.25, 2 * p0 @ v0, v0 @ v0 + p0 @ g, v0 @ g, g @ g / 4]
    )
    roots = [r.real for r in coefficients.roots() if abs(r.imag) < 1e-12 and r.real > 0]
    expected = min(roots)
    engine = tossed_mass(tuple(v0))
    engine.run(int(expected / 1e-3) + 1)
    (event, *_) = engine.take_events()
    assert event.type == "snap"
    assert event.time == pytest.approx(expected, abs=1e-10)
    p, v = p0 + v0 * expected + g * expected**2 / 2, v0 + g * expected
    assert event.closing_speeds[0] == pytest.approx(p @ v / 0.5, abs=1e-10)
    assert event.impulses[0] == pytest.approx(0.1 * p @ v / 0.5, abs=1e-11)


def test_every_step_ends_exactly_on_time():
    """RT-A6: whatever happens inside, the clock advances by the step."""
    engine = tossed_mass((0.3, 0.0, 2.5))
    happened = 0
    for i in range(1, 2001):
        engine.run(1)
        assert engine.time == i * 1e-3
        happened += len(engine.take_events())
    assert happened >= 1


def test_run_in_pieces_gives_the_same_bits():
    whole, pieces = tossed_mass((0.3, 0.1, 2.5)), tossed_mass((0.3, 0.1, 2.5))
    whole.run(700)
    for n in (1, 3, 296, 400):
        pieces.run(n)
    np.testing.assert_array_equal(whole.update_kinematics(), pieces.update_kinematics())


def test_slack_vehicles_never_jump():
    """RT-A8.

    Slack cables of different lengths, one snaps: no position jumps by more than speed times step.
    """
    rho = TRI_C
    states = [state(v=(0, 0, -1.0))]
    states += [state((*r[:2], r[2] + d)) for r, d in zip(rho, (0.95, 0.9, 0.99), strict=True)]
    engine = started(team(3, rho, np.ones(3)), np.array(states), np.array([[2.4525, 0, 0, 0]] * 3))
    for _ in range(500):
        before = engine.motion[:, :10].copy()
        engine.run(1)
        after = engine.update_kinematics()
        fastest = np.maximum(np.abs(before[:, 7:10]), np.abs(after[:, 7:10])).max() + 0.02
        assert np.max(np.abs(after[:, :3] - before[:, :3])) < fastest * 1e-3
    assert any(e.type == "snap" for e in engine.take_events())


@pytest.mark.parametrize("phase", range(8))
def test_no_overshoot_at_a_snap(phase):
    """RT-A9.

    Re-tensioning at 1 m/s, at eight phases of the step: the cable is never longer than 1e-10 m.
    """
    gap = 0.02 + phase / 8 * 1e-3
    system = System(
        (Body("quad", 0.25, DRAGONFLY), Body("load", 0.07)),
        (Cable(0, 1, 0.5),),
        (),
        (0,),
        gravity=0.0,
    )
    engine = started(system, np.array([state((0, 0, 0.5 - gap)), state(v=(0, 0, -1.0))]))
    for _ in range(60):
        engine.run(1)
        p = engine.update_kinematics()[:, :3]
        assert np.linalg.norm(p[0] - p[1]) - 0.5 < 1e-10
    event, let_go = engine.take_events()  # without forces the cable does not pull after the jump
    assert let_go.cause == "acceleration"
    assert event.time == pytest.approx(gap, abs=1e-12)
    assert abs(event.closing_speeds_after[0]) < 1e-12


def test_energy_of_a_spinning_team_in_free_fall():
    """RT-A5.

    Zero thrust, the triangle spins at 3 rad/s with its cables pulled out, a small wobble; 60 s, no
    event.
    """
    centre = np.zeros(3)
    w = np.array([0.02, 0.01, 3.0])
    rows = [state(centre, v=(0, 0, 0.5), w=w)]
    for r in TRI_C:
        outward = np.array([r[0], r[1], 0.0]) / np.hypot(r[0], r[1])
        p = r + outward * 1.0
        rows.append(state(p, v=np.array([0, 0, 0.5]) + np.cross(w, p)))
    system = team(3, TRI_C, np.ones(3))
    engine = started(system, np.array(rows))
    bodies, _ = oracle(system)

    def energy():
        return kkt.total_energy(bodies, engine.update_kinematics()[:, :13])

    start = energy()
    for _ in range(6):
        engine.run(10_000)
        assert abs(energy() - start) < 1e-6 * abs(kkt.kinetic_energy(bodies, engine.motion[:, :13]))
    assert not [e for e in engine.take_events() if e.type in ("snap", "settle")]
    assert engine.taut.all()


def test_cable_length_over_a_minute():
    """RT-A4 for the engine: 60 s of swinging, length error of taut cables under 1e-10 m."""
    rows = [state(v=(0.4, 0.2, 0.0), w=(0.1, -0.1, 0.3))] + [
        state((*r[:2], r[2] + 1.0), v=(0.4, 0.2, 0.0)) for r in TRI_C
    ]
    thrust = (0.25 + 0.278 / 3) * 9.81
    engine = started(team(3, TRI_C, np.ones(3)), np.array(rows), np.array([[thrust, 0, 0, 0]] * 3))
    worst = 0.0
    for _ in range(60):
        engine.run(1000)
        m = engine.update_kinematics()
        R = kkt.rotation(m[0, 3:7])
        lengths = [np.linalg.norm(m[0, :3] + R @ r - m[k + 1, :3]) for k, r in enumerate(TRI_C)]
        worst = max(worst, np.max(np.abs(np.array(lengths) - 1.0)[engine.taut]))
    assert worst < 1e-10


def test_symmetric_top_at_fourth_order():
    """The attitude integrator against the closed form, with the promised order.

    Halving the step gains 16.
    """
    I_t, I_a, w0 = 0.02, 0.035, np.array([3.0, -1.0, 8.0])
    errors = []
    for h in (0.02, 0.01, 0.005):
        system = System((Body("top", 1.0, np.diag([I_t, I_t, I_a])),), gravity=0.0)
        engine = started(system, np.array([state(w=w0)]), step=h)
        engine.run(round(1.0 / h))
        q, w = symmetric_top(1.0, I_t, I_a, w0)
        m = engine.update_kinematics()[0]
        errors.append(
            min(np.linalg.norm(m[3:7] - q), np.linalg.norm(m[3:7] + q))
            + np.linalg.norm(m[10:13] - w)
        )
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 3.8) and np.all(orders < 4.3)
    assert errors[-1] < 1e-6


def test_fourth_order_across_events():
    """A bouncing load: the order holds across snaps and releases, and time is not lost in them."""

    def end(step):
        system = System(
            (Body("quad", 0.3, DRAGONFLY), Body("load", 0.1)), (Cable(0, 1, 0.5),), (), (0,)
        )
        engine = started(
            system,
            np.array([state((0, 0, 0.3), v=(0.2, 0, 0)), state((0.1, 0.05, 0), v=(0.5, 0, 2.0))]),
            step=step,
        )
        engine.set_wrenches(np.array([[4.2, 2e-4, 1e-4, 0.0]]))
        engine.run(round(0.8 / step))
        kinds = [(e.type, e.cables) for e in engine.take_events()]
        return engine.update_kinematics()[:, :10].copy(), kinds

    (reference, kinds), (a, kinds_a), (b, kinds_b) = end(0.5e-3), end(4e-3), end(2e-3)
    assert kinds == kinds_a == kinds_b
    assert any(k == "snap" for k, _ in kinds)
    ratio = np.max(np.abs(a - reference)) / np.max(np.abs(b - reference))
    assert 12.0 < ratio < 20.0


def test_invariance_under_rotation_about_the_vertical_and_translation():
    rng = np.random.default_rng(5)
    rows = [state(v=(0.1, 0, -0.6), w=(0.4, 0.3, -0.2))] + [
        state((*r[:2], r[2] + 0.97), v=rng.normal(0, 0.1, 3)) for r in TRI_C
    ]
    rows = np.array(rows)
    turn, shift = Rotation.from_rotvec([0, 0, 1.1]), np.array([3.0, -2.0, 5.0])
    moved = rows.copy()
    moved[:, 0:3] = turn.apply(rows[:, 0:3]) + shift
    moved[:, 7:10] = turn.apply(rows[:, 7:10])
    x, y, z, w = turn.as_quat()
    moved[:, 3:7] = quaternion(w, x, y, z)
    inputs = np.array([[3.3, 0, 0, 0], [3.4, 0, 0, 0], [3.2, 0, 0, 0]])
    a, b = (started(team(3, TRI_C, np.ones(3)), s, inputs) for s in (rows, moved))
    a.run(600)
    b.run(600)
    assert [e.cables for e in a.take_events()] == [e.cables for e in b.take_events()]
    np.testing.assert_allclose(
        turn.apply(a.update_kinematics()[:, :3]) + shift, b.update_kinematics()[:, :3], atol=1e-11
    )
    np.testing.assert_allclose(a.motion[:, 10:13], b.motion[:, 10:13], atol=1e-9)


def test_cutting_a_cable_lets_the_load_fall():
    engine = started(
        System((Body("load", 0.4),), (Cable(WORLD, 0, 1.0, r_a=np.array([0.0, 0, 1.0])),)),
        np.array([state()]),
    )
    engine.run(10)
    engine.cut(0)
    engine.run(100)
    assert engine.update_kinematics()[0, 2] == pytest.approx(-0.5 * 9.81 * 0.01, abs=1e-12)
    assert [e.type for e in engine.take_events()] == ["cut"]
    assert not engine.alive[0]


def test_random_box_cascades_stay_finite_and_within_length():
    """Four cables on a box throw each other off in cascades.

    1 s at random starts, every law on the way.
    """
    from worlds import BOX, BOX4

    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = [state(v=rng.normal(0, 0.5, 3), w=rng.normal(0, 1, 3))]
        rows += [
            state((*r[:2], r[2] + rng.uniform(0.4, 0.5)), v=rng.normal(0, 0.3, 3)) for r in BOX4
        ]
        system = team(4, BOX4, np.full(4, 0.5), mass=0.3, inertia=BOX)
        engine = started(
            system, np.array(rows), np.column_stack([rng.uniform(2.0, 4.5, 4), np.zeros((4, 3))])
        )
        for _ in range(100):
            engine.run(10)
            m = engine.update_kinematics()
            assert np.isfinite(m).all()
            R = kkt.rotation(m[0, 3:7])
            d = np.array(
                [np.linalg.norm(m[0, :3] + R @ r - m[k + 1, :3]) for k, r in enumerate(BOX4)]
            )
            assert np.all(d < 0.5 + 1e-9)
            assert np.all(engine.tensions >= 0.0) and np.all(engine.tensions[~engine.taut] == 0.0)
        for event in engine.take_events():
            assert event.energy_change <= 1e-12


def test_a_cut_cable_is_still_measured():
    cable = Cable(WORLD, 0, 1.0, r_a=np.array([0.0, 0, 1.0]))
    engine = started(System((Body("load", 0.4),), (cable,)), np.array([state()]))
    engine.cut(0)
    engine.run(500)
    assert engine.distances[0] == pytest.approx(1.0 + 0.5 * 9.81 * 0.25, abs=1e-9)


def test_fixed_steps_go_on_from_run_until():
    engine = tossed_mass()
    engine.run_until(0.0105)
    engine.run(2)
    assert engine.time == pytest.approx(0.0125, abs=1e-15)
    with pytest.raises(ContractError, match="must not be before"):
        engine.run_until(0.001)


def test_large_steps_keep_the_length():
    """At 10 ms the drift of a step is large; the projection is repeated until it is gone."""
    rng = np.random.default_rng(3)
    rows = [state(v=rng.normal(0, 1, 3), w=rng.normal(0, 4, 3))]
    rows += [state((*r[:2], r[2] + 1.0), v=rng.normal(0, 1, 3)) for r in TRI_C]
    thrusts = np.array([[4.0, 0, 0, 0]] * 3)
    engine = started(team(3, TRI_C, np.ones(3)), np.array(rows), thrusts, step=10e-3)
    for _ in range(200):
        engine.run(1)
        m = engine.update_kinematics()
        R = kkt.rotation(m[0, 3:7])
        d = [np.linalg.norm(m[0, :3] + R @ r - m[k + 1, :3]) for k, r in enumerate(TRI_C)]
        assert max(d) < 1.0 + 1e-9


def test_contradicting_redundant_cables_are_an_error_not_a_silent_drift():
    """Two opposed cables of exactly the distance of their anchors hold a mass that is pulled off their line."""
    ends = [np.array([x, 0.0, 0.0]) for x in (-1.0, 1.0)]
    system = System((Body("load", 0.1),), tuple(Cable(WORLD, 0, 1.0, r_a=p) for p in ends))
    engine = started(system, np.array([state()]))
    with pytest.raises(SolverError, match="redundant and contradict"):
        for _ in range(1000):
            engine.run(1)
            assert np.abs(engine.update_kinematics()[0, :3]).max() < 1e-3


# --- what is refused ------------------------------------------------------------------------------


def test_bad_input_is_refused_and_nothing_is_lost():
    engine = started(
        team(3, TRI_C, np.ones(3)),
        np.array([state()] + [state((*r[:2], r[2] + 1.0)) for r in TRI_C]),
    )
    good = np.array([[3.3, 0, 0, 0]] * 3)
    engine.set_wrenches(good)
    bad = good.copy()
    bad[1, 2] = np.nan
    with pytest.raises(ContractError, match="'quad2': moment y must be finite, got nan"):
        engine.set_wrenches(bad)
    engine.run(5)
    assert np.isfinite(engine.update_kinematics()).all()
    with pytest.raises(ContractError, match="shape"):
        engine.set_wrenches(np.zeros((2, 4)))


def test_overflow_keeps_the_last_good_state():
    engine = started(
        System((Body("quad", 0.25, DRAGONFLY),), (), (), (0,)), np.array([state(w=(1.0, 2.0, 3.0))])
    )
    engine.run(3)
    kept = engine.update_kinematics()[:, :13].copy()
    engine.set_wrenches(np.array([[1.0, 1e200, -1e200, 1e200]]))
    with pytest.raises(SolverError, match="quad is no longer finite") as caught:
        engine.run(5)
    np.testing.assert_array_equal(caught.value.state, engine.update_kinematics()[:, :13])
    assert np.isfinite(caught.value.state).all()
    assert caught.value.time >= 0.003
    assert kept.shape == caught.value.state.shape


def test_impossible_starts_are_refused():
    system = System((Body("load", 0.4),), (Cable(WORLD, 0, 1.0),))
    with pytest.raises(ModelError, match=r"1\.2 m apart, but it is only 1 m long"):
        started(system, np.array([state((0, 0, -1.2))]))
    with pytest.raises(ContractError, match="quaternion must have length 1"):
        started(system, np.array([state((0, 0, -0.2), q=(2, 0, 0, 0))]))
    with pytest.raises(ContractError, match="must be finite"):
        started(system, np.array([state((0, 0, np.inf))]))


def test_failures_far_from_the_origin_name_it():
    """Places are rounded to 1e-9 m there; the error asked for more mass."""
    anchor = np.array([5e6, 0.0, 0.0])
    system = System((Body("p", 1.0),), (Cable(WORLD, 0, 1.0, r_a=anchor),))
    engine = started(system, np.array([state(x=anchor + [0.3, 0.0, -0.9])]))
    with pytest.raises(SolverError, match=r"5e\+06 m from the origin.*begin nearer"):
        engine.run(2000)
