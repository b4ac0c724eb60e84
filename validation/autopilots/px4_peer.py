"""Scripted PX4s: their side of the simulator link, from the published protocol. ``px4_peer.py '{json}'``.

Keys: report; spin; peers, each with: port; vehicle; place (NED) to hold; steps [[at_s, [n, e, d]], ...]; boot and
arm_after: samples before the first answer, and before arming; lockstep; ki; state_interval_us; again_after_s: connect
again so long after the link ended, once; faults: {quit_after, silent_after, silent_until, duplicate_every, late_every,
garbage_every, split, nan_at, chatty_after, slow_at: [...]}.
"""

import contextlib
import json
import selectors
import socket
import sys
import threading
import time
from typing import Any

from pilot import Pilot
from pymavlink.dialects.v20 import common

MASKS = {"imu": 63, "magnetometer": 448, "pitot": 1024, "barometer": 6656}


class Peer:
    """One PX4."""

    def __init__(self, keys):
        self.keys, self.faults = keys, keys.get("faults", {})
        self.again = keys.get("again_after_s")
        self.out = bytearray()
        self.report = {"clock_us": 0, "counts": {}, "groups": {}, "periods": [], "starts": 0}
        self.start()

    def start(self):
        """As after power on."""
        while True:
            try:
                self.link = socket.create_connection(("127.0.0.1", self.keys["port"]))
                break
            except OSError:
                time.sleep(0.0005)
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.mav = common.MAVLink(self, srcSystem=1, srcComponent=1)
        self.mav.robust_parsing = True
        self.pilot = Pilot(self.keys["vehicle"], self.keys["place"])
        self.steps = list(self.keys.get("steps", []))
        self.first = self.last = None
        self.odometry: Any = None
        self.n = 0
        self.report["starts"] += 1
        self.mav.command_long_send(
            1, 1, 511, 0, 115, self.keys.get("state_interval_us", 5000), 0, 0, 0, 0, 0
        )
        self.mav.heartbeat_send(2, 12, 0, 0, 0)
        self.flush()

    def write(self, data):
        """Take the bytes of a message of the dialect."""
        self.out += data

    def flush(self):
        """Send what has been written."""
        with contextlib.suppress(
            OSError
        ):  # the other side may have gone meanwhile; the next read tells
            self.link.sendall(self.out)
        self.out.clear()

    def controls(self, at, values, armed):
        """Write HIL_ACTUATOR_CONTROLS."""
        lockstep = 1 if self.keys.get("lockstep", True) else 0
        self.mav.hil_actuator_controls_send(at, values, 1 | (128 if armed else 0), lockstep)

    def chat(self):
        """Say that all is well, 20 times a second."""
        while True:
            self.mav.heartbeat_send(2, 12, 0, 0, 4)
            self.flush()
            time.sleep(0.05)

    def receive(self, data):
        """Take what has come; False at the end."""
        messages: list[Any] = self.mav.parse_buffer(data) or []
        for message in messages:
            kind = message.get_type()
            self.report["counts"][kind] = self.report["counts"].get(kind, 0) + 1
            if kind == "ODOMETRY":
                self.odometry = message
            elif kind == "HIL_GPS":
                self.report["gps"] = [
                    message.lat,
                    message.lon,
                    message.alt,
                    message.vn,
                    message.ve,
                    message.vd,
                ]
            elif kind == "HIL_STATE_QUATERNION":
                self.report["truth"] = [
                    message.lat,
                    message.lon,
                    message.alt,
                    *message.attitude_quaternion,
                    message.rollspeed,
                    message.pitchspeed,
                    message.yawspeed,
                ]
            elif kind == "HIL_SENSOR" and not self.sense(message):
                return False
        return True

    def sense(self, message):
        """Answer a HIL_SENSOR, with the faults that are asked for; False at the end."""
        self.first = message.time_usec if self.first is None else self.first
        period = message.time_usec - (self.last or message.time_usec)
        if period not in self.report["periods"]:
            self.report["periods"].append(period)
        for name, mask in MASKS.items():
            if message.fields_updated & mask == mask:
                self.report["groups"][name] = self.report["groups"].get(name, 0) + 1
        self.last = message.time_usec
        now, faults = self.last - self.first + 1000, self.faults
        self.n += 1
        n = self.n
        self.report |= {"n": n, "clock_us": self.last - self.first}
        self.report["sensor"] = [message.xacc, message.yacc, message.zacc, message.xmag, message.ymag, message.zmag,
                                 message.abs_pressure, message.pressure_alt, message.temperature]  # fmt: skip
        if n <= self.keys.get("boot", 0):
            return True
        if n == faults.get("quit_after"):
            self.faults = {}
            return False
        if "silent_after" in faults and faults["silent_after"] < n <= faults.get("silent_until", n):
            return True
        if "chatty_after" in faults and n > faults["chatty_after"]:
            if n == faults["chatty_after"] + 1:
                threading.Thread(target=self.chat, daemon=True).start()
            return True
        if n in faults.get("slow_at", ()):
            time.sleep(0.02)  # five periods
        if n == faults.get("stands_at"):
            time.sleep(faults["stands_s"])
        time.sleep(faults.get("slow_s", 0.0))
        armed = n > self.keys.get("arm_after", 0)
        while self.steps and 1e-6 * now >= self.steps[0][0]:
            self.pilot.place = self.steps.pop(0)[1]
        values = [0.0] * 16
        if armed and self.odometry is not None:
            o = self.odometry
            values[:4] = self.pilot.throttles(
                (o.x, o.y, o.z), (o.vx, o.vy, o.vz), o.q, (message.xgyro, message.ygyro, message.zgyro),
                0.004, self.keys.get("ki", 0.0),
            )  # fmt: skip
        if "late_every" in faults and n % faults["late_every"] == 0:
            self.controls(
                now - 4000, [0.0] * 16, armed
            )  # the answer to the sample before, once more
        if "garbage_every" in faults and n % faults["garbage_every"] == 0:
            self.out += b"\xfd\x09\x00\x00rubbish" + bytes(range(40))
        if n == faults.get("nan_at"):
            self.controls(now, [float("nan")] * 16, armed)
        self.controls(now, values, armed)
        if "duplicate_every" in faults and n % faults["duplicate_every"] == 0:
            self.controls(now, [1.0] * 16, armed)
        if faults.get("split"):
            half = len(self.out) // 2
            with contextlib.suppress(OSError):
                self.link.sendall(self.out[:half])
            del self.out[:half]
            time.sleep(0.0002)
        self.flush()
        return True

    def end(self):
        """The link has ended; True if there is another one."""
        self.link.close()
        if self.again is None:
            return False
        time.sleep(self.again)
        self.again = None
        self.start()
        return True


keys = json.loads(sys.argv[1])
peers = [Peer(k) for k in keys["peers"]]
selector = selectors.DefaultSelector()
for peer in peers:
    selector.register(peer.link, selectors.EVENT_READ, peer)
while selector.get_map():
    for key, _ in selector.select(0 if keys.get("spin") else None):
        peer = key.data
        try:
            data = peer.link.recv(4096)
        except OSError:
            data = b""
        if not data or not peer.receive(data):
            selector.unregister(key.fileobj)
            if peer.end():
                selector.register(peer.link, selectors.EVENT_READ, peer)
if "report" in keys:
    with open(keys["report"], "w") as file:
        json.dump([p.report for p in peers], file)
