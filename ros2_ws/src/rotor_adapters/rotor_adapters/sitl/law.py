"""Autopilots in the loop as the law of a team: one link for each of its vehicles."""

from __future__ import annotations

import os
import sys
import time as wall
from collections.abc import Callable, Sequence

import numpy as np

from rotor_adapters.sitl.link import Link
from rotor_adapters.sitl.motors import QUAD_PLUS, QUAD_X, Frame, Motors
from rotor_adapters.sitl.senses import Senses
from rotor_core.config.counterparts.autopilots import Autopilot, OnBoard
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team
from rotor_core.errors import ConfigError, ContractError
from rotor_core.state import MOTION, State

SLICE = 0.2
"""Longest wait before looking whether everything should end, s."""

SPIN = 5e-4
"""An answer of a single autopilot is looked for without sleeping this long, s."""


def tell(text: str) -> None:
    """Print a line for people."""
    print(text, file=sys.stderr, flush=True)


class SitlLaw:
    """The vehicles of a team, each under an autopilot of its own.

    At the first call the vehicles are held where they are until their autopilots are ready; that takes no simulated
    time. An autopilot that is lost is told once; the rotors of its vehicle stop until it answers again, and
    the flight goes on at the pace of the wall, so that it can be started again.

    Args:
        scenario: whose controller is an :class:`~rotor_core.config.counterparts.autopilots.Autopilot`.
        team: whose law it is.
        make: makes the link of a vehicle from the number of its instance and its motors.
        on_board: sensors for the autopilots; None: they get the truth, and make their own errors.
        frames: of quadrotors that the autopilot knows.

    Attributes:
        team: whose law it is.
        time: s since the flight began; set before each call.
        links: of the vehicles.
        is_stopped: asked during waits whether everything should end.

    Raises:
        ConfigError: the scenario is not one for autopilots.
    """

    def __init__(
        self,
        scenario: Scenario,
        team: Team,
        make: Callable[[int, Motors], Link],
        on_board: OnBoard | None,
        frames: Sequence[Frame] = (QUAD_X, QUAD_PLUS),
    ) -> None:
        control = scenario.controller
        assert isinstance(control, Autopilot)
        _check(scenario, team, on_board)
        self.team, self.time, self._control = team, 0.0, control
        self.is_stopped: Callable[[], bool] = lambda: False
        model = scenario.model
        rows = [model.index(name) for name in team.vehicles]
        self._motors = [Motors(model.vehicles[row], control.rotors, frames) for row in rows]
        self.links = [
            make(control.instance + row, motors)
            for row, motors in zip(rows, self._motors, strict=True)
        ]
        for link in self.links:  # several share the cores with us
            link.spin_s = SPIN if len(self.links) == 1 and (os.cpu_count() or 1) > 1 else 0.0
        self._senses = Senses(scenario, rows, on_board)
        self._period = scenario.time.control_s
        self._rows = rows
        self._opened = self._started = False
        self._lost: set[int] = set()
        self._k, self._next = 0, 0.0

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the commands (n, 4) of the team for true ``states`` (N, 19); the reference is not told.

        Raises:
            ConfigError: somebody else listens there, or the autopilots do not come.
            ContractError: the states come without accelerations.
        """
        if states.shape[1] < MOTION:
            raise ContractError(
                f"controller: autopilots feel accelerations: states need {MOTION} columns, got {states.shape[1]}."
            )
        if not self._started and not self._start(states):
            out[:] = 0.0
            return
        if self._lost or not all(link.in_lockstep for link in self.links):
            self._keep_pace()
        samples = self._senses.sample(states, self._k)
        self._k += 1
        for i, link in enumerate(self.links):
            if i in self._lost:
                link.poll()
            link.ask(samples[i])
        for i, link in enumerate(self.links):
            # one that is lost has as long as the pace of the wall leaves it
            patience = self._period if i in self._lost else self._control.patience_s
            throttles = self._wait(link, patience)
            self._note(i, throttles)
            if throttles is None:
                out[i] = 0.0
            else:
                self._motors[i].wrench(throttles, out[i])

    def _wait(self, link: Link, patience: float) -> Sequence[float] | None:
        """An answer within a patience, looked for in slices."""
        end = wall.monotonic() + patience
        while True:
            left = end - wall.monotonic()
            answer = link.answer(max(0.0, min(SLICE, left)))
            if answer is not None or left <= SLICE or not link.connected or self.is_stopped():
                return answer

    def _note(self, i: int, throttles: Sequence[float] | None) -> None:
        """Tell of an autopilot that is lost, or there again."""
        link, name = self.links[i], self.team.vehicles[i]
        for text in link.news:
            tell(f"{name}: {link.kind}: {text}, at t = {self.time:.3f} s.")
        link.news.clear()
        if throttles is None and i not in self._lost and not self.is_stopped():
            self._lost.add(i)
            why = (
                f"has not answered for {self._control.patience_s:g} s"
                if link.connected
                else "is gone"
            )
            tell(
                f"{name}: {link.kind} {why}, at t = {self.time:.3f} s. Its rotors stop until it answers again; "
                "everything else goes on, at the pace of the wall clock."
            )
            self._next = wall.monotonic()
        elif throttles is not None and i in self._lost:
            self._lost.discard(i)
            tell(f"{name}: {link.kind} answers again, at t = {self.time:.3f} s.")

    def _keep_pace(self) -> None:
        """Wait until the wall clock has caught up; do not make up for what was late by more than a slice."""
        now = wall.monotonic()
        self._next = max(self._next, now - SLICE)
        if self._next > now:
            wall.sleep(self._next - now)
        self._next += self._period

    # --- the start ----------------------------------------------------------------------------------

    def _start(self, states: np.ndarray) -> bool:
        """Hold the vehicles until their autopilots are ready; False if everything should end meanwhile.

        Raises:
            ConfigError: somebody else listens there, or the autopilots do not come in time.
        """
        if not self._opened:
            self._open()
        held = states.copy()
        still = State(held)
        still.velocity[:] = still.body_rate[:] = 0.0
        held[:, 13:] = 0.0
        began = self._next = wall.monotonic()
        steps = [0] * len(self.links)
        told: dict[int, str] = {}
        k = 0
        while True:
            waiting = [i for i in range(len(self.links)) if not self._is_ready(i, steps[i])]
            for i, link in enumerate(self.links):
                self._tell_step(i, link, steps[i], told)
            if not waiting:
                break
            if self.is_stopped():
                return False
            if wall.monotonic() - began > self._control.boot_s:
                missing = self._missing(waiting, steps)
                self.close()
                raise ConfigError(missing)
            self._keep_pace()
            samples = self._senses.sample(held, k)
            k += 1
            for i in waiting:
                self.links[i].poll()
                self.links[i].ask(samples[i])
            for i in waiting:
                steps[i] += self.links[i].answer(self._period) is not None
        self._senses.reset()  # every flight senses the same, however long it was waited
        self._started, self._k = True, 0
        self._lost.clear()
        return True

    def _open(self) -> None:
        """Listen for all autopilots."""
        try:
            for link in self.links:
                link.open()
        except ConfigError:
            self.close()
            raise
        self._opened = True
        first = self.links[0]
        tell(
            f"waiting for {first.kind}: "
            + ", ".join(
                f"{n} at {k.where}" for n, k in zip(self.team.vehicles, self.links, strict=True)
            )
        )

    def _is_ready(self, i: int, answers: int) -> bool:
        link = self.links[i]
        return answers > 0 and (link.armed or self._control.start == "answering")

    def _tell_step(self, i: int, link: Link, answers: int, told: dict[int, str]) -> None:
        """Tell of every step to being ready, once."""
        for text in link.news:
            tell(f"{self.team.vehicles[i]}: {link.kind}: {text}.")
        link.news.clear()
        step = _step(link, answers)
        if step and told.get(i) != step:
            told[i] = step
            more = ""
            if answers and not link.armed and self._control.start == "armed":
                more = "; arm it, then the flight begins"
            tell(f"{self.team.vehicles[i]}: {link.kind} {step}{more}")

    def _missing(self, waiting: list[int], steps: list[int]) -> str:
        """What has not happened in time, and the remedy."""
        each = ", ".join(
            f"{self.team.vehicles[i]} at {self.links[i].where} "
            + (_step(self.links[i], steps[i]) or "was not heard of")
            for i in waiting
        )
        return (
            f"controller: after boot_s of {self._control.boot_s:g} s the autopilots are not ready: {each}. Start and "
            "arm them, or write start: answering."
        )

    def reset(self) -> None:
        """Hold the vehicles again at the next call; connections and clocks of the autopilots go on."""
        self._started = False

    def close(self) -> None:
        """Let go of all autopilots."""
        for link in self.links:
            link.close()
        self._opened = self._started = False


def _step(link: Link, answers: int) -> str:
    """How far an autopilot has come."""
    if not link.connected:
        return ""
    if not answers:
        return "is connected, and starts"
    return "answers, armed" if link.armed else "answers, not armed"


def _check(scenario: Scenario, team: Team, on_board: OnBoard | None) -> None:
    """Refuse what an autopilot cannot fly, or would fly in silence on other things than it seems.

    Raises:
        ConfigError: with the key.
    """
    kind = scenario.controller.type
    for name in team.vehicles:
        vehicle = scenario.model.vehicles[scenario.model.index(name)]
        if vehicle.helicopter or vehicle.moving_joints:
            raise ConfigError(
                f"controller.type: {kind} flies multirotors without arms; {name!r} is another vehicle."
            )
    if scenario.mission is not None:
        raise ConfigError(
            f"mission: must be left out: under {kind} its own missions and ground stations say where to fly."
        )
    if not scenario.sensing.is_ideal:
        raise ConfigError(
            f"sensing: noise, rate_hz, delay_s and dropouts are those of our controllers. Under {kind} the sensors are "
            "controller.on_board, or the autopilot's own parameters."
        )
    wind = scenario.environment.wind
    if on_board is not None and on_board.pitot and (wind.gusts or wind.turbulence):
        raise ConfigError(
            "controller.on_board.pitot: feels the steady wind alone. Leave it out, or the gusts and the turbulence."
        )
    if (scenario.time.control_s * 1e6) % 1.0 > 1e-6 and (
        scenario.time.control_s * 1e6
    ) % 1.0 < 1 - 1e-6:
        raise ConfigError(
            f"time.control_s: must be whole microseconds, as the clocks of autopilots are, got "
            f"{scenario.time.control_s:g} s."
        )
