"""One control period, written once: sense, decide, limit, act, record, integrate.

The simulator node, flights, predictions, identification, the viewer and fits to real flights call it. Limits at rotor
level are the controller's where it decides and the plant's where it acts. Environments for learning, which step a
batch of worlds in one compiled call, and the compiled loops over whole flights and recorded ones keep a period of
their own; tests hold all to the same bits. So does the laboratory, which has another plant.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rotor_core.state import States
from rotor_sim.simulation import Simulation, Watch

Decision = tuple[np.ndarray, np.ndarray | None]
"""Wrenches of all vehicles, (n_vehicles, 4), and efforts of all joints; None: as they are."""


def control_period(
    simulation: Simulation,
    decide: Callable[[States], Decision | None],
    *,
    record: Callable[[np.ndarray], None] | None = None,
    acts: Callable[[], bool] | None = None,
    integrates: bool = True,
    watch: Watch | None = None,
) -> bool:
    """Run one control period.

    Args:
        simulation: is advanced by one period.
        decide: called with the measured states; None where the period is called off, and nothing happens.
        record: called with the decided wrenches once they act, before time passes.
        acts: asked after the decision; False at the end of a flight, where what is decided is recorded and acts no
            more. Default: always.
        integrates: False where the state is wanted with the command acting and no time passes.
        watch: looks at the state between the physics steps of the period.

    Returns:
        True if something was decided.

    Raises:
        ContractError: the decision has a wrong shape or is not finite.
        SolverError: the integration cannot go on.
    """
    decided = decide(simulation.sense())
    if decided is None:
        return False
    wrenches, efforts = decided
    acting = acts is None or acts()
    if acting:
        simulation.act(wrenches, efforts)
    if record is not None:
        record(wrenches)
    if acting and integrates:
        simulation.step(watch=watch)
    return True
