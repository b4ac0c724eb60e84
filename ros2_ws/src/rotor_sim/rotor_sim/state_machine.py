"""State machine of a simulation and its allowed transitions: stopped, playing, paused, quitting.

The states, transitions and result codes of simulation_interfaces (SimulationState.msg, Result.msg,
SetSimulationState.srv), without ROS. Its two files disagree on STOPPED -> PAUSED; it is allowed here,
because stepping from the start needs it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class State(IntEnum):
    """SimulationState.msg; STOPPED is reset and waiting."""

    STOPPED = 0
    PLAYING = 1
    PAUSED = 2
    QUITTING = 3


class Code(IntEnum):
    """Result.msg, and the additional codes of SetSimulationState.srv."""

    FEATURE_UNSUPPORTED = 0
    OK = 1
    NOT_FOUND = 2
    INCORRECT_STATE = 3
    OPERATION_FAILED = 4
    ALREADY_IN_TARGET_STATE = 101
    STATE_TRANSITION_ERROR = 102
    INCORRECT_TRANSITION = 103


class Result(NamedTuple):
    """Outcome of a request, for services of every kind."""

    code: Code
    text: str = ""

    @property
    def ok(self) -> bool:
        """True if the request was carried out, or the state was already as requested."""
        return self.code in (Code.OK, Code.ALREADY_IN_TARGET_STATE)


class StateMachine:
    """The state of one simulation and the requests that wait for its loop.

    The loop asks :meth:`may_advance` before each control period and calls :meth:`advanced` after it.

    Attributes:
        state: of the simulation.
        steps_left: control periods that a paused simulation still has to do.
        failure: why it cannot go on until it is reset or put elsewhere; empty while it can.
    """

    def __init__(self, *, paused: bool) -> None:
        self.state = State.PAUSED if paused else State.PLAYING
        self.steps_left = 0
        self.failure = ""

    def request(self, target: int) -> Result:
        """Change the state; a target of STOPPED asks the caller to reset the simulation afterwards."""
        if target not in list(State):
            known = ", ".join(f"{s.value} {s.name}" for s in State)
            return Result(Code.INCORRECT_TRANSITION, f"there is no state {target}; known: {known}.")
        wanted = State(target)
        if self.state is State.QUITTING:
            return Result(Code.INCORRECT_TRANSITION, "the simulation is quitting.")
        if wanted is State.PLAYING and self.failure:
            return Result(Code.STATE_TRANSITION_ERROR, f"{self.failure} Reset it first.")
        if wanted is self.state and not self.steps_left:  # pausing ends steps that are under way
            return Result(Code.ALREADY_IN_TARGET_STATE, f"it is {wanted.name.lower()} already.")
        self.state = wanted
        self.steps_left = 0
        return Result(Code.OK)

    def request_steps(self, n: int) -> Result:
        """Let a paused simulation do ``n`` control periods."""
        if self.state is not State.PAUSED:
            text = f"stepping needs a paused simulation; it is {self.state.name.lower()}."
            return Result(Code.OPERATION_FAILED, text)
        if n < 1:
            return Result(Code.OPERATION_FAILED, f"steps must be at least 1, got {n}.")
        if self.steps_left:
            return Result(Code.OPERATION_FAILED, f"{self.steps_left} steps are still to be done.")
        if self.failure:
            return Result(Code.OPERATION_FAILED, f"{self.failure} Reset it first.")
        self.steps_left = n
        return Result(Code.OK)

    @property
    def may_set_state(self) -> Result:
        """OK if entities may be moved elsewhere, else the reason: not while the simulation plays or steps."""
        if self.state not in (State.PAUSED, State.STOPPED) or self.steps_left:
            text = f"pause or stop the simulation first; it is {self.state.name.lower()}."
            return Result(Code.INCORRECT_STATE, text)
        return Result(Code.OK)

    @property
    def may_advance(self) -> bool:
        """True if the next control period is wanted."""
        if self.failure:
            return False
        return self.state is State.PLAYING or (self.state is State.PAUSED and self.steps_left > 0)

    @property
    def is_stepping(self) -> bool:
        """True if single steps of a paused simulation are under way."""
        return self.state is State.PAUSED and self.steps_left > 0

    def advanced(self) -> None:
        """A control period has been done."""
        if self.steps_left:
            self.steps_left -= 1

    def failed(self, why: str) -> None:
        """The simulation stands until it is reset or put elsewhere."""
        self.failure = why
        self.steps_left = 0

    def renewed(self) -> None:
        """The simulation was reset or put elsewhere."""
        self.failure = ""
        self.steps_left = 0
