"""Derivatives of the reference cases, where they lie beside the project: through their snaps, knots and releases."""

from copy import deepcopy

import numpy as np
import pytest
from references import CASES, NO_CASES

from rotor_core.kernels.jit import COMPILED
from rotor_dynamics import memory
from rotor_dynamics.hybrid.impact import INPUT_CHANGED, STATE_SET
from rotor_dynamics.sensitivities.coordinates import difference, sparse
from rotor_dynamics.sensitivities.propagation import Variations
from rotor_recordings.predict.case import STEP, _Replay
from rotor_recordings.predict.case_format import load_case

FILES = sorted((*CASES.glob("cases/*.json"), *CASES.glob("ropes/cases/*.json")))
pytestmark = [
    pytest.mark.skipif(not COMPILED, reason="derivatives are of compiled kernels"),
    pytest.mark.skipif(not FILES, reason=NO_CASES),
]

LONGEST = 10.0
"""Of a case of a minute this much is flown, s: a difference resolves no more of a motion that grows a millionfold."""

SET_UP = 1e-3
"""Step of differences of memory, which is linear or rational in what is changed; of sixth order."""


def on_steps(time):
    return round(float(time) / STEP) * STEP


def prepared(path):
    """A case whose inputs and releases change at the ends of steps."""
    case = deepcopy(load_case(path))
    case["t_end"] = on_steps(min(case["t_end"], LONGEST))
    signals = [*case["inputs"].values()]
    signals += [r["speed"] for r in case.get("rotors", [])]
    signals += [j["torque"] for j in case.get("joints", []) if "torque" in j]
    for signal in signals:
        for knot in signal.get("knots", []):
            knot[0] = on_steps(knot[0])
    for item in (*case.get("cables", []), *case.get("welds", [])):
        if item.get("release_t") is not None:
            item["release_t"] = on_steps(item["release_t"])
    return case


def changed(case, by):
    """The case with other masses, inertias, gravity, and all of it moved and faster: taut cables stay taut."""
    rng = np.random.default_rng(5)
    case = deepcopy(case)
    case["g"] = case.get("g", 9.81) + by * rng.normal()
    for body in case["bodies"]:
        body["m"] *= 1.0 + by * rng.normal()
        if body.get("J") is not None:
            body["J"] = (np.array(body["J"]) * (1.0 + by * rng.normal())).tolist()
    moved, faster = rng.normal(size=(2, 3))
    for state in case["init"]:
        if not case.get("ropes"):  # of which some hang from the world
            state["x"] = (np.array(state["x"]) + by * moved).tolist()
            state["v"] = (np.array(state["v"]) + by * faster).tolist()
    for key in ("theta0", "dtheta0"):
        if key in case:
            case[key] = (np.array(case[key]) + by * rng.normal(size=len(case[key]))).tolist()
    return case


def world_of(case):
    return _Replay(case, STEP, "rkmk4")


def stops_of(world, case):
    times = {*world.knots, *(r[0] for r in world.releases), case["t_end"]}
    return sorted(t for t in times if 0.0 < t <= case["t_end"])


def advance(world, time):
    """Whole steps to a stop, and what changes there; how many."""
    n_steps = round((time - world.engine.time) / STEP)
    world.engine.run(n_steps)
    world.advance(world.engine.time, {"knot"})
    return n_steps


def ended(case):
    """States of all bodies at the end, and the story."""
    world = world_of(case)
    for time in stops_of(world, case):
        advance(world, time)
    engine = world.engine
    n = engine.topology.n_bodies + len(engine.topology.joints)
    return engine.world.start[:n].copy(), [(e.type, e.cables) for e in world.take_events()]


def derived(case):
    """The same states, their derivative with everything that :func:`changed` changes, and doubts."""
    world = world_of(case)
    slopes = [
        weight / SET_UP * difference(*(world_of(changed(case, sign * k * SET_UP)).engine.floats for sign in (1, -1)))
        for k, weight in ((1, 0.75), (2, -0.15), (3, 1.0 / 60.0))
    ]  # fmt: skip
    seed = sparse(sum(slopes))
    what, doubts = STATE_SET, []
    for time in stops_of(world, case):
        engine = world.engine
        changes = Variations(engine, [seed], int(what))
        changes.run(advance(world, time))
        doubts.append(changes.doubt)
        if world.engine is not engine:
            pytest.skip("a rigid link lets go: another world begins")
        n = engine.topology.n_bodies + len(engine.topology.joints)
        _, rows, _ = changes._parts[0]
        np.testing.assert_allclose(
            rows_start(engine, rows[:, 0])[:n], engine.world.start[:n], rtol=0, atol=1e-10
        )
        seed, what = sparse(rows[:, 1]), INPUT_CHANGED  # what is held does not change with anything
    return (
        engine.world.start[:n].copy(),
        rows_start(engine, rows[:, 1])[:n].copy(),
        [d for d in doubts if d],
    )


def rows_start(engine, floats):
    return memory.world_of(engine.ints, np.ascontiguousarray(floats)).start


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_derivatives_of_a_reference_case(path):
    """Everything moves at once; central differences of fourth order at their best step agree to 1e-6 (mostly 1e-10)."""
    case = prepared(path)
    value, told, doubts = derived(case)
    whole_state, whole = ended(case)
    np.testing.assert_allclose(value, whole_state, rtol=0, atol=1e-9)
    best = np.inf
    for step in (1e-3, 1e-4, 1e-5, 1e-6):
        found = [ended(changed(case, k * step)) for k in (1, -1, 2, -2)]
        if all(story == whole for _, story in found):
            x = [s for s, _ in found]
            slope = (8.0 * (x[0] - x[1]) - (x[2] - x[3])) / (12.0 * step)
            best = min(best, np.abs(slope - told).max() / np.abs(told).max())
    if path.stem == "tri_two_snap_together":  # by symmetry; a change of anything parts them
        assert not np.isfinite(best) and "together" in doubts[0].why
        return
    assert best < 1e-6 and not doubts
