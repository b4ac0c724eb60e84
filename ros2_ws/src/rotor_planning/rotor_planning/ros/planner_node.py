"""The planner node: owns the trajectories. Publishes plans and sampled references.

Services start new ones.

Topics, services and parameters: docs/graph.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.executors import Executor
from rclpy.node import Node
from rotor_msgs.msg import TeamState
from rotor_msgs.srv import Preview

from rotor_core.config.initial import initial_states
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import teams
from rotor_core.config.yaml.units import SAME_TIME, rpy_from_wxyz
from rotor_core.errors import ContractError
from rotor_core.messages.convert import (
    nanoseconds_from_stamp,
    reference_message,
    refusal_of_start,
    seconds_between,
    seconds_from_stamp,
    stamp_from_nanoseconds,
    stamp_from_seconds,
    stamp_later,
)
from rotor_core.messages.team_wire import Heading, TeamStateWire
from rotor_core.plans.plan import Plan, hold
from rotor_core.plans.registry import KEPT, PlanRegistry
from rotor_core.reference import ATTITUDE, POSITION
from rotor_core.ros import qos
from rotor_core.ros.compiling import watch_compiling
from rotor_core.ros.epochs import Epochs
from rotor_core.ros.keeper import CAPTURE, Keeper, put_back
from rotor_core.ros.node import declare, declare_live, followed_scenario, run
from rotor_core.saved.capture import Keep
from rotor_core.state import State
from rotor_planning.arms.plans import make_arm_plans
from rotor_planning.missions.start import initial_plans
from rotor_planning.ros.goal_inputs import subscribe_goals
from rotor_planning.ros.goal_marker import GoalMarkers
from rotor_planning.ros.mission_flight import MissionFlight
from rotor_planning.ros.plan_publishers import PlanPublisher
from rotor_planning.ros.trajectory_services import offer_trajectories
from rotor_planning.trajectories.bounds import IMPOSSIBLE, check_size
from rotor_planning.trajectories.from_config import make_plans, plan_from_config
from rotor_planning.trajectories.knots import go_to

LEAD = 0.1
"""A plan asked for by a service starts this long after the latest state, s, so that controllers have it in time."""

JUMP = 0.02
"""A trajectory that begins so far from the reference is told of, m."""

INITIAL_NEAR = 0.01
"""An entity seen this close to where the scenario puts it counts as there, m, noise apart."""

LONGEST, MOST = 3600.0, 1000
"""Times of a preview are below this, s, and so many samples are given at once."""


NOTHING = "nothing is planned in this world: no vehicle of it follows a trajectory"
"""Why requests are refused there."""


class PlannerNode(Node):
    """Plans of all teams of a scenario."""

    def __init__(self) -> None:
        super().__init__("planner")
        watch_compiling(self)
        self.scenario = followed_scenario(self)
        text = "start the scenario's trajectory; false: hover until a service is called"
        self._starts_trajectory = bool(declare(self, "start_trajectory", True, text))
        for name, value, text in (
            ("goal_speed_m_s", 1.0, "peak speed on the way to a goal pose, live"),
            ("goal_acceleration_m_s2", 1.0, "peak acceleration on the way to a goal pose, live"),
        ):
            declare_live(self, name, value, text, (0.05, 20.0))
        model = self.scenario.model
        self.entities = [team.entity for team in teams(model)]
        self._rows = {name: model.index(name) for name in self.entities}
        self._board = PlanRegistry(model)
        self._flown: dict[str, tuple[str, Time, float]] = {}
        """Kind, start and duration of the newest plan of an entity."""
        counts = [len(v.moving_joints) for v in model.vehicles] + [0] * len(model.payloads)
        self._wire = TeamStateWire([e.name for e in model.entities], model.cable_names, counts)
        self._arms = {v.name: v for v in model.vehicles if v.moving_joints}
        self._states = np.zeros((len(model.entities), 13))
        self._heading: Heading | None = None
        self._epochs = Epochs()
        self._next_reference = 0.0
        self.keeper = Keeper(self, self._take)
        self._vehicles = {v.name for v in model.vehicles}
        self._publisher = PlanPublisher(self, self.entities, list(self._arms), self._vehicles)
        self._mission = MissionFlight(self, self.scenario, self._board, self._start_plan)
        self._goals = GoalMarkers(self, self.entities, self._on_goal)
        subscribe_goals(self, self.entities, self._on_goal, self._on_trajectory)
        self.create_subscription(TeamState, "rotor/team_state", self._on_state, qos.TEAM, raw=True)
        offer_trajectories(self, self._serve)
        self.create_service(Preview, "~/preview", self._preview)
        self._go_on()

    def leave(self, executor: Executor, why: str) -> None:
        """Answer those who wait for a mission."""
        self._mission.leave(executor, why)

    def destroy_node(self) -> None:
        """Take the action down too, which a node does not do by itself."""
        self._mission.destroy()
        super().destroy_node()

    # --- put away and taken up --------------------------------------------------------------------

    def _parts(self) -> dict[str, object]:
        return {
            "board": self._board, "flown": self._flown, "heading": self._heading, "epochs": self._epochs,
            "next_reference": self._next_reference, "states": self._states,
        }  # fmt: skip

    def _take(self, arrays: Keep) -> tuple[Scenario, dict]:
        if self._mission.is_running:
            raise ContractError(
                "a mission is flown, whose steps are a running program: it cannot be saved. Save before or after it."
            )
        return self.scenario, CAPTURE.take_parts(self._parts(), arrays)

    def _go_on(self) -> None:
        """Take up what was saved, and publish its plans again for those who have just come."""
        found = self.keeper.saved(self.scenario)
        if found is None:
            return
        got = put_back(self._parts(), found, CAPTURE)
        self._flown, self._heading, self._next_reference = (
            got["flown"], got["heading"], got["next_reference"],
        )  # fmt: skip
        for entity, queue in self._board.queues.items():
            for start, plan in queue.plans:
                self._publisher.plan(entity, plan, stamp_from_nanoseconds(start), self._epochs.now)

    # --- running plans ----------------------------------------------------------------------------

    def _goes_on(self, heading: Heading) -> bool:
        """True of a later state of the same flight, of which nothing but its time is asked."""
        last = self._heading
        if last is None or self._mission.is_running:
            return False
        return heading.epoch == last.epoch and heading.step > last.step

    def _on_state(self, data: bytes) -> None:
        heading = self._wire.peek(data)
        if heading is None or not self._goes_on(heading):
            try:
                heading = self._wire.read(data, self._states)
            except ContractError as error:
                self.get_logger().error(str(error), throttle_duration_sec=1.0)
                return
        if not self._epochs.admits(heading.epoch):
            return
        # a state that comes again is one at which time stands: then everything is shown again
        again = self._heading == heading
        self._heading = heading
        if self._epochs.starts(heading.epoch, heading.step):
            self._begin_epoch(heading)
        now = nanoseconds_from_stamp(heading.stamp)
        if not again:
            self._mission.go_on(now, self._states, lambda: self._wire.cables(data))
        time = seconds_from_stamp(heading.stamp)
        if again or time >= self._next_reference - SAME_TIME:
            # on from when it was due: periods of 4 ms and 100 Hz are 8, 12, 8, 12 ms, not 12 each
            spacing, late = 1.0 / self.scenario.time.topics_hz, time - self._next_reference
            self._next_reference = time + spacing - (late if 0.0 < late < spacing else 0.0)
            for entity, (kind, start, duration) in self._flown.items():
                if self._publisher.shows(entity):
                    reference = self._board.queues[entity].sample(now)
                    self._publisher.reference(entity, reference, heading.stamp)
                elapsed = seconds_between(start, heading.stamp)
                self._publisher.status(entity, kind, elapsed, duration, heading.stamp)

    def _begin_epoch(self, heading: Heading) -> None:
        self._epochs.begin(heading.epoch)
        self._next_reference = 0.0
        # at the very start the plan begins at the true initial pose, later (or put elsewhere) where it is seen
        is_initial = self._is_initial(heading)
        initial = make_plans(self.scenario) if is_initial else {}
        self._board.clear()
        self._flown.clear()
        mission = self.scenario.mission if self._starts_trajectory else None
        self._mission.begin(mission)
        if mission is not None:
            seen = initial_states(self.scenario) if is_initial else self._states
            for entity, plan in initial_plans(self.scenario, mission, seen).items():
                self._publish_plan(entity, plan, heading.stamp, "scenario")
        for entity in self.entities if mission is None else ():
            row = self._states[self._rows[entity]]
            position, yaw = State(row).position.copy(), float(rpy_from_wxyz(State(row).attitude)[2])
            plan = hold(position, yaw)
            if self._starts_trajectory:
                team = next(t for t in teams(self.scenario.model) if t.entity == entity)
                plan = initial.get(entity) or plan_from_config(
                    self.scenario.trajectory, position, yaw, scenario=self.scenario, team=team
                )
            self._publish_plan(entity, plan, heading.stamp, "scenario")
        if self._arms:
            self._publish_arms(heading.stamp)

    def _publish_arms(self, start: Time) -> None:
        """Publish the arm plans of the scenario. Without its trajectory, arms stay as they are."""
        scenario = self.scenario if self._starts_trajectory else replace(self.scenario, arms=())
        vehicles = self.scenario.model.vehicles
        for vehicle, plan in zip(vehicles, make_arm_plans(scenario), strict=True):
            if vehicle.name in self._arms:
                names = [j.name for j in vehicle.moving_joints]
                self._publisher.arm(vehicle.name, names, plan, start)

    def _is_initial(self, heading: Heading) -> bool:
        """True at step 0 if every entity is seen near its initial position in the scenario."""
        near = INITIAL_NEAR + 5.0 * self.scenario.sensing.noise.position_m
        apart = State(self._states).position - State(initial_states(self.scenario)).position
        return heading.step == 0 and bool(np.linalg.norm(apart, axis=1).max() < near)

    def _publish_plan(self, entity: str, plan: Plan, start: Time, kind: str) -> None:
        self._board.queues[entity].add(nanoseconds_from_stamp(start), plan)
        moves = plan.coefficients.shape[2] > 1
        self._flown[entity] = (kind, start, plan.duration if moves else 0.0)
        self._publisher.plan(entity, plan, start, self._epochs.now)
        for other in self._publisher.fading:
            plans = self._board.queues[other].plans
            if len(plans) == 1:  # the first of several, told again, would void the others
                begun, old = plans[0]
                self._publisher.plan(other, old, stamp_from_nanoseconds(begun), self._epochs.now)
        if entity in self.entities:
            end = plan.sample(plan.duration)
            self._goals.move(entity, end[POSITION : POSITION + 3], end[ATTITUDE : ATTITUDE + 4])

    def _start_plan(self, entity: str, start: int, plan: Plan, kind: str) -> None:
        self._publish_plan(entity, plan, stamp_from_nanoseconds(start), kind)

    # --- goals ------------------------------------------------------------------------------------

    def _on_goal(self, entity: str, position: np.ndarray, yaw: float) -> None:
        """Go there at once, from whatever the reference is doing; a height of NaN keeps the present one."""

        def make(reference: np.ndarray) -> Plan:
            height = reference[POSITION + 2]
            goal = np.where(np.isnan(position), height, position)
            return go_to(
                reference, goal, yaw,
                speed=float(self.get_parameter("goal_speed_m_s").value),  # type: ignore[arg-type]
                acceleration=float(self.get_parameter("goal_acceleration_m_s2").value),  # type: ignore[arg-type]
            )  # fmt: skip

        self._log(*self._try(entity, make, "goal", interrupts=True))

    def _on_trajectory(self, entity: str, make: Callable[[np.ndarray], Plan], stamp: Time) -> None:
        start = stamp if stamp.sec or stamp.nanosec else None
        self._log(*self._try(entity, make, "trajectory", interrupts=True, start=start))

    def _log(self, started: bool, text: str) -> None:
        if started:
            self.get_logger().info(text)
        else:
            self.get_logger().warning(f"refused: {text}")

    # --- services ---------------------------------------------------------------------------------

    @property
    def _first(self) -> str:
        """Entity that is meant where none is named; empty in worlds in which nothing is planned."""
        return next(iter(self.entities), "")

    def _serve(
        self,
        entity: str,
        response: object,
        make: Callable[[np.ndarray], Plan],
        kind: str,
        *,
        interrupts: bool = False,
    ) -> object:
        """Make a plan from the reference and start it; say why not where that is impossible."""
        answer = self._try(entity or self._first, make, kind, interrupts=interrupts)
        response.success, response.message = answer  # type: ignore[attr-defined]
        return response

    def _preview(self, request: Preview.Request, response: Preview.Response) -> Preview.Response:
        entity = request.entity or self._first
        if self._heading is None or entity not in self._flown:
            known = ", ".join(self.entities)
            response.message = (
                NOTHING
                if not self.entities
                else "no state has come from the simulator yet; start it first"
                if self._heading is None
                else f"there is no planned entity {entity!r}; known: {known}"
            )
            return response
        if not (0.0 < request.period_s < LONGEST and abs(request.start_s) < LONGEST):
            response.message = (
                f"period_s must be above 0 s, and both it and start_s below {LONGEST:g} s, got "
                f"{request.period_s:g} and {request.start_s:g}"
            )
            return response
        if request.count > MOST:
            response.message = f"count: must be at most {MOST}, got {request.count}"
            return response
        for i in range(request.count):
            when = stamp_later(self._heading.stamp, request.start_s + i * request.period_s)
            reference = self._board.queues[entity].at(nanoseconds_from_stamp(when))
            response.references.append(
                reference_message(entity, reference, when, is_vehicle=entity in self._vehicles)
            )
        response.success = True
        return response

    def _try(
        self,
        entity: str,
        make: Callable[[np.ndarray], Plan],
        kind: str,
        *,
        interrupts: bool,
        start: Time | None = None,
    ) -> tuple[bool, str]:
        if not self.entities:
            return False, NOTHING
        if self._heading is None:
            return False, "no state has come from the simulator yet; start it first"
        now = self._heading.stamp
        followed = self._board.followed(nanoseconds_from_stamp(now))
        alone = [name for name in self._board.singles if name in followed]
        if entity in self._board.dissolved:
            return False, f"{entity} has been released; name one of {', '.join(alone)}"
        if entity in self._board.singles and entity not in alone:
            whole = self.entities[self._board.singles[entity]]
            return False, f"{entity} flies with its team; name {whole}"
        if entity not in self._board.queues:
            known = ", ".join([*self.entities, *alone])
            return False, f"there is no planned entity {entity!r}; known: {known}"
        queue = self._board.queues[entity]
        if self._mission.is_running and not interrupts:
            return False, "a mission runs; cancel it, or call hover, first"
        if not queue:
            return (
                False,
                f"the vehicles of {entity} fly alone; its mission has not made it a team yet",
            )
        left = queue.time_left(nanoseconds_from_stamp(now))
        if not interrupts and left > 0.0:
            return (
                False,
                f"a trajectory of {entity} runs for another {left:.1f} s; wait for its end, or call hover first",
            )
        if start is None:
            start = stamp_from_seconds(seconds_from_stamp(now) + LEAD)
        elif seconds_between(now, start) <= 0.0:
            ago = seconds_between(start, now)
            return False, f"a trajectory must start in the future; its stamp is {ago:.3f} s ago"
        elif refusal := refusal_of_start(now, start):
            return False, f"a trajectory of {entity}: {refusal}"
        if queue.is_full(nanoseconds_from_stamp(start)):
            return False, f"{KEPT} trajectories of {entity} wait already; wait until one has begun"
        # start where the reference will be, so that it does not jump
        there = queue.at(nanoseconds_from_stamp(start))
        try:
            with np.errstate(all="ignore"):
                plan = make(there)
            check_size(plan)
        except IMPOSSIBLE as error:
            return False, str(error)
        apart = float(np.linalg.norm((plan.sample(0.0) - there)[POSITION : POSITION + 3]))
        if kind == "trajectory" and apart > JUMP:
            self.get_logger().warning(
                f"{entity}: the trajectory begins {apart:.2f} m from the present reference, which jumps there. Give "
                "its first point a time_from_start above 0 to be led there."
            )
        self._mission.cancel(f"{kind} was asked for")  # only for what will be flown
        self._publish_plan(entity, plan, start, kind)
        begins = seconds_from_stamp(start)
        return True, f"{entity}: {plan.duration:.2f} s from t = {begins:.3f} s"


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_planning planner``."""
    sys.exit(run(PlannerNode, args))


if __name__ == "__main__":
    main()
