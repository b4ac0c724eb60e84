"""Which processes make up a run.

The plan that `./rotor` turns into child processes (and a launch file into actions).
"""

from __future__ import annotations

from pathlib import Path

from ament_index_python.packages import get_package_prefix

from rotor_lab.processes import ProcessPlan

STOP_ORDER = ("recorder", "simulator", "controller", "planner")
"""The recorder first, while what it has not read yet is still in the queues of living publishers."""

EXECUTABLES = {
    "simulator": ("rotor_sim", "simulator"),
    "planner": ("rotor_planning", "planner"),
    "controller": ("rotor_control", "controller"),
    "recorder": ("rotor_lab", "recorder"),
}


def node_plan(name: str, parameters: dict[str, object]) -> ProcessPlan:
    """Command line of one of our nodes with its parameters."""
    package, executable = EXECUTABLES[name]
    command = [str(Path(get_package_prefix(package)) / "lib" / package / executable), "--ros-args"]
    for key, value in parameters.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if isinstance(value, str):
            text = f"'{value}'"  # keep texts such as 1 or true from becoming numbers
        command += ["-p", f"{key}:={text}"]
    return ProcessPlan(name, tuple(command))


def graph_plan(
    scenario: str,
    *,
    bag: Path | None = None,
    seed: int | None = None,
    pacing: str = "",
    duration: float = 0.0,
    controller: str = "node",
) -> dict[str, ProcessPlan]:
    """The nodes of a run, by name, in the order in which they start.

    The controller last, because it sets things moving.

    Args:
        scenario: shipped name or path.
        bag: folder to record into; None: no recorder.
        seed: of the random streams; None: the scenario's.
        pacing: ``lockstep``, ``realtime`` or empty for the scenario's.
        duration: the simulator ends after this simulated time, s; 0: never.
        controller: ``node``, or ``external`` to leave it to the user.
    """
    common: dict[str, object] = {"scenario": scenario, "seed": -1 if seed is None else seed}
    plan = {
        "simulator": node_plan(
            "simulator", {**common, "pacing": pacing, "duration_s": float(duration), "linger": True}
        )
    }
    if bag is not None:
        plan["recorder"] = node_plan("recorder", {**common, "bag": str(bag)})
    plan["planner"] = node_plan("planner", common)
    if controller == "node":
        plan["controller"] = node_plan("controller", common)
    return plan
