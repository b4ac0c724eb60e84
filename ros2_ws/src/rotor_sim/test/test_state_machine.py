"""The states of simulation_interfaces, without ROS."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rotor_sim.state_machine import Code, State, StateMachine


@pytest.mark.parametrize("start", [s for s in State if s is not State.QUITTING])
@pytest.mark.parametrize("target", list(State))
def test_every_transition(start, target):
    """All are allowed but leaving QUITTING; being there already is said so."""
    machine = StateMachine(paused=False)
    machine.request(start)
    result = machine.request(target)
    assert result.code is (Code.ALREADY_IN_TARGET_STATE if start is target else Code.OK)
    assert machine.state is target


def test_quitting_is_final():
    machine = StateMachine(paused=True)
    assert machine.request(State.QUITTING).ok
    for target in State:
        assert machine.request(target).code is Code.INCORRECT_TRANSITION
    assert not machine.may_advance


@pytest.mark.parametrize("target", [-1, 4, 5, 255])
def test_unknown_states_are_named(target):
    result = StateMachine(paused=True).request(target)
    assert result.code is Code.INCORRECT_TRANSITION
    assert str(target) in result.text and "1 PLAYING" in result.text


def test_a_failure_has_to_be_reset():
    machine = StateMachine(paused=False)
    machine.failed("it broke.")
    assert not machine.may_advance
    machine.request(State.PAUSED)
    assert machine.request(State.PLAYING).code is Code.STATE_TRANSITION_ERROR
    assert machine.request_steps(1).code is Code.OPERATION_FAILED
    machine.renewed()
    assert machine.request(State.PLAYING).code is Code.OK


def test_a_failed_simulation_does_not_say_that_it_plays():
    machine = StateMachine(paused=False)
    machine.failed("it broke.")
    assert machine.request(State.PLAYING).code is Code.STATE_TRANSITION_ERROR


def test_pause_ends_steps():
    machine = StateMachine(paused=True)
    machine.request_steps(100)
    assert machine.request(State.PAUSED).code is Code.OK
    assert not machine.may_advance


def test_steps():
    machine = StateMachine(paused=True)
    assert not machine.may_advance
    assert machine.request_steps(0).code is Code.OPERATION_FAILED
    assert machine.request_steps(3).ok
    assert machine.request_steps(1).code is Code.OPERATION_FAILED  # one request at a time
    assert not machine.may_set_state.ok
    for _ in range(3):
        assert machine.may_advance and machine.is_stepping
        machine.advanced()
    assert not machine.may_advance and machine.may_set_state.ok


class AnyOrder(RuleBasedStateMachine):
    """The machine stays consistent, whatever is asked in whatever order."""

    def __init__(self):
        super().__init__()
        self.machine = StateMachine(paused=False)
        self.done = 0

    @rule(wanted=st.integers(-2, 6))
    def change(self, wanted):
        before = self.machine.state
        result = self.machine.request(wanted)
        if result.code is Code.OK:
            assert self.machine.state == wanted
        else:
            assert self.machine.state is before and result.text

    @rule(n=st.integers(-1, 4))
    def step(self, n):
        before, left, failed = self.machine.state, self.machine.steps_left, self.machine.failure
        result = self.machine.request_steps(n)
        assert result.ok == (before is State.PAUSED and n > 0 and not left and not failed)
        assert self.machine.steps_left == (n if result.ok else left)

    @precondition(lambda self: self.machine.may_advance)
    @rule()
    def advance(self):
        left = self.machine.steps_left
        self.machine.advanced()
        assert self.machine.steps_left == max(left - 1, 0)

    @rule()
    def fail(self):
        self.machine.failed("why")

    @rule()
    def renew(self):
        self.machine.renewed()

    @invariant()
    def consistent(self):
        m = self.machine
        assert m.steps_left >= 0
        assert not (m.steps_left and m.state is not State.PAUSED)
        assert not (m.may_advance and (m.failure or m.state in (State.STOPPED, State.QUITTING)))
        assert not (m.may_set_state.ok and m.may_advance)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, deadline=None)
