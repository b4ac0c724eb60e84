"""Everything that leaves a simulated world, and when."""

from __future__ import annotations

import time as wall

import numpy as np
from builtin_interfaces.msg import Time

from rotor_core.config.yaml.units import steps_of
from rotor_dynamics.hybrid.events import Event
from rotor_sim.ros.topics.cables import CableTopics
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.ros.topics.rotors import RotorTopics
from rotor_sim.ros.topics.scene import SceneTopic
from rotor_sim.ros.topics.sensors import SensorPublisher
from rotor_sim.ros.topics.world import SimTime, WorldPublisher
from rotor_sim.schedule import Schedule
from rotor_sim.simulation import Simulation


class Outputs:
    """All publishers of one world behind a schedule in physics steps."""

    def __init__(
        self,
        entities: Entities,
        simulation: Simulation,
        time: SimTime,
        *,
        publish_tf: bool,
        publish_map: bool,
    ) -> None:
        self._simulation, self._time, self._publish_tf = simulation, time, publish_tf
        self._world = WorldPublisher(entities, simulation, time, publish_map=publish_map)
        self._sensors = SensorPublisher(entities, simulation, time)
        self._cables = CableTopics(entities, simulation)
        self._rotors = RotorTopics(entities, simulation)
        self._scene = SceneTopic(entities, simulation)
        self._epoch, self._ahead = 0, -1
        timing = simulation.scenario.time
        self._control_steps = timing.steps_per_control
        self._step, self._clock_steps = timing.step_s, steps_of(timing.clock_hz, timing.step_s)
        self._told: int | None = None
        """Physics step to which the clock has been told; None: nothing of this epoch."""
        self._schedule = Schedule.from_rates(
            timing.step_s,
            {
                "topics": timing.topics_hz,
                "scene": timing.markers_hz,
                **self._sensors.rates,
            },
        )
        self.waiting: np.ndarray | None = None
        """Entities with samples that were not published yet."""
        self.topics_due = False
        self.shows_every_state = False
        """The odometry of every state is shown by itself, once, for those who answer it."""
        self.last_repeat = 0.0
        """Wall time at which everything was shown while time stood."""

    def next_after(self, step: int) -> int:
        """First physics step after this one at which the state is to be looked at."""
        return self._schedule.next_after(step)

    def _tell_clock(self, until: int, now: int) -> None:
        """Publish the ticks of the clock until a physics step; ``now``: the present one.

        The clock needs no state: to stop the integration for every tick would cost more than all else that it does.
        """
        first = until if self._told is None else self._told + 1
        self._told = until
        for step in range(first, until + 1):
            if step % self._clock_steps == 0:
                ago = (now - step) * self._step
                self._world.clock(self._simulation.time - ago if ago else None)

    def passed(self, step: int) -> None:
        """A control period is over, and the next one begins with a physics step."""
        self._tell_clock(step - 1, step)

    def ahead(self, step: int) -> None:
        """Publish what is due at the first step of a control period, whatever its commands will be.

        Called again for the same period (an answer was waited for in vain), it is silent;
        so it is where the scenario is about to change what is seen of this instant.
        """
        if self._ahead == step or self._simulation.changes.are_due(self._simulation.elapsed):
            return
        self._ahead = step
        self._tell_clock(step, step)
        if "topics" in self._schedule.due(step):
            self._moving(self._time.stamp(), odometry=not self.shows_every_state)

    def changed(self) -> None:
        """Show this instant once more: something has been changed in it."""
        self._ahead = -1

    def due(self, step: int) -> None:
        """Publish what is due at a physics step; at the first of a period, what depends on its commands."""
        names = self._schedule.due(step)
        begins = step % self._control_steps == 0
        # at the first step of a period, which is the last of the one before, samples have been shown
        self.topics_due |= "topics" in names and not begins
        self._tell_clock(step, step)
        if not names and not (self.shows_every_state and begins):
            return
        stamp = self._time.stamp()
        if "topics" in names:
            if step != self._ahead:
                self._moving(stamp, odometry=not self.shows_every_state)
            self._driven(stamp)
        elif self.shows_every_state and begins:
            self._world.cables(
                stamp
            )  # under the commands, in every instant whose truth has been published
        for name in self._sensors.rates:
            if name in names:
                self._sensors.sample(name, stamp)
        if "scene" in names:
            self._scene.publish(stamp, self._epoch)

    @property
    def shown(self) -> np.ndarray:
        """Stamp of the newest odometry of every entity, (n,) ns."""
        return self._world.shown

    def _moving(self, stamp: Time, *, odometry: bool = True) -> None:
        """Where everything is and how it moves."""
        self._world.motion(stamp, odometry=odometry)
        if self._publish_tf:
            self._world.transforms(stamp)

    def _driven(self, stamp: Time) -> None:
        """What commands and forces do."""
        self._world.joints(stamp)
        self._world.cables(stamp)
        self._sensors.motor_speeds(stamp)
        self._sensors.motors(stamp)
        self._cables.publish(stamp)
        self._rotors.publish(stamp)

    @property
    def shows_the_truth(self) -> bool:
        """True if odometry needs no :meth:`measured`: it is the truth, or shown in every state."""
        return self.shows_every_state or self._simulation.measurement.is_true

    def team_state(self, measured: np.ndarray, epoch: int, period: int) -> None:
        """Ask controllers for the commands of control period ``period``."""
        self._epoch = epoch
        self._world.team_state(measured, epoch, period)

    def measured(self, measured: np.ndarray, step: int) -> None:
        """Odometry of imperfect sensors: at their own rate, or at that of the topics.

        Called at the end of every control period; samples wait until the topics have been due.
        """
        fresh = self._simulation.measurement.pose_sensor.fresh.copy()
        self.topics_due |= "topics" in self._schedule.due(step)
        if self._simulation.measurement.on_board:  # estimates are of now, whatever has arrived
            fresh[: self._simulation.n_vehicles] = self.topics_due
        self.waiting = fresh if self.waiting is None else self.waiting | fresh
        if self._simulation.scenario.sensing.rate_hz is not None or self.topics_due:
            self._world.measured(measured, self.waiting)
            self.waiting, self.topics_due = None, False

    def odometry(self, measured: np.ndarray) -> None:
        """All odometry as it is held now, for those who answer it."""
        if self._simulation.measurement.is_true:
            stamp = self._time.stamp()
            self._world.motion(stamp)  # cables follow the commands that answer it
            self._world.joints(stamp)
        else:
            self._world.measured(measured, None)

    def events(self, *, complete: bool = False) -> list[Event]:
        """Publish the hybrid events since the last call, and return them; see :meth:`Simulation.take_events`."""
        events = self._simulation.take_events(complete=complete)
        self._world.events(events)
        return events

    def standing(self, measured: np.ndarray, epoch: int, period: int) -> None:
        """Everything again while time stands, for those who have just come."""
        self.last_repeat = wall.perf_counter()
        self._world.clock()
        self.team_state(measured, epoch, period)
        stamp = self._time.stamp()
        self._world.motion(stamp)
        self._world.joints(stamp)
        self._world.cables(stamp)
        if not self._simulation.measurement.is_true:
            self._world.measured(measured, None)
        self._cables.publish(stamp)
        self._scene.publish(stamp, epoch)
        if self._publish_tf:
            self._world.transforms_while_time_stands()

    def final(self, step: int | None = None) -> None:
        """The state at which time stops; ``step``: with which it may go on, and which need not be shown again then."""
        if step is not None:
            self._ahead = self._told = step
        self._world.clock()
        stamp = self._time.stamp()
        self._moving(stamp)
        self._driven(stamp)

    def renew(self) -> None:
        """After a jump of time or of the state."""
        self._ahead, self._told = -1, None
        self._world.publish_static()
        self.final()
