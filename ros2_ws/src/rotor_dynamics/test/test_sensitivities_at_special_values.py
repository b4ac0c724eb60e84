"""Derivatives at values at which an `if` decides: zero speeds, events just where a step ends, motors at their limit.

Each is told right, or doubted. Truth: differences to both sides, which agree where there is a derivative.
"""

import numpy as np
import pytest
from rigid_worlds import GROUND, ball, ball_body, made, state
from varied_worlds import varied

from rotor_core.errors import ContractError
from rotor_core.kernels.jit import COMPILED
from rotor_dynamics import memory
from rotor_dynamics.engine import Engine
from rotor_dynamics.model.body import WORLD, Body
from rotor_dynamics.model.cable import Cable
from rotor_dynamics.model.contact import Contact, ContactLaw, Probe, Surface
from rotor_dynamics.model.joint import Joint
from rotor_dynamics.model.solid import RigidContact
from rotor_dynamics.model.system import Rotor, System
from rotor_dynamics.sensitivities.backward.adjoint import AdjointFlights
from rotor_dynamics.sensitivities.coordinates import indices
from rotor_dynamics.sensitivities.linearization import linearize, linearize_steps

pytestmark = pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels")


def told(begin, n_steps, with_number, of_number):
    """Derivative of one number of the first body after some steps with one at the start, and the doubt."""
    engine = begin(0.0)
    seed = engine.world.start[0, with_number : with_number + 1], [1.0]
    changes = varied(engine, seed)
    changes.run(n_steps)
    return changes.changes()[0].start[0, of_number], changes.doubt


def both_sides(begin, n_steps, of_number, step):
    """Differences to both sides."""

    def end(change):
        engine = begin(change)
        engine.run(n_steps)
        return engine.world.start[0, of_number]

    return (end(step) - end(0.0)) / step, (end(0.0) - end(-step)) / step


def thrown_on_a_cable(speed_change, stiffness=0.0, damping=0.0):
    """It comes to its length after 100 steps, to the rounding of places; no gravity."""
    cable = Cable(WORLD, 0, 1.0, r_a=np.zeros(3), stiffness=stiffness, damping=damping)
    engine = Engine(System((Body("load", 0.7),), (cable,), gravity=0.0))
    engine.set_state(state((0.0, 0.0, 0.9), v=(0.0, 0.0, 1.0 + speed_change))[None])
    return engine


@pytest.mark.parametrize("elastic", [False, True])
def test_a_cable_that_comes_to_its_length_just_where_a_step_ends(elastic):
    """It stops there: where it is does not depend on how fast it came. An elastic one with damping gives way."""
    law = {"stiffness": 300.0, "damping": 2.0} if elastic else {}

    def begin(change):
        return thrown_on_a_cable(change, **law)

    for number in (memory.P + 2, memory.V + 2):
        found, doubt = told(begin, 300, memory.V + 2, number)
        above, below = both_sides(begin, 300, number, 1e-6)
        assert doubt is None
        assert found == pytest.approx(above, abs=1e-4) and found == pytest.approx(below, abs=1e-4)


@pytest.mark.parametrize(("height", "doubted"), [(0.2, True), (0.2 + 5e-10, True), (0.2003, False)])
def test_bodies_that_meet_just_where_a_step_ends_are_doubted(height, doubted):
    """A ball of 0.1 m comes at 1 m/s; beside it the derivative is -e (t - T) - e u dT/dv, u = 1, e = 0.5."""
    law = RigidContact(friction=0.5, restitution=0.5)
    rows = [state((0.0, 0.0, height), v=(0.0, 0.0, -1.0))]
    engine = made([ball_body()], [GROUND, ball(0)], rows, law, gravity=0.0)
    changes = varied(engine, (engine.world.start[0, memory.V + 2 : memory.V + 3], [1.0]))
    changes.run(400)
    assert (changes.doubt is not None) == doubted
    if doubted:
        assert "just where a step ends" in str(changes.doubt)
    else:
        way = height - 0.1
        closed = -0.5 * (0.4 - way) - 0.5 * way
        assert changes.changes()[0].start[0, memory.P + 2] == pytest.approx(closed, abs=1e-9)


