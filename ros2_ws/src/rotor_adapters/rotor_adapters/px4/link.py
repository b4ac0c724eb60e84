"""PX4 in the loop: the simulator's side of MAVLink over TCP, in lockstep.

PX4 connects to us. Each HIL_SENSOR sets its clock; once its outputs exist it answers each with HIL_ACTUATOR_CONTROLS,
and none while it boots. Sources: PX4's simulator_mavlink; the MAVLink messages of its dialect "common".
"""

from __future__ import annotations

import socket
import time as wall
from collections.abc import Sequence
from math import isfinite

import numpy as np

from rotor_adapters.frames import ATTITUDE, PLACE, RATE, VELOCITY
from rotor_adapters.sitl.law import SitlLaw
from rotor_adapters.sitl.link import Link, listening
from rotor_adapters.sitl.motors import Motors
from rotor_adapters.sitl.senses import Sample, due
from rotor_core.config.counterparts.autopilots import STANDARD_GRAVITY, Px4Control
from rotor_core.config.environment import Environment
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team
from rotor_core.extras import ensure, explained

ACCELEROMETER, GYROSCOPE, MAGNETOMETER, DIFFERENTIAL, BAROMETER = 7, 56, 448, 1024, 6656
"""Groups of HIL_SENSOR.fields_updated."""

ARMED, LOCKSTEP = 128, 1
"""Bits of mode and flags of HIL_ACTUATOR_CONTROLS."""

STATE_MESSAGE, SET_INTERVAL = 115, 511
"""HIL_STATE_QUATERNION, and MAV_CMD_SET_MESSAGE_INTERVAL with which PX4 asks for it."""

FIX_3D, SATELLITES = 3, 12
SMALLEST_ACCURACY_CM = 10
"""Accuracy that satellite navigation claims at best."""

HEARTBEAT_S = 1.0
FIRST_US = 1000
"""PX4's own clock when the first HIL_SENSOR has come, us."""

GAUSS, HECTOPASCAL = 1e4, 1e-2
"""Of a tesla, of a pascal."""

UNKNOWN = [float("nan")] * 21
"""Covariance of an odometry that nobody knows."""


