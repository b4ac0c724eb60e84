"""Autopilots in the loop as the law of a team: one link for each of its vehicles."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np

from rotor_adapters.counterparts import check_multirotors, tell
from rotor_adapters.sitl.fleet import Fleet
from rotor_adapters.sitl.link import Link
from rotor_adapters.sitl.motors import QUAD_PLUS, QUAD_X, Frame, Motors
from rotor_adapters.sitl.pace import Pace
from rotor_adapters.sitl.senses import Senses
from rotor_core.config.counterparts.autopilots import Autopilot, OnBoard
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team
from rotor_core.config.yaml.units import SAME_TIME
from rotor_core.errors import ConfigError, ContractError
from rotor_core.state import FULL_STATE, MOTION

SPIN = 5e-4
"""An answer of a single autopilot is looked for without sleeping this long, s."""


class SitlLaw:
    """The vehicles of a team, each under an autopilot of its own.

    At the first call the vehicles, those of other teams with them, are held where they are until their autopilots are
    ready; that takes no simulated time. An autopilot that is lost is told once; the rotors of its vehicle stop until it
    answers again, and the flight goes on at the pace of the wall, so that it can be started again.

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
        fleet: with the laws of other teams of the flight.
        control, period: settings, and control period, s.
        senses: of the vehicles.
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
        self.team, self.time, self.control = team, 0.0, control
        self.is_stopped: Callable[[], bool] = lambda: False
        model = scenario.model
        rows = [model.index(name) for name in team.vehicles]
        self._motors = [Motors(model.vehicles[row], frames) for row in rows]
        self.links = [
            make(control.instance + row, motors)
            for row, motors in zip(rows, self._motors, strict=True)
        ]
        for link in self.links:  # several share the cores with us
            link.spin_s = SPIN if len(self.links) == 1 and (os.cpu_count() or 1) > 1 else 0.0
        self.senses = Senses(scenario, rows, on_board)
        self.period = scenario.time.control_s
        self.fleet = Fleet(self)
        self._pace = Pace(self.period)
        self._is_open = self._has_started = self._is_asked = False
        self._lost: set[int] = set()
        self._k, self._asked_at = 0, 0.0

    def join(self, other: SitlLaw) -> None:
        """Fly beside the law of another team from the start on."""
        self.fleet = other.fleet
        self.fleet.add(self)

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
        if not self._has_started and not self.fleet.start(states):
            out[:] = 0.0
            return
        if not self._is_asked:
            self.fleet.ask(states)
        self._is_asked = False
        for i, link in enumerate(self.links):
            # one that is lost, or does not wait for us, has as long as the pace of the wall leaves it; one that is lost
            # and heard again as long as in flight: it may need more than a period for every answer
            waits = link.in_lockstep and (i not in self._lost or link.answers_each)
            patience = self.control.patience_s if waits else self.period
            throttles = link.wait(patience, self.is_stopped)
            if waits and throttles is None:
                link.answers_each = False
            self._note(i, throttles)
            if throttles is None:
                out[i] = 0.0
            else:
                self._motors[i].wrench(throttles, out[i])

    def _note(self, i: int, throttles: Sequence[float] | None) -> None:
        """Tell of an autopilot that is lost, or there again."""
        link, name = self.links[i], self.team.vehicles[i]
        for text in link.news:
            tell(f"{name}: {link.kind}: {text}, at t = {self.time:.3f} s.")
        link.news.clear()
        if throttles is None and i not in self._lost and not self.is_stopped():
            self._lost.add(i)
            why = (
                f"has not answered for {self.control.patience_s:g} s"
                if link.connected
                else "is gone"
            )
            tell(
                f"{name}: {link.kind} {why}, at t = {self.time:.3f} s. Its rotors stop until it answers again; "
                "everything else goes on, at the pace of the wall clock."
            )
            self._pace.begin()
        elif throttles is not None and i in self._lost:
            self._lost.discard(i)
            tell(f"{name}: {link.kind} answers again, at t = {self.time:.3f} s.")

    def ask(self, states: np.ndarray) -> None:
        """Send the autopilots what their vehicles sense in this period; the next call waits for the answers."""
        if self._lost or not all(link.in_lockstep for link in self.links):
            self._pace.keep()
        if self._k == 0:
            # until now they were held: rotors are at speed with the first command, and nobody falls
            states = states.copy()
            states[:, FULL_STATE.stop :] = 0.0
        samples = self.senses.sample(states, self._k, self.time - self._asked_at)
        self._k, self._asked_at = self._k + 1, self.time
        for i, link in enumerate(self.links):
            if i in self._lost:
                link.poll()
            link.ask(samples[i])
        self._is_asked = True

    def open(self) -> None:
        """Listen for all autopilots.

        Raises:
            ConfigError: somebody else listens there.
        """
        if self._is_open:
            return
        for link in self.links:
            link.open()
        self._is_open = True
        places = ", ".join(
            f"{name} at {link.where}"
            for name, link in zip(self.team.vehicles, self.links, strict=True)
        )
        tell(f"waiting for {self.links[0].kind}: {places}")

    def begin(self) -> None:
        """All are ready: the flight begins."""
        self.senses.reset()  # every flight senses the same, however long it was waited
        self._has_started, self._is_asked, self._k = True, False, 0
        self._fly(True)
        self._lost.clear()
        self._pace.begin()

    def reset(self) -> None:
        """Hold the vehicles again at the next call; connections and clocks of the autopilots go on."""
        self._has_started = False
        self._fly(False)

    def _fly(self, flies: bool) -> None:
        for link in self.links:
            link.in_flight = flies

    def close(self) -> None:
        """Let go of all autopilots."""
        for link in self.links:
            link.close()
        self._fly(False)
        self._is_open = self._has_started = False


def _check(scenario: Scenario, team: Team, on_board: OnBoard | None) -> None:
    """Refuse what an autopilot cannot fly, or would fly in silence on other things than it seems.

    Raises:
        ConfigError: with the key.
    """
    kind = scenario.controller.type
    check_multirotors(scenario, team)
    if scenario.mission is not None:
        raise ConfigError(
            f"mission: must be left out: under {kind} its own missions and ground stations say where to fly."
        )
    if not scenario.sensing.is_ideal:
        raise ConfigError(
            f"sensing: noise, rate_hz, delay_s and dropouts are those of our controllers. Under {kind} the sensors are "
            "controller.on_board, or the autopilot's own parameters."
        )
    if any(c.attitude_bias_rad or c.velocity_gain for c in scenario.plant):
        raise ConfigError(
            "plant: attitude_bias_rad and velocity_gain are errors of what our controllers are told. Under "
            f"{kind} the errors of sensors are in controller.on_board."
        )
    wind = scenario.environment.wind
    moves = wind.gusts or wind.turbulence or not wind.is_uniform or scenario.environment.wakes
    if on_board is not None and on_board.pitot and moves:
        raise ConfigError(
            "controller.on_board.pitot: feels the steady wind alone. Leave it out, or all other motion of the air."
        )
    microseconds = 1e6 * scenario.time.control_s
    if abs(microseconds - round(microseconds)) > SAME_TIME:
        raise ConfigError(
            "time.control_s: must be whole microseconds, as the clocks of autopilots are, got "
            f"{scenario.time.control_s:g} s."
        )