def test_an_event_whose_instant_rounds_to_the_end_of_a_step_is_doubted():
    """At 1e4 s a time has steps of 2e-12 s: a cable 1e-12 m longer than the way there is met at the end of a step."""

    def begin(length):
        cable = Cable(WORLD, 0, length, r_a=np.zeros(3))
        engine = Engine(System((Body("load", 0.7),), (cable,), gravity=0.0))
        engine.set_state(state((0.0, 0.05, 0.0), v=(0.0, 0.3, 3.0))[None], time=1e4)
        return engine

    free = begin(1e4)
    free.run(20)
    engine = begin(float(np.linalg.norm(free.world.start[0, :3])) - 1e-12)
    changes = varied(engine, (engine.world.start[0, memory.V + 2 : memory.V + 3], [1.0]))
    changes.run(50)
    assert changes.doubt is not None and "just where a step ends" in str(changes.doubt)


def test_friction_that_begins_from_exact_rest():
    """A compliant contact at no speed: in its first step its spring admits nothing, for small speeds either."""
    surface = Surface(WORLD, np.array([0.0, 0.0, -1.0]), half_size=np.array([5.0, 5.0, 1.0]))
    law = ContactLaw(2e4, 0.5, 0.5, 0.5)
    system = System((Body("load", 0.4),), contacts=(Contact(Probe(0, np.zeros(3)), surface, law),))

    def begin(speed):
        engine = Engine(system, tolerance=1e9)  # no step is cut
        engine.set_state(state((0.0, 0.0, -0.4 * 9.81 / 2e4), v=(speed, 0.0, 0.0))[None])
        return engine

    found, _ = told(begin, 5, memory.V, memory.V)
    for side in both_sides(begin, 5, memory.V, 1e-6):
        assert found == pytest.approx(side, abs=1e-4)


def test_a_motor_beyond_its_largest_effort_does_not_follow():
    arm = Joint(0, 1, np.array([0.0, 1.0, 0.0]), p=np.array([0.1, 0.0, 0.0]), effort_limit=2.0)
    bodies = (Body("base", 1.0, 0.1 * np.eye(3)), Body("arm", 0.4, 0.01 * np.eye(3)))
    system = System(bodies, joints=(arm,), gravity=0.0)
    rows = np.array([state(), state((0.1, 0.0, 0.0))])
    for effort, follows in ((1.0, True), (3.0, False)):
        engine = Engine(system)
        engine.set_state(rows, joints=np.zeros((1, 2)))
        engine.joints.act(np.array([effort]))
        assert np.any(linearize(engine).input[:, -1]) == follows
        assert np.any(linearize_steps(engine, 50).input[:, -1]) == follows


def test_what_is_not_finite_is_no_derivative(monkeypatch):
    """Rather than to be handed on in silence."""
    from rotor_dynamics.sensitivities import propagation

    engine = thrown_on_a_cable(0.0)
    monkeypatch.setattr(
        propagation.Variations, "jacobian", lambda self, read: np.full((12, 12), np.nan)
    )
    with pytest.raises(ContractError, match="not finite"):
        linearize_steps(engine, 1)


def test_the_lag_of_one_of_two_rotors_that_share_it():
    """The engine computes one fading for both: forward it computes two where one lag varies, backward it refuses."""
    body = Body("body", 0.4, np.diag([1e-3, 2e-3, 3e-3]))

    def flights(lag):
        rotors = tuple(
            Rotor(0, hub=np.array([x, 0.0, 0.0]), thrust=1e-6, lag=tau)
            for x, tau in ((0.1, 0.05), (-0.1, lag))
        )

        def turn(engine):
            engine.rotors.start(np.full(2, 400.0))

        return AdjointFlights(System((body,), rotors=rotors), state()[None], steps=5, prepare=turn)

    def pitch_rate(lag):
        engine = flights(lag).engine
        engine.rotors.act(np.full(2, 500.0))
        engine.run(100)
        return engine.world.start[0, memory.OMEGA + 1]

    shared, step = flights(0.05), 1e-6
    engine = shared.engine
    seed = indices(engine, engine.world.rotors[1:2, memory.LAG_RATE]), np.array([-400.0])
    engine.rotors.act(np.full(2, 500.0))
    changes = varied(engine, (engine.world.rotors[1:2, memory.LAG_RATE], [-400.0]))
    changes.run(100)
    found = changes.changes()[0].start[0, memory.OMEGA + 1]
    slope = (pitch_rate(0.05 + step) - pitch_rate(0.05 - step)) / (2.0 * step)
    assert abs(slope) > 1.0 and found == pytest.approx(slope, rel=1e-6)
    flight = flights(0.05).fly(np.full((20, 2), 500.0))
    with pytest.raises(ContractError, match="share one"):
        flight.gradient(np.ones(flight.states.shape), seeds=[seed])
