"""Unknowns of a steady flight and what they mean for a world: the other half of :mod:`rotor_sim.analysis.trim`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from transforms3d.quaternions import axangle2quat, qinverse, qmult, quat2mat

from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import plant_model
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team, teams
from rotor_core.config.vehicles.outline import linked_places
from rotor_core.errors import ModelError
from rotor_core.math.rotation_vectors import rotation_from
from rotor_core.state import FULL_STATE, State
from rotor_core.vehicles.hover import LEAST_GRAVITY
from rotor_core.vehicles.rotors import rotor_set
from rotor_dynamics.engine import Engine
from rotor_sim.actuation.helicopter import Helicopters
from rotor_sim.plant.system import system_from_scenario, thrust_gain

STEPS_PER_TURN = 180
"""Of helicopters while they are trimmed."""

PERIOD, STEPS = 0.01, 10
"""Without helicopters: s, and steps in it."""

SLACK = 1e-6
"""A cable this much shorter than its length at the start is slack, m."""

BODY = 12
"""Unknowns of an entity: place (a direction where a cable holds it), attitude, velocity, rate.

Not all count: the place of others, and turning about the axis z, would only choose where and which heading.
"""


@dataclass(frozen=True)
class Outcome:
    """The numbers of one flight; see :class:`rotor_sim.analysis.trim.Trim`."""

    commands: np.ndarray
    engine_torques: np.ndarray
    efforts: np.ndarray
    states: np.ndarray
    joints: np.ndarray
    inflow: np.ndarray


@dataclass(frozen=True)
class _Hung:
    """An entity (row) that cable k holds to another one, which has been placed before."""

    row: int
    other: int
    cable: int
    direction: np.ndarray  # at the start, from the other to it


def _braked(scenario: Scenario) -> Scenario:
    """The scenario with brakes on all drums: cables of the lengths that they have, and no joints."""
    attachments = tuple(
        replace(a, winch=replace(a.winch, drum=None))
        if isinstance(a, CableAttachment) and a.winch is not None and a.winch.drum is not None
        else a
        for a in scenario.model.attachments
    )
    return replace(scenario, model=replace(scenario.model, attachments=attachments))


class SteadyWorld:
    """A world that flies one period from given unknowns.

    Attributes:
        scenario: what flies.
        engine: the world.
        heads: rotors of its helicopters.
        period: s; a turn of the rotor of helicopters.
        speed: share of the wanted velocity that it flies.
    """

    def __init__(
        self, scenario: Scenario, velocity: np.ndarray, *, loads_turn: bool = False
    ) -> None:
        scenario = _braked(scenario)
        self.scenario, self.wanted, self.speed = scenario, velocity, 1.0
        model = scenario.model
        if not model.vehicles:
            raise ModelError(
                "trim: there is no vehicle that could hold anything. Add model.vehicles."
            )
        self._names = [e.name for e in model.entities]
        self._free = range(
            len(model.vehicles) if loads_turn else len(model.entities), len(model.entities)
        )
        """Rows of what the air may turn about the vertical."""
        self._lengths = [c.length_m for c in plant_model(scenario).cables]
        self._n_arms = sum(len(v.moving_joints) for v in model.vehicles)
        self.heads = Helicopters(scenario, self._n_arms)
        speeds = {v.helicopter.main_rotor.speed_rad_s for v in model.vehicles if v.helicopter}
        if len(speeds) > 1:
            raise ModelError(
                f"trim: rotors of helicopters must turn at one speed, got {sorted(speeds)} rad/s. "
                "Otherwise their motion is not periodic."
            )
        self.period = 2.0 * np.pi / speeds.pop() if speeds else PERIOD
        self.steps = STEPS_PER_TURN if len(self.heads) else STEPS
        system = system_from_scenario(scenario)
        # in steady flight both laws of the inflow are the same, but only this one is stable
        discs = tuple(replace(disc, law="relaxed") for disc in system.discs)
        self.engine = Engine(replace(system, discs=discs), step=self.period / self.steps)
        wind = np.array(scenario.environment.wind.steady_m_s)
        self.engine.set_wind(np.tile(wind, (len(self.engine.system.bodies), 1)))
        self._initial = initial_states(scenario)
        self._gains = np.ones(len(model.vehicles))
        """Of commands, as the plant has it; rotors have it themselves, helicopters none."""
        if scenario.actuation.mode == "wrench":
            self._gains[:] = [thrust_gain(scenario, v.name) for v in model.vehicles]
        joints = self.heads.joint_states(len(self.engine.joints))
        joints[: self._n_arms, 0] = [j.initial for v in model.vehicles for j in v.moving_joints]
        self._joints = joints
        self._roots: list[int] = []
        self._hung: list[_Hung] = []
        for team in teams(model):
            self._sort(team)
        self._refuse_other_cables()
        self._linked = {
            row: self._places(row) for row in [*self._roots, *(h.row for h in self._hung)]
        }
        self.flown = sorted(self._linked)
        """Rows of the entities whose motion must repeat."""
        self.scale = self._scales()

    @property
    def cables(self) -> list[str]:
        """Names of the cables that hold teams together."""
        names = self.scenario.model.cable_names
        return [names[h.cable] for h in self._hung]

    @property
    def velocity(self) -> np.ndarray:
        """Of the flight in W, (3,) m/s."""
        return self.speed * self.wanted

    def _sort(self, team: Team) -> None:
        model, names = self.scenario.model, self._names
        if team.payload is None or team.rigid:
            self._roots.append(names.index(team.entity))
            return
        root = team.payload
        heavy = [v for v in model.vehicles if v.name in team.vehicles and v.helicopter]
        if len(team.vehicles) == 1 and heavy:
            root = team.vehicles[0]
        self._roots.append(names.index(root))
        for name, k in zip(team.vehicles, team.cables, strict=True):
            other = team.payload if root == name else name
            # vehicles are above what they carry, whichever way round the cable is written
            vertical = np.array([0.0, 0.0, -1.0 if root == name else 1.0])
            self._hung.append(_Hung(names.index(other), names.index(root), k, vertical))

    def _refuse_other_cables(self) -> None:
        """Refuse cables whose loads would be left out: heavy, with rings or springs at vehicles, taut of no team."""
        model = self.scenario.model
        vehicles = [v.name for v in model.vehicles]
        for name, cable in zip(model.cable_names, model.cables, strict=True):
            if cable.mass_kg_per_m:
                raise ModelError(
                    f"trim: {name} has mass, which is not supported. Let the flight settle (`./rotor fly`)."
                )
        self._set_state(self._initial, self._joints)
        ends = self.engine.distances
        held = {h.cable for h in self._hung}
        for k, cable in enumerate(model.cables):
            names = [end.split("/")[0] for end, _ in cable.path]
            if not any(name in vehicles for name in names):
                continue
            if cable.through or cable.around or cable.stiffness_n_per_m:
                what = (
                    "stretches" if cable.stiffness_n_per_m else "runs through rings or around pegs"
                )
                raise ModelError(
                    f"trim: cable{k + 1} {what}, which is not supported. Let the flight settle (`./rotor fly`), or "
                    "give it neither rings nor stiffness."
                )
            if k in held:
                continue
            if ends[k] >= self._lengths[k] - SLACK:
                raise ModelError(
                    f"trim: cable{k + 1} ({cable.a} to {cable.b}) is taut and holds a vehicle by its arm or to the "
                    "world, which is not supported. Remove it, or begin with it slack."
                )

    def _set_state(self, states: np.ndarray, joints: np.ndarray) -> None:
        """Put entities (n, 13) and joints (n_joints, 2) somewhere; links follow from their joints."""
        links = np.zeros((len(self.engine.system.bodies) - len(states), 13))
        links[:, 3] = 1.0
        self.engine.set_state(np.vstack([states, links]), joints=joints, time=0.0)

    def _places(self, row: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Entities rigidly linked to an entity: row, position and rotation in its frame."""
        places = linked_places(self.scenario.model, self._names[row])
        return [(self._names.index(name), p, R) for name, (p, R) in places.items()]

    # --- unknowns ---------------------------------------------------------------------------------

    def _scales(self) -> np.ndarray:
        body = np.repeat([1.0, 0.1, 1.0, 1.0], 3)
        n_rotor = len(self._joints) - self._n_arms
        commands = []
        for vehicle in self.scenario.model.vehicles:
            weight = vehicle.total_mass * max(self.scenario.environment.gravity_m_s2, LEAST_GRAVITY)
            size = vehicle.span
            one = [0.1, 0.1, 0.1, weight] if vehicle.helicopter else [weight] + [weight * size] * 3
            commands.append(one)
        return np.concatenate(
            [np.tile(body, len(self.flown)), np.tile([0.1, 10.0], n_rotor), np.ones(len(self.heads)),
             np.ravel(commands), np.ones(len(self.heads)), np.ones(self._n_arms)]
        )  # fmt: skip

    def start(self) -> np.ndarray:
        """First guess: hover of helicopters, thrust equal to the weight of what there is."""
        n, heads = len(self.flown), len(self.heads)
        x = np.zeros(len(self.scale))
        first = BODY * n + 2 * (len(self._joints) - self._n_arms)
        x[first : first + heads] = [h.at_rest.inflow for h in self.heads.heads]
        model = self.scenario.model
        gravity = self.scenario.environment.gravity_m_s2
        whole = sum(e.mass_kg for e in model.entities)
        vehicles = sum(v.mass_kg for v in model.vehicles)
        commands = np.zeros((len(model.vehicles), 4))
        for i, vehicle in enumerate(model.vehicles):
            commands[i, 0] = vehicle.mass_kg * whole / vehicles * gravity
        for head in self.heads.heads:
            at_rest = head.at_rest
            commands[head.vehicle] = (
                at_rest.collective,
                at_rest.lateral_tilt,
                0.0,
                at_rest.tail_force,
            )
        at_commands = slice(first + heads, first + heads + commands.size)
        x[at_commands] = commands.ravel()
        x[at_commands.stop : at_commands.stop + heads] = [
            h.at_rest.torque for h in self.heads.heads
        ]
        x /= self.scale
        for row, head in ((h.vehicle, h) for h in self.heads.heads):
            x[BODY * self.flown.index(row) + 3] = head.at_rest.roll / 0.1
        return x

    def _split(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        """Bodies (n, 12), rotor joints (n, 2), inflow, commands (n_vehicles, 4), engine torques, efforts."""
        n, heads = len(self.flown), len(self.heads)
        n_rotor = len(self._joints) - self._n_arms
        n_commands = 4 * len(self.scenario.model.vehicles)
        ends = np.cumsum([BODY * n, 2 * n_rotor, heads, n_commands, heads])
        parts = np.split(x * self.scale, ends)
        return (
            parts[0].reshape(n, BODY), parts[1].reshape(n_rotor, 2), parts[2],
            parts[3].reshape(-1, 4), parts[4], parts[5],
        )  # fmt: skip

    def _states(self, bodies: np.ndarray) -> np.ndarray:
        """States of all entities, (n, 13)."""
        states = self._initial.copy()
        states[:, 7:] = 0.0
        State(states).velocity[:] = self.velocity
        unknown = {row: bodies[i] for i, row in enumerate(self.flown)}
        for row in self._roots:
            _move(states[row], unknown[row], heads=row not in self._free)
            self._carry(states, row)
        for h in self._hung:
            u = unknown[h.row]
            _move(states[h.row], u, heads=h.row not in self._free)
            cable = self.scenario.model.cables[h.cable]
            mine, theirs = cable.a_point_m, cable.b_point_m
            if cable.b == self._names[h.row]:
                mine, theirs = theirs, mine
            here, there = State(states[h.row]), State(states[h.other])
            R, R_o = quat2mat(here.attitude), quat2mat(there.attitude)
            across = u[:3] - (u[:3] @ h.direction) * h.direction
            xi = h.direction + across
            xi /= np.linalg.norm(xi)
            rate = u[6:9] - (u[6:9] @ xi) * xi
            arm, arm_o = R @ np.array(mine), R_o @ np.array(theirs)
            here.position[:] = there.position + arm_o + self._lengths[h.cable] * xi - arm
            here.velocity[:] = there.velocity + np.cross(R_o @ there.body_rate, arm_o) + rate
            here.velocity[:] -= np.cross(R @ here.body_rate, arm)
            self._carry(states, h.row)
        return states

    def _carry(self, states: np.ndarray, row: int) -> None:
        """Move everything that is rigidly linked to an entity along with it."""
        s = states[row].copy()
        R = quat2mat(State(s).attitude)
        for other, p, turn in self._linked[row]:
            if other == row:
                continue
            from_parent = qmult(
                qinverse(State(self._initial).attitude[row]), State(self._initial).attitude[other]
            )
            State(states).position[other] = State(s).position + R @ p
            State(states).attitude[other] = qmult(State(s).attitude, from_parent)
            State(states).velocity[other] = State(s).velocity + R @ np.cross(State(s).body_rate, p)
            State(states).body_rate[other] = turn.T @ State(s).body_rate

    def begin(self, x: np.ndarray) -> None:
        """Put the world where the unknowns say, with its commands acting.

        Raises:
            ModelError: a cable would be too long.
        """
        bodies, rotor_joints, inflow, commands, torques, efforts = self._split(x)
        engine = self.engine
        joints = self._joints.copy()
        joints[self._n_arms :] += rotor_joints
        for own in self.heads.joints:
            joints[own.start, 0] = 0.0
        engine.swash.write_inflow(inflow)
        every = engine.joints.efforts
        every[: self._n_arms] = efforts
        wrenches = self._gains[:, None] * commands
        angles = np.zeros((len(self.heads), 3))
        for i, head in enumerate(self.heads.heads):
            angles[i] = self.heads.swash(i, commands[head.vehicle])
            wrenches[head.vehicle, :3] = 0.0
            every[head.joints.start] = torques[i]
        engine.swash.write(angles, at_once=True)
        for i in np.flatnonzero(engine.joints.is_driven):
            engine.joints.hold(int(i), joints[i, 0])
        engine.joints.write_efforts(every, at_once=True)
        engine.wrenches[:] = wrenches
        self._set_state(self._states(bodies), joints)
        if self.scenario.actuation.mode == "rotors":
            sets = [rotor_set(v.rotors) for v in self.scenario.model.vehicles]
            speeds = engine.rotors.targets
            wanted = np.concatenate([s.speeds(w) for s, w in zip(sets, wrenches, strict=True)])
            speeds[: len(wanted)] = wanted
            multirotors = [v.helicopter is None for v in self.scenario.model.vehicles]
            engine.wrenches[multirotors] = 0.0
            engine.rotors.start(speeds)

    def residual(self, x: np.ndarray) -> np.ndarray:
        """Mean accelerations over a period (and mean velocity less the wanted one): what must vanish."""
        self.begin(x)
        engine, n = self.engine, len(self._initial)
        before, joints = engine.motion[:n, FULL_STATE].copy(), engine.joints.states
        inflow = engine.swash.inflow
        engine.run(self.steps)
        after, T = engine.update_kinematics()[:n, FULL_STATE], self.period
        parts = []
        for row in self.flown:
            a, b = before[row], after[row]
            turn = rotation_from(qmult(qinverse(State(a).attitude), State(b).attitude)).as_rotvec()
            parts += [(b[:3] - a[:3]) / T - self.velocity, turn / T, (b[7:] - a[7:]) / T]
        change = engine.joints.states - joints
        for own in self.heads.joints:
            change[own.start, 0] -= 2.0 * np.pi
        parts += [change.ravel() / T, (engine.swash.inflow - inflow) / T]
        return np.concatenate(parts)

    def describe(self, residual: np.ndarray) -> str:
        """Largest deviation from steady flight, in words."""
        worst = int(np.argmax(np.abs(residual)))
        if worst >= BODY * len(self.flown):
            return f"its rotor does not come to a periodic motion (residual {residual[worst]:.3g})"
        name = self._names[self.flown[worst // BODY]]
        what = ("velocity", "rate of attitude", "acceleration", "angular acceleration")
        axis = "xyz"[worst % 3]
        return f"the {what[worst % BODY // 3]} of {name!r} along {axis} stays {residual[worst]:.3g} off"

    def outcome(self, x: np.ndarray) -> Outcome:
        """Commands and states of the unknowns."""
        self.begin(x)
        _, _, _, commands, torques, efforts = self._split(x)
        engine = self.engine
        states = engine.motion[: len(self._initial), FULL_STATE].copy()
        n = len(efforts)
        driven = engine.joints.is_driven[:n]  # what these need follows from the rest
        efforts = np.where(driven, engine.joints.told_efforts[:n], efforts)
        return Outcome(
            commands.copy(), torques.copy(), efforts, states, engine.joints.states,
            engine.swash.inflow,
        )  # fmt: skip


def _move(state: np.ndarray, u: np.ndarray, *, heads: bool) -> None:
    """Attitude, velocity and rate of a state changed by unknowns; its place, and where it ``heads``, stay."""
    turn = np.array([u[3], u[4], 0.0 if heads else u[5]])
    angle = float(np.linalg.norm(turn))
    if angle > 0.0:
        State(state).attitude[:] = qmult(
            State(state).attitude, axangle2quat(turn / angle, angle, is_normalized=True)
        )
    State(state).velocity[:] += u[6:9]
    State(state).body_rate[:] = u[9:12]
