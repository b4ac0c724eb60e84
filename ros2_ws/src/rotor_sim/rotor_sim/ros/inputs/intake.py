"""Commands of whatever kind the scenario takes, and whether the present control period has its answer."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.impl.rcutils_logger import RcutilsLogger

from rotor_core.config.model import Model
from rotor_core.config.yaml.units import NANOSECONDS_PER_SECOND
from rotor_core.messages.convert import (
    nanoseconds_from_stamp,
    seconds_between,
    seconds_from_stamp,
)
from rotor_core.messages.team_wire import Heading
from rotor_sim.actuation.timeout import FRESH, ZEROED, CommandWatch
from rotor_sim.period import Decision
from rotor_sim.ros.health import Health
from rotor_sim.ros.inputs.commands import (
    ExternalWrenches,
    WinchOrders,
    subscribe_efforts,
    subscribe_motor_speeds,
    subscribe_swashplates,
    subscribe_team_commands,
    subscribe_wrenches,
)
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.ros.topics.world import SimTime
from rotor_sim.simulation import Simulation


class CommandIntake:
    """Subscribes to commands and external wrenches of one world.

    Args:
        entities, simulation, time, health, logger: of the world.
        shown: stamps of the newest odometry of all entities, (n,) ns; written by who shows it.

    Attributes:
        epoch, period: of the state that has been published last.
        contradicted: whether one state has been answered by two different commands.
        limited: of which vehicles a controller wanted more than the newest command, (n_vehicles,) bool.
    """

    def __init__(
        self,
        entities: Entities,
        simulation: Simulation,
        time: SimTime,
        health: Health,
        logger: RcutilsLogger,
        shown: np.ndarray,
    ) -> None:
        self._simulation, self._time = simulation, time
        self._shown, self._entities = shown, entities
        self.contradicted = False
        self._health, self._logger = health, logger
        self._vehicles = [v.name for v in simulation.scenario.model.vehicles]
        self._watch = CommandWatch.of(simulation.scenario)
        self.epoch = self.period = 0
        self._answered = -1
        self._last: dict[int, tuple[int, np.ndarray]] = {}
        """What was answered last and how: by vehicle, -1: by a team."""
        self.limited = np.zeros(len(self._vehicles), bool)
        self._heard_now: set[int] = set()
        counts = [len(v.moving_joints) for v in simulation.scenario.model.vehicles]
        self._efforts = np.zeros(sum(counts))
        self._owners = np.repeat(np.arange(len(counts)), counts)
        """Vehicle of every joint."""
        kind = self._kind = simulation.scenario.command_input
        if kind != "team":
            self._subscribe_efforts(entities, simulation.scenario.model)
        if kind == "team":
            helicopters = simulation.scenario.model.helicopters
            subscribe_team_commands(
                entities, self._vehicles, counts, helicopters, self._on_team, self.reject
            )
        elif kind == "wrench":
            subscribe_wrenches(entities, self._vehicles, self._on_own, self.reject)
        elif kind == "swashplate":
            subscribe_swashplates(entities, self._vehicles, self._on_own, self.reject)
        else:
            subscribe_motor_speeds(entities, simulation, self._on_own, self.reject)
        self._pushes = ExternalWrenches(entities, simulation, self.reject)
        self._winches = WinchOrders(entities, simulation, self.reject)

    def _subscribe_efforts(self, entities: Entities, model: Model) -> None:
        first = 0
        for vehicle in model.vehicles:
            joints = [j.name for j in vehicle.moving_joints]
            own = self._efforts[first : first + len(joints)]
            first += len(joints)

            def take(efforts: np.ndarray, own: np.ndarray = own) -> None:
                np.copyto(own, efforts, where=np.isfinite(efforts))

            if joints:
                subscribe_efforts(entities, vehicle.name, joints, take, self.reject)

    def begin(self, epoch: int, period: int) -> None:
        """A state is about to be published: commands of this period count as its answer."""
        if epoch != self.epoch:
            self._answered = -1
        if self._answered < period:
            self._heard_now.clear()
        self.epoch, self.period = epoch, period

    def reset(self, epoch: int, period: int) -> None:
        """The state has jumped: nothing has been heard yet, nothing pushes."""
        self._watch.reset()
        self._last.clear()
        self.contradicted = False
        self._efforts[:] = 0.0
        self.limited[:] = False
        self._pushes.clear()
        self._winches.clear()
        self.begin(epoch, period)

    def forget_answers(self) -> None:
        """Whoever answered has yet to come again; what acts goes on until then."""
        self._answered = -1
        self._heard_now.clear()
        self._last.clear()

    def take_over(self, old: CommandIntake, cables: dict[int, int]) -> None:
        """Winches stop if nobody orders on, as in the world before; ``cables``: numbers here and there."""
        self._winches.take_over(old._winches, cables)

    @property
    def lag(self) -> int:
        """Control periods since the state that has been answered last."""
        return self.period - self._answered

    @property
    def is_answered(self) -> bool:
        """True if the present control period has its command."""
        return self._answered == self.period

    @property
    def heard(self) -> bool:
        """True if every vehicle has been commanded since the last reset."""
        return self._watch.heard()

    def late(self) -> list[str]:
        """Vehicles without fresh commands, in words."""
        states = zip(self._vehicles, self._watch.states, strict=True)
        return [f"{name}: {state}" for name, state in states if state != FRESH]

    def decision(self) -> Decision:
        """Newest commands: wrenches and efforts that act from now on."""
        wrenches, changes = self._watch.wrenches(self._simulation.time)
        for i, state in changes:
            if state != FRESH:
                self._logger.warning(
                    f"no command for {self._vehicles[i]}: {state} at t = {self._time.seconds:.3f} s"
                )
        self._health.counts["stale_commands"] += not self.is_answered
        return wrenches, self._acting_efforts()

    def push(self) -> None:
        """Let the newest external wrenches act from now on, and silent winches stop."""
        self._pushes.apply()
        self._winches.apply()

    def _acting_efforts(self) -> np.ndarray:
        """Efforts of all joints; motors go off with rotors."""
        if not len(self._efforts):
            return self._efforts
        silent = np.array([state == ZEROED for state in self._watch.states], bool)
        return np.where(silent[self._owners], 0.0, self._efforts)

    def reject(self, why: str) -> None:
        """Count and log a message that is refused."""
        self._health.counts["rejected_commands"] += 1
        self._logger.warning(f"rejected: {why}", throttle_duration_sec=1.0)

    def _on_team(
        self, heading: Heading, wrenches: np.ndarray, efforts: np.ndarray, limited: np.ndarray
    ) -> None:
        if heading.epoch > self.epoch or (
            heading.epoch == self.epoch and heading.step > self.period
        ):
            self.reject(
                f"a command for step {heading.step} of epoch {heading.epoch}; the newest state is step {self.period} "
                f"of epoch {self.epoch}. Copy step and epoch of the state."
            )
            return
        if heading.epoch != self.epoch or heading.step < self._answered:
            return  # of an earlier run, or older than what has been heard
        age = max(0.0, seconds_between(heading.stamp, self._time.stamp()))
        if heading.step == self.period and age > self._watch.timeout:
            self.reject(
                f"a command whose stamp is {age:.3f} s before that of the state of its step {heading.step}. Copy the "
                "stamp of the state."
            )
            return
        told = np.append(wrenches.ravel(), efforts) if len(efforts) else wrenches.ravel()
        self._compare(-1, heading.step, told)
        self._watch.accept_all(wrenches, self._simulation.time - age)
        self._efforts[:] = efforts
        self.limited[:] = limited
        self._take_answer(heading.step)

    def _on_own(self, vehicle: int, wrench: np.ndarray, stamp: Time) -> None:
        self._watch.accept(vehicle, wrench, self._simulation.time)
        answered = nanoseconds_from_stamp(stamp)
        if answered > 0:
            self._compare(vehicle, answered, wrench)
            self._look_at_clock(vehicle, answered)
        if 0 < answered < self._shown[vehicle]:
            return  # to a state that was shown twice: the answer to this one is on its way
        self._heard_now.add(vehicle)
        if len(self._heard_now) == len(self._vehicles):
            self._take_answer(self.period)

    def _compare(self, vehicle: int, answered: int, command: np.ndarray) -> None:
        """Notice two different answers to one state: most likely two nodes command it."""
        before = self._last.get(vehicle)
        self._last[vehicle] = answered, command.copy()
        if before is None or before[0] != answered or np.array_equal(before[1], command):
            return
        name = (
            "rotor/team_command" if vehicle < 0 else f"{self._vehicles[vehicle]}/cmd/{self._kind}"
        )
        node = self._entities.node
        if node.count_publishers(node.resolve_topic_name(name)) < 2:
            return  # one that is faster than the states that it answers
        self.contradicted = True
        who = "the team" if vehicle < 0 else repr(self._vehicles[vehicle])
        self._logger.warning(
            f"two different commands for {who} answer one state: do two nodes command it? Start with --controller "
            "external, or end one of them.",
            throttle_duration_sec=10.0,
        )

    def _look_at_clock(self, vehicle: int, answered: int) -> None:
        """Notice stamps of another clock, which do not tell late answers from answers to the present state."""
        now = self._time.stamp()
        if answered > nanoseconds_from_stamp(now):
            self._logger.warning(
                f"{self._vehicles[vehicle]}/cmd/{self._kind}: the stamp {answered / NANOSECONDS_PER_SECOND:.3f} s is "
                f"ahead of the simulation, {seconds_from_stamp(now):.3f} s. The command acts, but a late one would "
                "count as the answer to the next state: copy the stamp of the odometry, or start with use_sim_time.",
                throttle_duration_sec=10.0,
            )

    def _take_answer(self, step: int) -> None:
        if step == self.period > self._answered:
            self._health.answered()
        self._answered = step
