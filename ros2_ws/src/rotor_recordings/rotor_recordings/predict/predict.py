"""Prediction of a flight by the simulator, from a recorded state on, with the recorded commands or references.

With the commands of the recording the plant alone is judged; with its references plant and controller are. This is how
the paper validates its collision model (Li, Sun, Loianno 2023, section VI).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rotor_control.controller import Controller, make_controller
from rotor_core.config.controllers import PlannedControl, PredictiveControl
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError, ContractError, SolverError
from rotor_core.reference import ATTITUDE
from rotor_core.state import FULL_STATE, State, States, blended
from rotor_dynamics.hybrid.events import PARTS, Event
from rotor_flight.flight import SAME_TIME, Flight
from rotor_sim.period import Decision, control_period
from rotor_sim.simulation import Simulation

Feed = Literal["commands", "reference"]

Hook = Callable[[Simulation, float], None]
"""Called with the simulation and the time of the recording before every control period."""


@dataclass(frozen=True)
class Prediction:
    """A predicted flight.

    Attributes:
        flight: one row per control period, at times of the recording; it ends early where nothing could go on.
        shift: how far the recorded state was moved to fit the cables, m.
        ended: why it ended early; empty: it did not.
    """

    flight: Flight
    shift: float
    ended: str = ""


def predict(
    record: Flight, at: float = 0.0, duration: float | None = None, feed: Feed = "commands",
    hook: Hook = lambda simulation, t: None,
) -> Prediction:  # fmt: skip
    """Predict a recorded flight from one of its states.

    Rotor speeds begin where the command at that time holds them; the integral of the controller at zero.

    Args:
        record: what was recorded.
        at: where to begin, s since its start; the row nearest to it counts.
        duration: s; None: to the end of the recording.
        feed: what drives the prediction.
        hook: to change what only the caller knows.

    Raises:
        ConfigError: the recording lacks what is fed, or a part of the state.
    """
    scenario = record.scenario
    length = float(record.time[-1] - record.time[0])
    if not 0.0 <= at <= length:
        raise ConfigError(f"--at: must be within the recording, 0 to {length:.3f} s, got {at:g}.")
    begin = int(np.abs(record.time - record.time[0] - at).argmin())
    start = float(record.time[begin])
    end = float(record.time[-1]) if duration is None else start + duration
    states = record.states[begin]
    if np.isnan(states).any():
        raise ConfigError(
            f"--at {at:g}: the recording does not hold the state of every entity there. Begin elsewhere."
        )
    if winding := untold_orders(scenario):
        raise ConfigError(
            f"{winding}, so it cannot be replayed. Fly it again, and put both beside each other with `./rotor compare`."
        )
    if (begin or record.begun) and (untold := untold_past(scenario)):
        late = "" if begin else f", and the recording begins {record.begun:.3f} s after it"
        raise ConfigError(f"--at: {untold}; a flight can be replayed from its start only{late}.")
    simulation = Simulation(scenario)
    simulation.reset(time=start, elapsed=start - float(record.time[0]) + record.begun)
    _make_past(record, simulation, start)
    shift = _put(simulation, record, begin)
    if begin and any(v.battery for v in scenario.model.vehicles):
        _drain(record, simulation, start)
    controller = _controller(record) if feed == "reference" else None
    commands = record.all_commands
    if feed == "commands" and not len(commands.time):
        raise ConfigError(
            "--feed commands: the recording holds no commands (rotor/team_command, or <vehicle>/cmd/wrench "
            "of all vehicles)."
        )
    if feed == "commands" and commands.at(start) < 0:
        raise ConfigError(
            f"--feed commands: no command had been recorded at {start - float(record.time[0]):.3f} s. Begin "
            "later (--at), or use --feed reference."
        )
    joints = sum(len(v.moving_joints) for v in scenario.model.vehicles)
    if feed == "commands" and joints and not commands.efforts.shape[1]:
        raise ConfigError(
            "--feed commands: the recording has no efforts of the joints. Use --feed reference."
        )
    if begin and commands.efforts.shape[1] == joints:
        # motors are where the commands before have left them
        before = slice(
            int(np.searchsorted(commands.time, start - REMEMBERED)), max(0, commands.at(start))
        )
        simulation.recall(
            commands.time[before], commands.wrenches[before], commands.efforts[before]
        )
    return _run(record, simulation, controller, (start, end), shift, hook)


def _drain(record: Flight, simulation: Simulation, start: float) -> None:
    """Let batteries have given by ``start``, s, what the commands before it take from them.

    Raises:
        ConfigError: the recording does not hold all of these.
    """
    first = float(record.time[0])
    if record.begun or record.all_commands.at(first) < 0:
        raise ConfigError(
            "--at: what is left in the batteries is not recorded, nor all commands before. Begin at the start of the "
            "recording, if that is the start of the flight."
        )
    before = Simulation(record.scenario)
    before.reset(time=first)
    _put(before, record, 0)
    _run(record, before, None, (first, start), 0.0, lambda simulation, t: None)
    for part in ("state", "motors", "looked_at"):
        getattr(simulation.supply, part)[:] = getattr(before.supply, part)


REMEMBERED = 1.0
"""What motors were asked for longer before the start of a replay has no effect, s."""


def untold_orders(scenario: Scenario) -> str:
    """Reason why a flight depends on orders that nobody records; empty: it does not."""
    names = zip(scenario.model.cable_names, scenario.model.cables, strict=True)
    winding = [name for name, cable in names if cable.winch]
    return (
        f"{winding[0]} has a winch: recordings do not hold what it was asked for" if winding else ""
    )


def orders_in(record: Flight) -> list[Event]:
    """Cuts, grips and releases of a flight by somebody else than its scenario, in the order of time."""
    scenario, start = record.scenario, float(record.time[0]) - record.begun
    period = scenario.time.control_s
    own = [
        (kind, change.at_s)
        for change in scenario.changes
        for kind in ("cut", "attach", "release")
        if getattr(change, kind) is not None
    ]
    return [
        event
        for event in record.events
        if event.type in ("cut", "attach", "release")
        and not any(
            kind == event.type and abs(event.time - start - at) < 1.5 * period for kind, at in own
        )
    ]


def untold_past(scenario: Scenario) -> str:
    """Reason why a later part of a flight depends on what nobody records; empty: it does not."""
    model = scenario.model
    if any(v.helicopter for v in model.vehicles):
        return "the blades of a helicopter are not recorded"
    if any(c.mass_kg_per_m for c in model.cables):
        return "how the masses of heavy cables move is not recorded"
    for name, cable in zip(model.cable_names, model.cables, strict=True):
        if any(part.turn == 0 for part in cable.cylinders):
            return f"how {name} lies on what it may wrap around is not recorded"
    if scenario.environment.wind.turbulence is not None:
        return "environment.wind.turbulence: how it blows depends on all that it has blown before"
    if any(v.battery and v.battery.assumed_v is not None for v in model.vehicles):
        return "battery.assumed_v: motors depend on the charge, which is not recorded"
    return ""


def _run(
    record: Flight, simulation: Simulation, controller: Controller | None, span: tuple[float, float],
    shift: float, hook: Hook,
) -> Prediction:  # fmt: skip
    scenario, commands = record.scenario, record.all_commands
    period = scenario.time.control_s
    n = int((span[1] - span[0]) / period + SAME_TIME)
    entities, cables = len(simulation.names), len(scenario.model.cables)
    times = span[0] + period * np.arange(n + 1)
    states, sent = np.empty((n + 1, entities, 13)), np.empty((n + 1, simulation.n_vehicles, 4))
    tensions, taut = np.zeros((n + 1, cables)), np.zeros((n + 1, cables), bool)
    references = np.full((n + 1, *record.references.shape[1:]), np.nan)
    joints = np.empty((n + 1, *simulation.joint_states.shape))
    ended, last, i, t = "", n, 0, span[0]

    def decide(measured: States) -> Decision:
        if controller is None:
            k = commands.at(float(t))
            return commands.wrenches[k], _efforts(commands.efforts, k)
        if np.isnan(references[i]).any():
            raise ConfigError(
                f"--feed reference: the recording has no reference of a team at {t - record.time[0]:.3f} s (its "
                "vehicles flew alone, or nothing was planned). Use --feed commands, or another part."
            )
        wanted = _joint_reference(record, float(t))
        wrenches = controller.decide(measured.array, references[i], simulation.joint_states, wanted)
        return wrenches, controller.efforts

    def keep(wrenches: np.ndarray) -> None:
        states[i], sent[i] = simulation.motion[:, FULL_STATE], wrenches
        joints[i] = simulation.joint_states
        if cables:
            tensions[i], taut[i] = simulation.engine.tensions, simulation.engine.taut

    orders = [e for e in orders_in(record) if e.time > span[0] - 0.5 * period]
    for i, t in enumerate(times):
        hook(simulation, float(t))
        references[i] = _reference(record, float(t))
        try:
            while orders and orders[0].time < t + 0.5 * period:
                _obey(simulation, orders.pop(0))
            control_period(simulation, decide, record=keep, integrates=i < n)
        except (SolverError, ContractError) as error:
            ended, last = f"after {t - span[0]:.3f} s: {error}", i
            break
    kept = slice(0, max(last, 1) + (not ended))
    flight = Flight(
        scenario, times[kept], states[kept], references[kept], sent[kept], tensions[kept], taut[kept],
        simulation.take_events(), joints=joints[kept],
    )  # fmt: skip
    return Prediction(flight, shift, ended)


def _controller(record: Flight) -> Controller:
    """Our controller, where the recording has all that it follows.

    Raises:
        ConfigError: it follows plans, or joints, which the recording does not hold.
    """
    scenario = record.scenario
    control = scenario.controller
    looks_ahead = isinstance(control, (PredictiveControl, PlannedControl))
    if looks_ahead or getattr(control, "feedforward", "") == "nominal":
        what = f"controller {control.type}" if looks_ahead else "feedforward: nominal"
        raise ConfigError(
            f"--feed reference: {what} looks ahead along plans, and a recording holds references only. Use --feed "
            "commands."
        )
    if any(v.moving_joints for v in scenario.model.vehicles) and not record.joint_references.size:
        raise ConfigError(
            "--feed reference: the recording has no references of the joints. Use --feed commands."
        )
    return make_controller(scenario)


def _put(simulation: Simulation, record: Flight, begin: int) -> float:
    states = {
        name: s / _scale(s) for name, s in zip(simulation.names, record.states[begin], strict=True)
    }
    joints = record.joints[begin] if record.joints.size else None
    return simulation.set_states(states, project=True, joints=joints)


def _scale(state: np.ndarray) -> np.ndarray:
    """Divisor that brings the quaternion of a recorded state to unit length."""
    out = np.ones(13)
    State(out).attitude[:] = np.linalg.norm(State(state).attitude)
    return out


def _cut(simulation: Simulation, event: Event) -> None:
    """Cut the cables that an event is about."""
    for k in event.cables:
        simulation.engine.cut(k)


def _obey(simulation: Simulation, order: Event) -> None:
    """Do again what somebody ordered."""
    if order.type == "cut":
        _cut(simulation, order)
    elif order.type == "attach":
        simulation.attach(*order.bodies)
    else:
        simulation.release(*order.bodies)


def _make_past(record: Flight, simulation: Simulation, start: float) -> None:
    """Cut what had been cut or had broken by then."""
    for event in record.all_events:
        if event.time >= start:
            break
        if event.type in PARTS:
            _cut(simulation, event)
        elif event.type in ("attach", "release"):
            raise ConfigError(
                f"--at: {event.type} of {' and '.join(event.bodies)} at {event.time - float(record.time[0]):.3f} s "
                "came before. Begin the replay before it, or replay a flight without it."
            )


def between(
    time: np.ndarray, rows: np.ndarray, t: float, attitude: int | None = None
) -> np.ndarray:
    """Rows at a time, along the straight line between two of them.

    ``attitude``: column at which quaternions begin; they go the short way round, and have unit length.
    """
    i = int(np.clip(np.searchsorted(time, t), 1, len(time) - 1))
    share = np.clip((t - time[i - 1]) / (time[i] - time[i - 1]), 0.0, 1.0)
    if share in (0.0, 1.0):  # an unknown neighbour does not matter then
        return rows[i - 1 + int(share)].copy()
    if attitude is None:
        return (1.0 - share) * rows[i - 1] + share * rows[i]
    return blended(rows[i - 1], rows[i], float(share), attitude)


def _joint_reference(record: Flight, t: float) -> np.ndarray | None:
    if not record.joint_references.size:
        return None
    return between(record.time, record.joint_references, t)


def _reference(record: Flight, t: float) -> np.ndarray:
    """References at a time, (n_teams, 28)."""
    return between(record.time, record.references, t, ATTITUDE)


def _efforts(efforts: np.ndarray, row: int) -> np.ndarray | None:
    return efforts[row] if efforts.shape[1] else None
