"""Speed of lockstep with scripted autopilots: real-time factors, medians of several flights.

Real processes over TCP and UDP on this machine. The scripted PX4 and ArduPilot are Python; PX4 is measured with
peers that sleep until a sample comes, and with one that looks for it all the time.

    ./rotor python validation/benchmarks/autopilots.py [--flights 5] [--seconds 20]
"""

from __future__ import annotations

import argparse
import socket
import statistics
import tempfile
from pathlib import Path

from rotor_core.config.schema import Scenario
from rotor_flight.fly import fly
from validation.autopilots.peers import free_port, peers, place_of, team, vehicle_keys, x500

HOVER = [1.0, 0.5, -2.5]
LOAD = 3.0


def measure(
    which: str, scenario: Scenario, keys: list[dict], flights: int, seconds: float, **common: object
) -> float:
    """Median real-time factor of some flights, after one that compiles."""
    factors = []
    with tempfile.TemporaryDirectory() as folder:
        for k in range(flights + 1):
            with peers(which, keys, Path(folder), **common):
                flight = fly(scenario, duration=seconds if k else 1.0)
            factors.append(seconds / flight.wall_time)
    return statistics.median(factors[1:])


def px4(n: int, flights: int, seconds: float, *, spin: bool) -> float:
    """Real-time factor of n vehicles under PX4; several carry a payload."""
    port = free_port(socket.SOCK_STREAM, n)
    control = f"{{type: px4, port: {port}, odometry_hz: 50}}"
    scenario = x500(control) if n == 1 else team(n, control, LOAD)
    share = LOAD / n if n > 1 else 0.0
    keys = [
        {
            "port": port + row,
            "vehicle": vehicle_keys(scenario, row, share),
            "place": HOVER if n == 1 else place_of(scenario, row),
            "ki": 0.5,
            "state_interval_us": -1,
        }
        for row in range(n)
    ]
    return measure("px4", scenario, keys, flights, seconds, spin=spin)


def ardupilot(flights: int, seconds: float) -> float:
    """Real-time factor of one vehicle under ArduPilot."""
    factors = []
    for _ in range(flights):
        port = free_port(socket.SOCK_DGRAM)
        scenario = x500(f"{{type: ardupilot, port: {port}}}", control_s=0.001)
        keys = [{"port": port, "vehicle": vehicle_keys(scenario, 0), "place": HOVER, "ki": 0.5}]
        with tempfile.TemporaryDirectory() as folder:
            frames = round(seconds / scenario.time.control_s) + 8  # and those while it is held
            with peers("ardupilot", keys, Path(folder), frames=frames):
                factors.append(seconds / fly(scenario, duration=seconds).wall_time)
    return statistics.median(factors)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Speed of lockstep with scripted autopilots.")
    parser.add_argument("--flights", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    n, seconds = options.flights, options.seconds
    for what, factor in (
        ("PX4, one vehicle", px4(1, n, seconds, spin=False)),
        ("PX4, one vehicle, peer that does not sleep", px4(1, n, seconds, spin=True)),
        ("PX4, six vehicles with a payload", px4(6, n, seconds, spin=False)),
        (
            "PX4, six vehicles with a payload, peers that do not sleep",
            px4(6, n, seconds, spin=True),
        ),
        ("ArduPilot, one vehicle", ardupilot(n, seconds)),
    ):
        print(f"{what:60} {factor:6.1f} times real time", flush=True)


if __name__ == "__main__":
    main()
