"""Betaflight in the loop: the UDP packets of its SITL target, by the clock of the wall.

It stretches its clock to ours, but does not wait for it: two flights are never the same to the bit. Source: Betaflight,
src/platform/SIMULATOR (target.h, sitl.c).
"""

from __future__ import annotations

import socket
import struct
import time as wall
from collections.abc import Sequence
from math import isfinite

import numpy as np

from rotor_adapters.frames import ATTITUDE, swap_attitude
from rotor_adapters.sitl.datagrams import DatagramLink
from rotor_adapters.sitl.law import SitlLaw
from rotor_adapters.sitl.link import LAST_PORT, NO_ADDRESS, said_by
from rotor_adapters.sitl.motors import QUAD_X, Frame, Motors
from rotor_adapters.sitl.senses import Sample
from rotor_core.config.counterparts.autopilots import BetaflightControl
from rotor_core.config.environment import Environment
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team
from rotor_core.errors import ConfigError
from rotor_core.extras import explained

STATE = struct.Struct("<18d")
"""Time s, body rate rad/s, acceleration m/s^2, attitude, velocity m/s, longitude, latitude, height, pressure Pa."""

STICKS = struct.Struct("<d16H")
MOTORS = struct.Struct("<4f")
CENTRE_US = 1500
PORTS_PER_INSTANCE = 10
MOST_MOTORS = 4

BETAFLIGHT_X: Frame = (QUAD_X[3], QUAD_X[0], QUAD_X[1], QUAD_X[2])
"""Its own numbering, in which newer versions send their motors; those before send them as ArduPilot has them."""


class BetaflightLink(DatagramLink):
    """A connection to one Betaflight.

    Args:
        control: keys of all.
        port: to which it sends its motors.
        period: of control, s.
        environment: where it flies.
    """

    kind = "Betaflight"

    def __init__(
        self, control: BetaflightControl, port: int, period: float, environment: Environment
    ) -> None:
        super().__init__(period, control.listen, port)
        with explained():
            from rotor_sim.sensing.earth import Earth

        self._earth = Earth(environment)
        self._origin = self._earth.place(np.zeros(3))
        self._control = control
        self.in_lockstep = False
        self._last: Sequence[float] | None = None
        self._heard = 0.0

    def open(self) -> None:
        """Listen."""
        last, host = self._port + 2, self._control.host
        if last > LAST_PORT:
            raise ConfigError(
                f"controller.port {self._port}: Betaflight listens on the two after it, to {last}. Choose a lower one."
            )
        try:
            socket.getaddrinfo(host, last, socket.AF_INET, socket.SOCK_DGRAM)
        except NO_ADDRESS as error:
            raise ConfigError(
                f"controller.host {host}: is not known ({said_by(error)})."
            ) from error
        super().open()
        self._heard = wall.monotonic()
        self.news.append(
            "is not in lockstep: it flies by the clock of the wall, and no two flights are the same to the bit"
        )

    def ask(self, sample: Sample) -> None:
        """Send a state, and what the remote control says."""
        if self._socket is None:
            return
        self.clock += 1
        time = 1e-6 * self.clock_us
        self.send(STATE.pack(time, *self._state(sample)), (self._control.host, self._port + 1))
        said = [s for s in self._control.sticks if s.from_s <= time]
        if said:
            pulses = said[-1].channels_us
            channels = [*pulses, *[CENTRE_US] * (16 - len(pulses))][:16]
            self.send(STICKS.pack(time, *channels), (self._control.host, self._port + 2))

    def _state(self, sample: Sample) -> list[float]:
        """Numbers of a state packet behind its time.

        It turns them into forward-left-up by signs: all of an acceleration, of a body rate the pitch. Builds before its
        bridge to Gazebo turn the yaw too, and take the attitude of autopilots. Those with it keep the yaw, take the
        attitude of ours with y and z negated, and mirror longitude and latitude back at the origin.
        """
        s = sample.seen
        rates, force = list(s[3:6]), [-s[0], s[1], s[2]]
        q = np.array(s[ATTITUDE])
        place = self._earth.place(sample.position)
        latitude, longitude = float(place[0]), float(place[1])
        if self._control.bridge == "gazebo":
            rates[2] = -rates[2]
            q = swap_attitude(q) * (1.0, 1.0, -1.0, -1.0)
            latitude, longitude = 2.0 * self._origin[:2] - place[:2]
        north, east, down = s[9:12]
        pressure = self._earth.pressure(float(sample.position[2]))
        return [
            *rates, *force, *q, east, north, -down, longitude, latitude, float(place[2]), pressure
        ]  # fmt: skip

    def answer(self, patience: float) -> Sequence[float] | None:
        """The newest throttles; the last ones where none come in time; None where none came for long."""
        if self._socket is None:
            return None
        wait = min(self._control.answer_s, patience) if self.connected else 0.0
        while True:
            come = self.next_datagram(wait)
            if come is None:
                break
            wait = 0.0 if self._take(come[0]) else wait
        if wall.monotonic() - self._heard > self._control.patience_s:
            self.connected = self.armed = False
            self._last = None
        return self._last

    def _take(self, data: bytes) -> bool:
        """Take up a packet of motors; False where it is none."""
        throttles = MOTORS.unpack(data) if len(data) == MOTORS.size else ()
        if not throttles or not all(isfinite(u) for u in throttles):
            self.tell_malformed(f"{len(data)} bytes are no packet of four motors; such are ignored")
            return False
        self._last, self._heard = throttles, wall.monotonic()
        self.connected, self.armed = True, any(u > 0.0 for u in throttles)
        return True


def betaflight_law(scenario: Scenario, team: Team) -> SitlLaw:
    """The law of a team whose vehicles are flown by Betaflight.

    Raises:
        ConfigError: a vehicle has other than four rotors, which is what its packet of motors holds.
    """
    control = scenario.controller
    assert isinstance(control, BetaflightControl)
    period, environment = scenario.time.control_s, scenario.environment

    def make(instance: int, motors: Motors) -> BetaflightLink:
        if motors.most > MOST_MOTORS:
            raise ConfigError(
                f"controller.type: the packet of Betaflight holds {MOST_MOTORS} motors, {motors.most} are asked for."
            )
        port = control.port + PORTS_PER_INSTANCE * instance
        return BetaflightLink(control, port, period, environment)

    frames = (QUAD_X,) if control.bridge == "legacy" else (BETAFLIGHT_X,)
    return SitlLaw(scenario, team, make, control.on_board, frames)
