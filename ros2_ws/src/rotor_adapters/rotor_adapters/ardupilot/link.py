"""ArduPilot in the loop: its JSON backend over UDP, in lockstep.

ArduPilot sends the pulses of its servos and waits for one line of JSON; after a second without it sends the same frame
again. Source: ArduPilot, libraries/SITL/examples/JSON and SIM_JSON.
"""

from __future__ import annotations

import json
import struct
import time as wall
from collections.abc import Sequence

from transforms3d.euler import quat2euler

from rotor_adapters.frames import ACCELERATION, ATTITUDE, PLACE, RATE, VELOCITY
from rotor_adapters.sitl.datagrams import DatagramLink
from rotor_adapters.sitl.law import SitlLaw
from rotor_adapters.sitl.motors import Motors
from rotor_adapters.sitl.senses import Sample
from rotor_core.config.counterparts.autopilots import ArduPilotControl
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team

FRAMES = {18458: struct.Struct("<HHI16H"), 29569: struct.Struct("<HHI32H")}
"""Magic number, frame rate, frame count, pulses, us."""

PORTS_PER_INSTANCE = 10


class ArduPilotLink(DatagramLink):
    """A connection to one ArduPilot.

    Args:
        control: keys of all.
        port: to which it sends.
        most: motors that are looked at, to see whether it is armed.
        period: of control, s.

    Attributes:
        lost_frames: as far as the count of frames tells.
    """

    kind = "ArduPilot"

    def __init__(self, control: ArduPilotControl, port: int, most: int, period: float) -> None:
        super().__init__(period, control.listen, port)
        self._control, self._most = control, most
        self._peer: tuple | None = None
        self._frame = -1
        self._reply = b""
        self._is_pending = False
        self.lost_frames = 0

    def ask(self, sample: Sample) -> None:
        """Answer the frame that waits for a sample; nothing where none does."""
        # frames that have come again while it waited ask for this answer: one for each would be answered by a frame
        # each, and all that it says from then on would be as many periods old
        while self._is_pending and (come := self.next_datagram(0.0)):
            self._take(*come)
        if self._is_pending or self.in_flight:
            self.clock += 1  # time passes for one that is lost, too
        if self._peer is None or not self._is_pending:
            return
        s = sample.seen
        values = {
            "timestamp": 1e-6 * self.clock_us,
            "imu": {"gyro": s[RATE], "accel_body": s[ACCELERATION]},
            "position": s[PLACE],
            "attitude": [float(a) for a in quat2euler(s[ATTITUDE], "rzyx")[::-1]],
            "quaternion": s[ATTITUDE],
            "velocity": s[VELOCITY],
        }
        # its reader takes no blanks, and a line between two ends of lines
        self._reply = b"\n" + json.dumps(values, separators=(",", ":")).encode() + b"\n"
        self._is_pending = False
        self.send(self._reply, self._peer)

    def answer(self, patience: float) -> Sequence[float] | None:
        """Throttles of the next frame."""
        if self._socket is None:
            return None
        end = wall.monotonic() + patience
        while True:
            come = self.next_datagram(end - wall.monotonic())
            if come is None:
                return None
            found = self._take(*come)
            if found is not None:
                return found

    def _take(self, data: bytes, peer: tuple) -> Sequence[float] | None:
        """Throttles of a frame, if it is a new one."""
        layout = FRAMES.get(int.from_bytes(data[:2], "little"))
        if layout is None or len(data) != layout.size:
            self.tell_malformed(
                f"{len(data)} bytes from {peer[0]}:{peer[1]} are no frame of servos (magic 18458 or 29569); such are "
                "ignored"
            )
            return None
        _, _, frame, *pulses = layout.unpack(data)
        if self.connected and peer == self._peer and frame == self._frame:
            if not self._is_pending and self._reply:  # our reply was lost
                self.send(self._reply, peer)
            return None
        if self.connected and (frame < self._frame or peer != self._peer):
            self.news.append(f"has started again (frame {self._frame}, then {frame})")
        elif self.connected and frame > self._frame + 1:
            if not self.lost_frames:
                self.news.append(
                    f"{frame - self._frame - 1} frames were lost before {frame}; later ones are only counted"
                )
            self.lost_frames += frame - self._frame - 1
        self._frame, self._peer = frame, peer
        self.connected = self._is_pending = True
        low, high = self._control.pwm_us
        throttles = [(p - low) / (high - low) for p in pulses]
        self.armed = any(u > 0.0 for u in throttles[: self._most])
        return throttles

    def close(self) -> None:
        """Let go."""
        super().close()
        self._is_pending = False


def ardupilot_law(scenario: Scenario, team: Team) -> SitlLaw:
    """The law of a team whose vehicles are flown by ArduPilot."""
    control = scenario.controller
    assert isinstance(control, ArduPilotControl)

    def make(instance: int, motors: Motors) -> ArduPilotLink:
        port = control.port + PORTS_PER_INSTANCE * instance
        return ArduPilotLink(control, port, motors.most, scenario.time.control_s)

    return SitlLaw(scenario, team, make, None)
