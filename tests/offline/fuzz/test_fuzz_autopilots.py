"""Autopilots that send anything, over real sockets: throttles that are finite, or nothing; and the link lives on."""

import socket
import struct

import numpy as np
import pytest
from fuzz import budget, damage, nasty
from fuzz.verdicts import ACCEPTED, REFUSED, check_line, judge

from rotor_adapters.ardupilot.link import FRAMES, ardupilot_law
from rotor_adapters.betaflight.link import MOTORS, betaflight_law
from rotor_adapters.px4.link import px4_law
from rotor_adapters.sitl.motors import QUAD_X, Motors
from rotor_adapters.sitl.senses import Senses
from rotor_core.config.initial import initial_states
from rotor_core.config.teams import teams
from rotor_core.state import MOTION
from validation.autopilots.peers import free_port, x500

TCP, UDP = socket.SOCK_STREAM, socket.SOCK_DGRAM
HEARD = 0.05
"""A datagram on this machine is there within this time, s."""

CHECKED = 50
"""After so many inputs a right one must be answered rightly."""

ANSWER = [0.25, 0.5, 0.75, 1.0]


class Peer:
    """An autopilot that went mad, and the link that it talks to."""

    def __init__(self, kind: str, law, transport, bridge: str = "") -> None:
        self.kind, self.transport, self.port = kind, transport, free_port(transport)
        self.scenario = x500(f"{{type: {kind}, port: {self.port}, patience_s: 0.5 {bridge}}}")
        team = teams(self.scenario.model)[0]
        self.link = law(self.scenario, team).links[0]
        self.link.open()
        self.motors = Motors(self.scenario.model.vehicles[0], (QUAD_X,))
        states = initial_states(self.scenario)
        self.states = np.hstack([states, np.zeros((len(states), MOTION - states.shape[1]))])
        self.senses = Senses(self.scenario, [0], getattr(self.scenario.controller, "on_board", None))  # fmt: skip
        self.k = 0
        self.socket: socket.socket | None = None
        self.begin()

    def begin(self) -> None:
        """Connect, or connect again."""
        if self.socket is not None:
            self.socket.close()
        self.socket = socket.socket(socket.AF_INET, self.transport)
        self.socket.connect(("127.0.0.1", self.port))
        self.socket.setblocking(False)

    def send(self, data: bytes) -> None:
        """Send; a connection that the link has closed is opened again."""
        assert self.socket is not None
        try:
            self.socket.send(data)
        except OSError:
            self.begin()
            self.socket.send(data)

    def heard(self) -> bytes:
        """What the link has sent by now; nobody has to read it."""
        assert self.socket is not None
        try:
            return self.socket.recv(1 << 20)
        except OSError:
            return b""

    def ask(self) -> None:
        """The first half of a control period: a sample for whoever waits for one."""
        self.link.poll()
        self.link.ask(self.senses.sample(self.states, self.k)[0])
        self.k += 1


class MadPx4(Peer):
    def __init__(self) -> None:
        from pymavlink.dialects.v20 import common

        super().__init__("px4", px4_law, TCP)
        self.common = common
        self.mav = common.MAVLink(None)
        self.names = sorted(common.mavlink_map)

    def right(self) -> bytes:
        message = self.common.MAVLink_hil_actuator_controls_message(
            self.link.clock_us, ANSWER + [0.0] * 12, 129, 1
        )
        return message.pack(self.mav)

    def message(self, rng) -> bytes:
        """Any message of the dialect with any fields, most often those that the link reads."""
        kind = rng.random()
        if kind < 0.35:
            controls = [nasty.number(rng) for _ in range(16)]
            time = int(nasty.pick(rng, [0, self.link.clock_us, self.link.clock_us + 4000, 2**64 - 1]))  # fmt: skip
            made = self.common.MAVLink_hil_actuator_controls_message(
                time, controls, int(rng.integers(256)), int(nasty.pick(rng, [0, 1, 2**64 - 1]))
            )
        elif kind < 0.6:
            numbers = [nasty.number(rng) for _ in range(7)]
            command = int(nasty.pick(rng, [511, 511, 511, 0, 65535]))
            if rng.random() < 0.5:
                numbers[0] = 115.0
            made = self.common.MAVLink_command_long_message(1, 1, command, 0, *numbers)
        else:
            return self.other(rng)
        try:
            return made.pack(self.mav)
        except (struct.error, OverflowError):  # no float holds it
            return self.other(rng)

    def other(self, rng) -> bytes:
        """A frame of any message, whose payload may be anything."""
        kind = self.common.mavlink_map[nasty.pick(rng, self.names)]
        fields = kind.unpacker.unpack(rng.bytes(kind.unpacker.size))
        made = kind.__new__(kind)
        self.common.MAVLink_message.__init__(made, kind.id, kind.msgname)
        payload = struct.pack(kind.unpacker.format, *fields)
        return made._pack(self.mav, kind.crc_extra, payload)


