"""Start scripted autopilots, processes of their own, and the worlds that they fly in."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rotor_core.config.initial import initial_states
from rotor_core.config.loader import scenario_from_text
from rotor_core.config.schema import Scenario
from rotor_core.vehicles.rotors import rotor_set

FOLDER = Path(__file__).parent


def free_port(kind: socket.SocketKind, count: int = 1, apart: int = 1) -> int:
    """First of ``count`` ports that nobody uses, ``apart`` from each other."""
    while True:
        with contextlib.ExitStack() as held:
            first = held.enter_context(socket.socket(socket.AF_INET, kind))
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                for i in range(1, count):
                    more = held.enter_context(socket.socket(socket.AF_INET, kind))
                    more.bind(("127.0.0.1", port + apart * i))
            except (OSError, OverflowError):
                continue
            return port


def vehicle_keys(scenario: Scenario, row: int, load_kg: float = 0.0) -> dict:
    """What a pilot knows of its vehicle; ``load_kg``: of a payload that it carries."""
    vehicle = scenario.model.vehicles[row]
    rotors = rotor_set(vehicle.rotors)
    return {
        "mass": vehicle.mass_kg + load_kg,
        "inertia": vehicle.inertia_kg_m2,
        "arm": vehicle.rotors.arm_m,
        "torque": vehicle.rotors.torque_per_thrust_m,
        "per_speed2": rotors.thrust_per_speed2,
        "speeds": [rpm * np.pi / 30.0 for rpm in vehicle.rotors.speed_rpm],
    }


@contextlib.contextmanager
def peers(which: str, keys: list[dict], folder: Path, **common: object) -> Iterator[dict]:
    """Run scripted peers; what they report is there after the block, ``[...]`` under ``peers``."""
    told: dict = {}
    report = folder / f"{which}.json"
    report.unlink(missing_ok=True)
    words = json.dumps({"peers": keys, "report": str(report), **common})
    process = subprocess.Popen([sys.executable, str(FOLDER / f"{which}_peer.py"), words])
    try:
        yield told
        assert process.wait(30) == 0
        told["peers"] = json.loads(report.read_text())
    finally:
        process.kill()
        process.wait()


def x500(controller: str, text: str = "", *, control_s: float = 0.004) -> Scenario:
    """One X500 on the ground under a controller."""
    return scenario_from_text(
        f"""
schema: 1
description: One X500 on the ground.
model: {{vehicles: [{{use: x500}}]}}
initial: [{{entity: quad1, position_m: [0, 0, 0.073]}}]
environment: {{contact: {{}}}}
actuation: rotors
controller: {controller}
time: {{step_s: 0.001, control_s: {control_s}}}
{text}
""",
        "x500",
    )


def team(
    n: int, controller: str, load_kg: float, *, length: float = 1.0, text: str = ""
) -> Scenario:
    """Vehicles on a circle that carry a payload on cables."""
    cables = []
    for i in range(n):
        angle = 2.0 * np.pi * i / n
        point = [round(float(1.2 * np.cos(angle)), 6), round(float(1.2 * np.sin(angle)), 6), 0.1]
        cables.append(
            f"{{type: cable, a: quad{i + 1}, b: payload, b_point_m: {point}, length_m: {length}}}"
        )
    return scenario_from_text(
        f"""
schema: 1
description: Several X500 with one payload.
model:
  vehicles: [{", ".join(["{use: x500}"] * n)}]
  payloads: [{{name: payload, mass_kg: {load_kg}, inertia_kg_m2: [0.3, 0.3, 0.5],
               shape: {{type: box, size_m: [2.4, 2.4, 0.2]}}}}]
  attachments: [{", ".join(cables)}]
actuation: rotors
controller: {controller}
time: {{step_s: 0.001, control_s: 0.004}}
{text}
""",
        "team",
    )


def place_of(scenario: Scenario, row: int) -> list[float]:
    """Where a vehicle begins, north, east, down."""
    east, north, up = map(float, initial_states(scenario)[row, :3])
    return [north, east, -up]