class Px4Link(Link):
    """A connection to one PX4.

    Args:
        control: keys of all.
        port: on which it is waited for.
        most: motors that it must have.
        period: of control, s.
        environment: where it flies.
    """

    kind = "PX4"

    def __init__(
        self, control: Px4Control, port: int, most: int, period: float, environment: Environment
    ) -> None:
        super().__init__(period)
        ensure("px4")
        with explained():
            from pymavlink.dialects.v20 import common

            from rotor_sim.sensing import earth

        self._mavlink, self._earth = common, earth.Earth(environment)
        self._pressure_altitude = earth.pressure_altitude
        self._control, self._port, self._most, self._period = control, port, most, period
        self.where = f"TCP {control.listen}:{port}"
        self._server: socket.socket | None = None
        self._connection: socket.socket | None = None
        self._outgoing = bytearray()
        self._forget()

    def _forget(self) -> None:
        """Begin a connection."""
        self.connected = self.armed = False
        self.in_lockstep, self.answers_each = True, False
        self._mav = self._mavlink.MAVLink(self, srcSystem=1, srcComponent=51)
        self._mav.robust_parsing = True
        self._first: int | None = None
        self._offset: int | None = None
        self._state_s = 0.0
        self._pressure, self._temperature = 101325.0, 15.0
        self._last: Sequence[float] | None = None
        self._heard = 0.0
        self._k = self._answered = 0

    def open(self) -> None:
        """Listen."""
        self._server = listening(socket.SOCK_STREAM, self._control.listen, self._port)
        self._server.listen(1)

    def poll(self) -> None:
        """Take up a new connection; it replaces an old one."""
        if self._server is None:
            return
        try:
            connection, _ = self._server.accept()
        except BlockingIOError:
            return
        if self._connection is not None:
            self._connection.close()
        self._forget()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection, self.connected = connection, True

    # --- what goes out --------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Take the bytes of a message of the dialect."""
        self._outgoing += data

    def ask(self, sample: Sample) -> None:
        """Send a sample, after what else is due; the sample, last, sets the clock."""
        if self._connection is None:
            return
        self.clock += 1
        now, k = self.clock_us, self._k
        self._k += 1
        if self._first is None:
            self._first = now
        if due(k, self._period, 1.0 / HEARTBEAT_S):
            self._mav.heartbeat_send(self._mavlink.MAV_TYPE_GENERIC, 8, 0, 0, 0)
        if sample.fix is not None:
            self._send_gps(now, sample)
        if self._control.odometry_hz and due(k, self._period, self._control.odometry_hz):
            self._send_odometry(now, sample)
        if self._state_s and due(k, self._period, 1.0 / self._state_s):
            self._send_state(now, sample)
        self._send_sensors(now, sample)
        try:
            whole = self._connection.send(self._outgoing) == len(self._outgoing)
        except OSError:
            whole = False
        if not whole:  # nobody reads what has been sent long ago, or it is gone
            self._lose()
        self._outgoing.clear()

    def _send_sensors(self, now: int, sample: Sample) -> None:
        s, groups = sample.seen, ACCELEROMETER | GYROSCOPE
        field = (0.0, 0.0, 0.0)
        if sample.field is not None:
            groups |= MAGNETOMETER
            field = [GAUSS * float(v) for v in sample.field]
        if sample.pressure is not None:
            groups |= BAROMETER
            self._pressure, self._temperature = sample.pressure, sample.temperature
        differential = 0.0
        if sample.differential is not None:
            groups |= DIFFERENTIAL
            differential = sample.differential
        self._mav.hil_sensor_send(
            now, s[0], s[1], s[2], s[3], s[4], s[5], field[0], field[1], field[2],
            HECTOPASCAL * self._pressure, HECTOPASCAL * differential,
            self._pressure_altitude(self._pressure), self._temperature, groups, 0,
        )  # fmt: skip

    def _send_gps(self, now: int, sample: Sample) -> None:
        assert sample.fix is not None and sample.velocity is not None
        v = sample.velocity
        speed = float(np.hypot(v[0], v[1]))
        gps = self._control.on_board.gps
        assert gps is not None
        accuracy = [max(SMALLEST_ACCURACY_CM, round(100 * m)) for m in (gps.horizontal_m, gps.vertical_m)]  # fmt: skip
        course = float(np.degrees(np.arctan2(v[1], v[0]))) % 360.0
        self._mav.hil_gps_send(
            now, FIX_3D, *_geodetic(sample.fix), *accuracy,
            _within(100 * speed, 0, 65534), *(_within(100 * x, -32767, 32767) for x in v),
            _within(100 * course, 0, 35999), SATELLITES,
        )  # fmt: skip

    def _send_odometry(self, now: int, sample: Sample) -> None:
        """Motion capture, as external vision: that is what its filter fuses (EKF2_EV_CTRL)."""
        m, s = self._mavlink, sample.seen
        self._mav.odometry_send(
            now, m.MAV_FRAME_LOCAL_NED, m.MAV_FRAME_LOCAL_NED, *s[PLACE], s[ATTITUDE], *s[VELOCITY],
            *s[RATE], UNKNOWN, UNKNOWN, 0, m.MAV_ESTIMATOR_TYPE_VISION, 100,
        )  # fmt: skip

    def _send_state(self, now: int, sample: Sample) -> None:
        """The truth, for its log."""
        s, true = sample.seen, sample.inertial
        to_mg = 1000.0 / STANDARD_GRAVITY
        self._mav.hil_state_quaternion_send(
            now, s[ATTITUDE], *true[RATE], *_geodetic(self._earth.place_nearby(sample.position)),
            *(_within(100 * v, -32767, 32767) for v in s[VELOCITY]), 0, 0,
            *(_within(to_mg * a, -32767, 32767) for a in true[:3]),
        )  # fmt: skip

    # --- what comes in --------------------------------------------------------------------------------

    def answer(self, patience: float) -> Sequence[float] | None:
        """Throttles that PX4 answers the last sample with; without lockstep the newest, if they are not too old."""
        if self._connection is None:
            return None
        found = None
        end = wall.monotonic() + (patience if self.in_lockstep else 0.0)
        while found is None:
            try:
                come = self.receive(self._connection, max(0.0, end - wall.monotonic()))
            except OSError:
                come = (b"", ())
            if come is None:
                break
            if not come[0]:
                self._lose()
                return None
            for message in self._mav.parse_buffer(come[0]) or ():
                found = self._take(message) or found
            # it may talk of other things without end
            if self.in_lockstep and wall.monotonic() > end:
                break
        if self.in_lockstep:
            return found
        if found is not None:
            self._last, self._heard = found, wall.monotonic()
        is_old = wall.monotonic() - self._heard > self._control.patience_s
        return None if is_old else self._last

    def _take(self, message: object) -> Sequence[float] | None:
        """Throttles in a message, if it answers the last sample."""
        kind = message.get_type()  # type: ignore[attr-defined]
        if kind == "COMMAND_LONG" and message.command == SET_INTERVAL:  # type: ignore[attr-defined]
            if message.param1 == STATE_MESSAGE:  # type: ignore[attr-defined]
                wanted = 1e-6 * message.param2  # type: ignore[attr-defined]
                self._state_s = max(wanted, self._period) if wanted > 0.0 else 0.0
            return None
        if kind != "HIL_ACTUATOR_CONTROLS":
            return None
        self.answers_each = True
        throttles = message.controls  # type: ignore[attr-defined]
        if not all(isfinite(u) for u in throttles[: self._most]):
            self.news.append("asks for throttles that are not finite; it is not heard")
            return None
        if not message.flags & LOCKSTEP:  # type: ignore[attr-defined]
            if self.in_lockstep:
                self.news.append("is not built for lockstep: it flies by the clock of the wall")
            self.in_lockstep = False
        elif not self._is_answer(message.time_usec):  # type: ignore[attr-defined]
            return None
        self.armed = bool(message.mode & ARMED)  # type: ignore[attr-defined]
        return throttles

    def _is_answer(self, time_us: int) -> bool:
        """True if a message of a time of PX4 answers the last sample, not one before.

        Its clock is ours, or begins at :data:`FIRST_US` with the first sample. The first answer counts.
        """
        if self._answered == self._k:
            return False
        if self._offset is None:
            assert self._first is not None
            fits = [
                offset
                for offset in (0, self._first - FIRST_US)
                if self._first <= time_us + offset <= self.clock_us
            ]
            if fits:
                self._offset = max(fits)
        # a clock of another kind: take all as they come
        answers = self._offset is None or time_us + self._offset >= self.clock_us
        if answers:
            self._answered = self._k
        return answers

    def _lose(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self.connected, self.armed = None, False, False

    def close(self) -> None:
        """Let go."""
        self._lose()
        if self._server is not None:
            self._server.close()
            self._server = None


def _within(value: float, low: int, high: int) -> int:
    return min(max(round(float(value)), low), high)


def _geodetic(fix: np.ndarray) -> tuple[int, int, int]:
    """Latitude and longitude in 1e-7 degrees, height in mm."""
    return round(1e7 * float(fix[0])), round(1e7 * float(fix[1])), round(1e3 * float(fix[2]))


def px4_law(scenario: Scenario, team: Team) -> SitlLaw:
    """The law of a team whose vehicles are flown by PX4."""
    control = scenario.controller
    assert isinstance(control, Px4Control)
    period, environment = scenario.time.control_s, scenario.environment

    def make(instance: int, motors: Motors) -> Px4Link:
        return Px4Link(control, control.port + instance, motors.most, period, environment)

    return SitlLaw(scenario, team, make, control.on_board)
