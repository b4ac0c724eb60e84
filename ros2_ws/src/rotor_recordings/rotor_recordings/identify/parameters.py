"""Identifiable parameters: named numbers of a scenario, and how they are read and set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rotor_core.config.air.wakes import Wakes
from rotor_core.config.model import DragCoefficients, Payload, Vehicle
from rotor_core.config.schema import PlantChange, Scenario
from rotor_core.config.vehicles.body import inertia_matrix
from rotor_core.errors import ConfigError

LATENCY = "latency_s"


@dataclass(frozen=True)
class Parameter:
    """A number to be found.

    Attributes:
        name: such as ``payload.mass_kg``.
        nominal: where the search begins.
        scale: how far a sensible search goes at first.
        low, high: bounds.
        put: gives a scenario the number.
    """

    name: str
    nominal: float
    scale: float
    low: float
    high: float
    put: Callable[[Scenario, float], Scenario]


def known_parameters(scenario: Scenario) -> dict[str, Parameter]:
    """All numbers of a scenario that can be identified, by name."""
    model = scenario.model
    out = [Parameter(LATENCY, 0.0, 0.01, 0.0, 0.2, lambda s, v: s)]
    for payload in model.payloads:
        out.append(_mass(payload))
        if payload.inertia_kg_m2 is not None:
            out += [_inertia(payload, i) for i in range(3)]
    for k, cable in enumerate(model.cables):
        if cable.winch is None:
            out.append(_length(k, cable.length_m))
    for vehicle in model.vehicles:
        out += [
            _of_plant(scenario, vehicle, "thrust_gain", 1.0, 0.1, (0.3, 3.0)),
            _of_plant(scenario, vehicle, "thrust_gain_per_s", 0.0, 0.01, (-0.5, 0.5)),
            *(_bias(scenario, vehicle, i) for i in range(3)),
            _of_plant(scenario, vehicle, "velocity_gain", 1.0, 0.1, (0.3, 3.0)),
        ]
        if vehicle.rotors.lag_s and scenario.actuation.mode == "rotors":
            out.append(_lag(vehicle))
    for entity in model.entities:
        out.append(_drag(entity))
    if scenario.environment.wakes is not None:
        out.append(_wakes(scenario.environment.wakes))
    return {p.name: p for p in out}


def chosen(scenario: Scenario, names: list[str]) -> list[Parameter]:
    """Parameters by name; a name without its entity (``thrust_gain``) stands for all of that kind.

    Raises:
        ConfigError: an unknown name.
    """
    known = known_parameters(scenario)
    out: dict[str, Parameter] = {}
    for name in names:
        found = [p for n, p in known.items() if n == name or n.rpartition(".")[2] == name]
        if not found:
            raise ConfigError(f"parameter {name!r}: does not exist; known: {', '.join(known)}.")
        out |= {p.name: p for p in found}
    return list(out.values())


def default_names(scenario: Scenario) -> list[str]:
    """Names of the parameters that are identified by default."""
    names = ["mass_kg"] if scenario.model.payloads else []
    names += ["length_m"] if any(c.winch is None for c in scenario.model.cables) else []
    return [*names, "thrust_gain", LATENCY]


def with_values(scenario: Scenario, parameters: list[Parameter], values: np.ndarray) -> Scenario:
    """The scenario with numbers put in."""
    for parameter, value in zip(parameters, values, strict=True):
        scenario = parameter.put(scenario, float(value))
    return scenario


def applied(
    scenario: Scenario, parameters: list[Parameter], values: np.ndarray
) -> tuple[Scenario, float]:
    """The scenario with numbers put in, and the latency, s."""
    latency = next(
        (float(v) for p, v in zip(parameters, values, strict=True) if p.name == LATENCY), 0.0
    )
    return with_values(scenario, parameters, values), latency


def _entity(
    scenario: Scenario, name: str, change: Callable[[Vehicle | Payload], Vehicle | Payload]
) -> Scenario:
    model = scenario.model
    vehicles = tuple(change(v) if v.name == name else v for v in model.vehicles)
    payloads = tuple(change(p) if p.name == name else p for p in model.payloads)
    return replace(scenario, model=replace(model, vehicles=vehicles, payloads=payloads))


def _mass(payload: Payload) -> Parameter:
    name, nominal = payload.name, payload.mass_kg

    def put(scenario: Scenario, value: float) -> Scenario:
        return _entity(scenario, name, lambda e: replace(e, mass_kg=value))

    return Parameter(f"{name}.mass_kg", nominal, 0.2 * nominal, 0.05 * nominal, 20.0 * nominal, put)


def _inertia(payload: Payload, i: int) -> Parameter:
    """One moment of inertia about the payload's axes; the others stay."""
    assert payload.inertia_kg_m2 is not None
    name, axis = payload.name, "xyz"[i]
    nominal = float(inertia_matrix(payload.inertia_kg_m2)[i, i])

    def put(scenario: Scenario, value: float) -> Scenario:
        def change(entity: Vehicle | Payload) -> Vehicle | Payload:
            assert entity.inertia_kg_m2 is not None
            J = inertia_matrix(entity.inertia_kg_m2).copy()
            J[i, i] = value
            return replace(entity, inertia_kg_m2=tuple(tuple(row) for row in J.tolist()))  # type: ignore[arg-type]

        return _entity(scenario, name, change)

    label = f"{name}.inertia_{axis}{axis}_kg_m2"
    return Parameter(label, nominal, 0.3 * nominal, 0.1 * nominal, 10.0 * nominal, put)