class MadArduPilot(Peer):
    def __init__(self) -> None:
        super().__init__("ardupilot", ardupilot_law, UDP)
        self.frame = 0

    def right(self) -> bytes:
        self.frame += 1
        pulses = [round(1000 + 1000 * u) for u in ANSWER] + [1000] * 12
        return FRAMES[18458].pack(18458, 400, self.frame % 2**32, *pulses)

    def message(self, rng) -> bytes:
        magic = int(nasty.pick(rng, [*FRAMES, *FRAMES, 0, 65535]))
        layout = FRAMES.get(magic, FRAMES[18458])
        n = 16 if layout is FRAMES[18458] else 32
        self.frame = int(nasty.pick(rng, [self.frame, self.frame + 1, 0, 1, 2**32 - 1, 7])) % 2**32
        pulses = [int(x) for x in rng.integers(65536, size=n)]
        return layout.pack(magic, int(rng.integers(65536)), self.frame, *pulses)


class MadBetaflight(Peer):
    def __init__(self) -> None:
        super().__init__("betaflight", betaflight_law, UDP)

    def right(self) -> bytes:
        return MOTORS.pack(*ANSWER)

    def message(self, rng) -> bytes:
        numbers = [nasty.number(rng) for _ in range(4)]
        try:
            return MOTORS.pack(*numbers)
        except OverflowError:
            return MOTORS.pack(*[float("inf")] * 4)


@pytest.mark.timeout(budget.TIME_LIMIT)
def test_whatever_an_autopilot_sends_its_vehicle_gets_finite_commands():
    pytest.importorskip("pymavlink")
    peers = [MadPx4(), MadArduPilot(), MadBetaflight()]
    out = np.zeros(4)

    def take(peer, patience):
        """The second half of a period: throttles, or None."""
        throttles = peer.link.answer(patience)
        for news in peer.link.news:
            check_line(news)
        peer.link.news.clear()
        peer.heard()
        if throttles is not None:
            peer.motors.wrench(throttles, out)
            assert np.isfinite(out).all(), f"{peer.kind}: {list(throttles)[:4]} gives {out}"
        return throttles

    def attempt(rng, number):
        peer = peers[number % len(peers)]
        data = peer.message(rng)
        if rng.random() < 0.5:
            data = damage.damaged(rng, data)
        if rng.random() < 0.05:
            data = rng.bytes(int(rng.integers(1, 4000)))
        peer.ask()
        peer.send(data or b"\0")
        throttles = take(peer, HEARD if rng.random() < 0.1 else 0.0)
        if number // len(peers) % CHECKED == CHECKED - 1:
            lives(peer)
        return REFUSED if throttles is None else ACCEPTED

    def lives(peer):
        """A new start of the autopilot is answered, and its throttles are taken."""
        peer.begin()
        if isinstance(peer, MadArduPilot):
            peer.frame = -1
        for _ in range(20):
            peer.ask()
            peer.send(peer.right())
            throttles = take(peer, HEARD)
            if throttles is not None and np.allclose(list(throttles)[:4], ANSWER, atol=2e-3):
                return
        raise AssertionError(f"{peer.kind}: a right answer is not heard any more")

    try:
        judge("autopilots", attempt)
    finally:
        for peer in peers:
            peer.link.close()
            peer.socket.close()
