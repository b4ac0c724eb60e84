"""Scripted ArduPilots: their side of the JSON backend, from the published protocol. ``ardupilot_peer.py '{json}'``.

Keys: report; frames: after which all end; patience: they end after so long a silence, s; peers, each with: port;
vehicle; place (NED) to hold; arm_after: frames;
channels: 16 or 32; ki; faults: {lose_reply_every, send_twice_every, skip_every, restart_at, malformed_every,
other_magic_every}.
"""

import json
import selectors
import socket
import struct
import sys

from pilot import Pilot

REPEAT = 1.0  # wall time without a reply after which a frame is sent again, s


class Peer:
    """One ArduPilot."""

    def __init__(self, keys):
        self.keys, self.faults = keys, keys.get("faults", {})
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.address = ("127.0.0.1", keys["port"])
        self.pilot = Pilot(keys["vehicle"], keys["place"])
        self.frame = self.n = 0
        self.values, self.time, self.lost = [0.0] * 4, None, False
        self.report = {"repeated": 0, "steps": [], "replies": 0, "twice": 0}
        self.send()

    def send(self):
        """Send the frame that is due, with the faults that are asked for."""
        many = self.keys.get("channels", 16)
        pulses = [round(1000 + 1000 * u) for u in self.values] + [0] * (many - 4)
        magic = 18458 if many == 16 else 29569
        data = struct.pack(f"<HHI{many}H", magic, 250, self.frame, *pulses)
        every = self.faults.get
        if every("malformed_every") and self.n % every("malformed_every") == 0:
            self.link.sendto(data[:11], self.address)
        if every("other_magic_every") and self.n % every("other_magic_every") == 0:
            self.link.sendto(b"\x01\x02" + data[2:], self.address)
        self.link.sendto(data, self.address)
        if every("send_twice_every") and self.n % every("send_twice_every") == 0:
            self.link.sendto(data, self.address)

    def receive(self, data):
        """Take a line of JSON, as its own reader does, and answer with the next frame."""
        lines = data.decode().split("\n")
        assert lines[0] == "" and lines[2] == "" and len(lines) == 3, data
        every = self.faults.get
        if every("lose_reply_every") and self.n % every("lose_reply_every") == 0 and not self.lost:
            self.lost = True  # as if the network had; the frame is sent again
            return
        self.lost = False
        told = json.loads(lines[1])
        assert " " not in lines[1], "its reader takes no blanks"
        if (
            self.time == told["timestamp"]
        ):  # it takes what comes for the next step, as its reader does
            self.report["twice"] += 1
        elif self.time is not None:
            step = round(1e6 * (told["timestamp"] - self.time))
            if step not in self.report["steps"]:
                self.report["steps"].append(step)
        self.time = told["timestamp"]
        self.report |= {"told": told, "replies": self.report["replies"] + 1, "time": self.time}
        armed = self.n >= self.keys.get("arm_after", 0)
        if armed:
            self.values = self.pilot.throttles(
                told["position"],
                told["velocity"],
                told["quaternion"],
                told["imu"]["gyro"],
                0.004,
                self.keys.get("ki", 0.0),
            )
        self.n += 1
        self.frame += 1
        if every("skip_every") and self.n % every("skip_every") == 0:
            self.frame += 3
        if self.n == every("restart_at"):
            self.frame = 0
        self.send()


keys = json.loads(sys.argv[1])
peers = [Peer(k) for k in keys["peers"]]
selector = selectors.DefaultSelector()
for peer in peers:
    selector.register(peer.link, selectors.EVENT_READ, peer)
silent = 0
while not all(p.n >= keys["frames"] for p in peers) and silent < keys.get("patience", 5.0) / REPEAT:
    ready = selector.select(REPEAT)
    silent = 0 if ready else silent + 1
    for key, _ in ready:
        try:
            key.data.receive(key.data.link.recv(4096))
        except ConnectionError:  # nobody listens yet
            pass
    if not ready:
        for peer in peers:
            peer.report["repeated"] += 1
            peer.send()
if "report" in keys:
    with open(keys["report"], "w") as file:
        json.dump([p.report for p in peers], file)
