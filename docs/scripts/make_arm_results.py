"""Writes docs/results/arms.md: Kremer et al. 2022 reproduced, and what links cost (beside MuJoCo, if installed).

./rotor python docs/scripts/make_arm_results.py
"""

from __future__ import annotations

import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from time import process_time

import numpy as np

from rotor_flight.warm import warm
from validation.papers.kremer.report import forward_dynamics_us
from validation.papers.kremer.vehicles import chain
from validation.papers.reproduce import reproduce

DOCS = Path(__file__).resolve().parents[1]
COUNTS = (0, 1, 2, 3, 5, 6, 10, 20)
STEPS, ROUNDS = 2000, 5


def mujoco_step_us(n: int) -> float:
    """An RK4 step of 1 ms of the same chain in MuJoCo, us."""
    import mujoco

    vehicle = chain(n)
    body = ""
    for joint, link in reversed(list(zip(vehicle.joints, vehicle.links, strict=True))):
        place = " ".join(map(str, joint.position_m))
        inertia = " ".join(map(str, np.diag(np.array(link.inertia_kg_m2))))
        body = (
            f'<body pos="{place}"><joint type="hinge" axis="0 1 0"/><inertial pos="{link.com_m[0]} 0 0" '
            f'mass="{link.mass_kg}" diaginertia="{inertia}"/>{body}</body>'
        )
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><option timestep="0.001" integrator="RK4"><flag contact="disable" constraint="disable"/></option>'
        '<worldbody><body><freejoint/><inertial pos="0 0 0" mass="6" diaginertia="0.48 0.48 0.95"/>'
        f"{body}</body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    best = np.inf
    for _ in range(ROUNDS):
        mujoco.mj_resetData(model, data)
        began = process_time()
        mujoco.mj_step(model, data, nstep=STEPS)
        best = min(best, (process_time() - began) / STEPS)
    return 1e6 * float(best)


def cost_table() -> list[str]:
    """Rows of the table of costs."""
    peer = find_spec("mujoco") is not None
    head = "| joints | forward dynamics, us | RK4 step, us |" + (
        " MuJoCo RK4 step, us |" if peer else ""
    )
    rows = [head, "|---|---|---|" + ("---|" if peer else "")]
    for n in COUNTS:
        once = forward_dynamics_us(n)
        row = f"| {n} | {once:.2f} | {4.0 * once:.2f} |"
        rows.append(row + (f" {mujoco_step_us(n):.1f} |" if peer else ""))
    return rows


def main() -> None:
    """Write the page and its picture."""
    warm()
    with tempfile.TemporaryDirectory() as folder:
        reproduce("kremer", Path(folder))
        report = (Path(folder) / "report.md").read_text()
        shutil.copy(Path(folder) / "curves.png", DOCS / "images" / "kremer.png")
    report = report.replace("(curves.png)", "(../images/kremer.png)")
    text = "\n".join(
        [
            "# Arms",
            "",
            "Written by `./rotor python docs/scripts/make_arm_results.py`. A base with a chain of revolute "
            "joints, CPU time inside a rollout, guards on, best of five rounds, one core. Cases with arms, "
            "and agreement with Pinocchio and MuJoCo to 1e-10, are tests (`test_replay.py`, `test_trees_peers.py`).",
            "",
            *cost_table(),
            "",
            report.replace("# ", "## ", 1).replace("\n## ", "\n### "),
        ]
    )
    (DOCS / "results" / "arms.md").write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    main()
