"""A mission written in Python: take off from a table, carry a parcel to another, set it down, and leave.

./rotor python examples/10_mission.py
"""

import tempfile
from pathlib import Path

import rotor

SCENARIO = """
schema: 1
model:
  vehicles:
    - use: dragonfly
      name: quad
      feet_m: [[0.08, 0.08, -0.06], [0.08, -0.08, -0.06], [-0.08, 0.08, -0.06], [-0.08, -0.08, -0.06]]
  payloads:
    - name: parcel
      mass_kg: 0.06
      inertia_kg_m2: [3.0e-5, 3.0e-5, 4.0e-5]
      shape: {type: box, size_m: [0.06, 0.06, 0.04]}
  attachments: [{type: rigid_link, parent: quad, child: parcel, position_m: [0.0, 0.0, -0.035]}]
initial: [{entity: quad, position_m: [0.0, 0.0, 0.56]}]
environment:
  contact: {}
  obstacles:
    - {name: table, position_m: [0.0, 0.0, 0.25], shape: {type: box, size_m: [0.8, 0.8, 0.5]}}
    - {name: shelf, position_m: [2.0, 0.0, 0.5], shape: {type: box, size_m: [0.6, 0.6, 1.0]}}
controller: {use: quadrotor}
settle_s: 1.0
mission:
  steps:
    - {type: take_off, height_m: 1.0}
    - {type: go_to, position_m: [2.0, 0.0, 1.6]}
    - {type: land, height_m: 1.06}
    - {type: release, payload: parcel}
    - {type: take_off, height_m: 0.5}
    - {type: go_to, position_m: [0.0, 0.0, 1.5]}
"""


def main() -> None:
    """Fly it, and say how it went."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "parcel.yaml"
        file.write_text(SCENARIO)
        flight = rotor.fly(str(file))
    mission = flight.extra["mission"]
    print("\n".join(mission["log"]))
    parcel = flight["parcel"].position[-1]
    print(f"mission {mission['status']}; the parcel stands at {parcel.round(3).tolist()} m")
    assert mission["status"] == "succeeded" and abs(parcel[2] - 1.02) < 0.01


if __name__ == "__main__":
    main()
