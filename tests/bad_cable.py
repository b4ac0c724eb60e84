"""A cable between the devices a and b of this network namespace that harms what it carries.

Reads lines such as ``loss=0.2 delay=0.03 jitter=0.02 reorder=0.2 duplicate=0.1`` until its input ends, and then tells what
it has done. The same faults as netem of Linux, without that module of the kernel.
"""

import heapq
import os
import random
import select
import socket
import sys
import time

OUTGOING = 4
"""Type of a packet that left this machine by the device: it is one of ours."""

LARGEST = 65536


def main() -> None:
    rng = random.Random(1)
    ends = {}
    for name in ("a", "b"):
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        made.bind((name, 0))
        made.setblocking(False)
        ends[made] = name
    other = dict(zip(ends, reversed(list(ends)), strict=True))
    faults = dict.fromkeys(("loss", "duplicate", "reorder", "delay", "jitter"), 0.0)
    counts = dict.fromkeys(("carried", "lost", "doubled", "overtaken"), 0)
    waiting: list[tuple[float, int, socket.socket, bytes]] = []
    number = 0
    print("ready", flush=True)
    while True:
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 1.0
        ready, _, _ = select.select([*ends, 0], [], [], left)
        now = time.monotonic()
        if 0 in ready:
            line = os.read(0, 4096).decode()
            if not line:
                break
            for word in line.split():
                key, value = word.split("=")
                faults[key] = float(value)
        for end in ready:
            if end == 0:
                continue
            data, address = end.recvfrom(LARGEST)
            if address[2] == OUTGOING:
                continue
            if rng.random() < faults["loss"]:
                counts["lost"] += 1
                continue
            copies = 1 + (rng.random() < faults["duplicate"])
            counts["doubled"] += copies - 1
            for _ in range(copies):
                due = now + faults["delay"] + faults["jitter"] * rng.random()
                if rng.random() < faults["reorder"]:
                    counts["overtaken"] += 1
                    due += 0.01 + faults["jitter"]
                number += 1
                heapq.heappush(waiting, (due, number, other[end], data))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, data = heapq.heappop(waiting)
            try:
                end.send(data)
                counts["carried"] += 1
            except OSError:  # its buffer is full: lost, as it happens
                counts["lost"] += 1
    print(*(f"{k}={v}" for k, v in counts.items()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
