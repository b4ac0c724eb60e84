"""A steady flight for people: rows of a table, and plain data."""

from __future__ import annotations

import numpy as np
from transforms3d.euler import quat2euler

from rotor_core.config.schema import Scenario
from rotor_core.state import State
from rotor_sim.analysis.trim import Trim


def rows(scenario: Scenario, found: Trim) -> list[tuple[str, str]]:
    """Rows (what, value)."""
    out = [
        ("scenario", scenario.name),
        ("velocity", " ".join(f"{v:g}" for v in found.velocity) + " m/s"),
        ("steady flight", "exists" if found.exists else f"none: {found.reason}"),
        ("residual", f"{found.residual:.1e} m/s2, rad/s2 after {found.iterations} iterations"),
    ]
    if not np.isfinite(found.residual):
        return out
    model = scenario.model
    helicopters = 0
    for i, vehicle in enumerate(model.vehicles):
        c, name = found.commands[i], vehicle.name
        if vehicle.helicopter is not None:
            angles = " ".join(f"{v:.3f}" for v in np.degrees(c[:3]))
            out.append((f"{name}: collective, lateral, longitudinal", f"{angles} deg"))
            out.append((f"{name}: tail force", f"{c[3]:.4f} N"))
            out.append((f"{name}: engine", f"{found.engine_torques[helicopters]:.4f} N m"))
            helicopters += 1
        else:
            moments = " ".join(f"{v:.4f}" for v in c[1:].round(4) + 0.0)  # no -0
            out.append((f"{name}: thrust; moments", f"{c[0]:.4f} N; {moments} N m"))
    for entity, state in zip(model.entities, found.states, strict=True):
        if entity.inertia_kg_m2 is not None:
            angles = np.degrees(quat2euler(State(state).attitude))
            text = " ".join(f"{v:.3f}" for v in np.round(angles, 3) + 0.0)
            out.append((f"{entity.name}: roll, pitch, yaw", f"{text} deg"))
    names = model.joint_names
    out += [
        (f"{n}: effort", f"{e:.4f} N m or N" if np.isfinite(e) else "driven, unknown")
        for n, e in zip(names, found.efforts, strict=True)
    ]
    for name, value in found.loads.items():
        if name.endswith("_rad"):
            out.append((name.removesuffix("_rad") + "_deg", f"{np.degrees(value):.4f}"))
        else:
            out.append((name, f"{value:.6g}"))
    return out


def plain(scenario: Scenario, found: Trim) -> dict:
    """All numbers; keys carry their units."""
    finite = np.isfinite(found.residual)
    model = scenario.model
    return {
        "scenario": scenario.name,
        "exists": found.exists,
        "reason": found.reason,
        "residual": found.residual if finite else None,
        "velocity_m_s": found.velocity.tolist(),
        "commands": {
            v.name: c.tolist() for v, c in zip(model.vehicles, found.commands, strict=True)
        },
        "engine_torques_n_m": dict(
            zip(model.helicopters, found.engine_torques.tolist(), strict=True)
        ),
        "joint_efforts": [float(e) if np.isfinite(e) else None for e in found.efforts],
        "states": {e.name: s.tolist() for e, s in zip(model.entities, found.states, strict=True)},
        "loads": found.loads,
    }
