"""Good recordings of every kind that can be read, as bytes, to be damaged."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from rotor_core.config.loader import load_scenario
from rotor_flight.fly import fly
from rotor_recordings.formats.bag_writer import write_bag
from rotor_recordings.formats.flights import open_flight, recording_of
from rotor_recordings.formats.tum import write_tum

SECONDS = 0.6
FRAMES = 12


def _vicon() -> str:
    lines = [
        "Segments",
        "100",
        ",,quad1:quad1,,,,,,",
        "Frame,Sub Frame,RX,RY,RZ,RW,TX,TY,TZ",
        ",,,,,,mm,mm,mm",
    ]
    lines += [f"{i},0,0,0,{0.01 * i:.3f},1,{10 * i},{i * i},1000" for i in range(FRAMES)]
    return "\n".join(lines) + "\n"


def _crazyflies() -> bytes:
    """Logs of three vehicles with a payload below them."""
    t = np.arange(0.0, 2.0, 0.01)
    wave = np.column_stack([0.1 * np.sin(t), 0.1 * np.cos(t), 0.5 + 0.0 * t])
    arrays: dict[str, np.ndarray] = {}
    for k, angle in enumerate((0.0, 2.1, 4.2)):
        away = np.array([0.3 * np.cos(angle), 0.3 * np.sin(angle), 0.4])
        own = {
            "t": t, "pos": wave + away, "gyro": 0.0 * wave, "payload_pos": wave, "payload_pos_ref": wave, "payload_vel_ref": 0.0 * wave,
            "rpy": 0.0 * wave, "thrust_cmd": np.full(len(t), 0.4), "torque_cmd": 0.0 * wave,
        }  # fmt: skip
        arrays |= {f"cf{k + 1}/{name}": value for name, value in own.items()}
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def make_samples(folder: Path) -> dict[str, bytes]:
    """Files by their names in a folder for recordings; the bag is ``bag/...``."""
    flight = fly(load_scenario("dragonfly_point_mass"), duration=SECONDS)
    bag = folder / "bag"
    write_bag(flight, bag)
    track = recording_of(open_flight(str(bag)), "bag").track("quad1")
    write_tum(folder / "quad1.tum", track)
    samples = {f"bag/{path.name}": path.read_bytes() for path in sorted(bag.iterdir())}
    samples["quad1.tum"] = (folder / "quad1.tum").read_bytes()
    samples["trial.csv"] = _vicon().encode()
    samples["team.npz"] = _crazyflies()
    samples["case.json"] = (Path(__file__).parents[1] / "data" / "pendulum.json").read_bytes()
    return samples