def _length(k: int, nominal: float) -> Parameter:
    def put(scenario: Scenario, value: float) -> Scenario:
        model, count, out = scenario.model, -1, []
        for attachment in model.attachments:
            is_cable = attachment in model.cables
            count += is_cable
            out.append(
                replace(attachment, length_m=value) if is_cable and count == k else attachment
            )  # type: ignore[call-arg]
        return replace(scenario, model=replace(model, attachments=tuple(out)))

    return Parameter(
        f"cable{k + 1}.length_m", nominal, 0.05 * nominal, 0.5 * nominal, 2.0 * nominal, put
    )


def _of_plant(
    scenario: Scenario, vehicle: Vehicle, key: str, natural: float, scale: float, bounds: tuple[float, float]
) -> Parameter:  # fmt: skip
    """A number of the plant change of a vehicle; ``natural``: what leaving it out means."""
    given = getattr(_plant_change(scenario, vehicle.name), key)
    nominal = natural if given is None else given

    def put(scenario: Scenario, value: float) -> Scenario:
        return _with_plant(scenario, vehicle.name, key, value)

    return Parameter(f"{vehicle.name}.{key}", nominal, scale, *bounds, put)


def _bias(scenario: Scenario, vehicle: Vehicle, i: int) -> Parameter:
    """One component of the bias of the told attitude."""
    nominal = (_plant_change(scenario, vehicle.name).attitude_bias_rad or (0.0, 0.0, 0.0))[i]

    def put(scenario: Scenario, value: float) -> Scenario:
        bias = list(_plant_change(scenario, vehicle.name).attitude_bias_rad or (0.0, 0.0, 0.0))
        bias[i] = value
        return _with_plant(scenario, vehicle.name, "attitude_bias_rad", tuple(bias))

    return Parameter(f"{vehicle.name}.attitude_bias_{'xyz'[i]}_rad", nominal, 0.05, -0.5, 0.5, put)


def _plant_change(scenario: Scenario, name: str) -> PlantChange:
    return next((c for c in scenario.plant if c.entity == name), PlantChange(entity=name))


def _with_plant(scenario: Scenario, name: str, key: str, value: object) -> Scenario:
    others = tuple(c for c in scenario.plant if c.entity != name)
    own = replace(_plant_change(scenario, name), **{key: value})  # type: ignore[arg-type]
    return replace(scenario, plant=(*others, own))


def _wakes(wakes: Wakes) -> Parameter:
    """Momentum of the jets over the thrust: the coefficient of downwash."""

    def put(scenario: Scenario, value: float) -> Scenario:
        changed = replace(scenario.environment.wakes or wakes, strength=value)
        return replace(scenario, environment=replace(scenario.environment, wakes=changed))

    return Parameter("wakes.strength", wakes.strength, 0.3, 0.0, 3.0, put)


def _lag(vehicle: Vehicle) -> Parameter:
    name, nominal = vehicle.name, vehicle.rotors.lag_s

    def put(scenario: Scenario, value: float) -> Scenario:
        def change(entity: Vehicle | Payload) -> Vehicle | Payload:
            assert isinstance(entity, Vehicle)
            return replace(entity, rotors=replace(entity.rotors, lag_s=value))

        return _entity(scenario, name, change)

    return Parameter(f"{name}.lag_s", nominal, 0.02, 1e-3, 0.5, put)


def _drag(entity: Vehicle | Payload) -> Parameter:
    """Mean linear drag of the three axes, which keep their ratios; without drag all are alike."""
    drag = entity.drag or DragCoefficients()
    nominal = float(np.mean(drag.linear_n_s_per_m))
    ratios = np.array(drag.linear_n_s_per_m) / nominal if nominal > 0.0 else np.ones(3)

    def put(scenario: Scenario, value: float) -> Scenario:
        own = drag.linear_n_s_per_m if value == nominal else tuple((value * ratios).tolist())

        def change(e: Vehicle | Payload) -> Vehicle | Payload:
            return replace(e, drag=replace(e.drag or DragCoefficients(), linear_n_s_per_m=own))

        return _entity(scenario, entity.name, change)

    return Parameter(f"{entity.name}.drag_n_s_per_m", nominal, 0.05, 0.0, 10.0, put)
