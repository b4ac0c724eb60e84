"""The dynamics node: integrates the world at a fixed rate, publishes it, and obeys commands.

Topics, services and parameters: docs/graph.md. It never runs on /clock, because it makes it.
"""

from __future__ import annotations

import sys
import time as wall

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rotor_msgs.msg import TeamCommand
from rotor_msgs.srv import CutCable
from std_srvs.srv import Trigger

from rotor_core._jit import COMPILED, WHY_UNCOMPILED
from rotor_core.config.units import nanoseconds
from rotor_core.interface.errors import ConfigError, ContractError, SolverError
from rotor_core.ros import qos
from rotor_core.ros.convert import seconds_between, wrenches_from_command
from rotor_core.ros.node import SPIN_LIMIT, declare, is_running, run, scenario_parameter
from rotor_sim.command_watch import FRESH, CommandWatch
from rotor_sim.ros.publishers import WorldPublisher, cable_names
from rotor_sim.ros.wrench_inputs import ExternalWrenches, WrenchCommands
from rotor_sim.schedule import Schedule
from rotor_sim.simulation import START_TIME, Simulation

REPEAT_STATE = 0.1
"""A state nobody has answered is published again after this wall time, s."""


COUNTS = "control_periods missed_deadlines stale_commands rejected_commands lockstep_pauses hybrid_events"
"""What the diagnostics count."""

FINISHED = "finished"
"""Diagnostics of a simulation whose duration is over."""


class SimulatorNode(Node):
    """Lockstep or real time over one :class:`Simulation`; see the module docstring."""

    def __init__(self) -> None:
        super().__init__("simulator")
        scenario = scenario_parameter(self)
        pacing = str(
            declare(self, "pacing", "", "lockstep or realtime; empty: as the scenario says")
        )
        self.factor = float(
            declare(
                self, "real_time_factor", scenario.time.real_time_factor, "simulated over wall time"
            )
        )  # type: ignore[arg-type]
        self.duration = float(
            declare(self, "duration_s", 0.0, "end after this simulated time; 0: run until stopped")
        )  # type: ignore[arg-type]
        self.linger = bool(
            declare(
                self, "linger", False, "at the end stay until stopped, so that no message is lost"
            )
        )
        self.wait = bool(
            declare(
                self,
                "wait_for_commands",
                True,
                "stand still until every vehicle has been commanded",
            )
        )
        slow = bool(
            declare(
                self, "allow_uncompiled", False, "run in real time without compiled kernels, slowly"
            )
        )
        self.pacing = pacing or scenario.time.pacing
        if self.pacing not in ("lockstep", "realtime"):
            raise ConfigError(f"parameter pacing: must be lockstep or realtime, got {pacing!r}.")
        if self.factor <= 0.0:
            raise ConfigError(f"parameter real_time_factor: must be > 0, got {self.factor}.")
        if not COMPILED and self.pacing == "realtime" and not slow:
            raise ConfigError(
                f"kernels are not compiled ({WHY_UNCOMPILED}): too slow for real time. Install "
                f"numba in the environment, or set the "
                "parameter allow_uncompiled:=true."
            )
        self.simulation = Simulation(scenario)
        self.vehicles = [v.name for v in scenario.model.vehicles]
        timing = scenario.time
        self.watch = CommandWatch(
            len(self.vehicles),
            timeout=timing.command_timeout_s,
            policy=timing.timeout_policy,
            zero_after=timing.timeout_zero_s,
        )
        self.schedule = Schedule.from_rates(
            timing.step_s,
            {"clock": timing.clock_hz, "topics": timing.topics_hz, "markers": timing.markers_hz},
        )
        self.publisher = WorldPublisher(self, self.simulation)
        self.epoch = self.period = 0
        self.failure = ""
        self.counts = dict.fromkeys(COUNTS.split(), 0)
        self._answered = -1
        self._heard_now: set[int] = set()
        self._paused = False
        self._reset_wanted = False
        self._measured = self.simulation.motion
        self._origin_wall = self._began_wall = wall.perf_counter()
        self._began_sim = self.simulation.time
        self._last_report = 0.0
        if scenario.command_input == "team":
            self.create_subscription(TeamCommand, "/rotor/team_command", self._on_command, qos.TEAM)
        else:
            WrenchCommands(self, self.vehicles, self._on_wrench, self._reject)
        self.pushes = ExternalWrenches(self, self.simulation, self._reject)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(CutCable, "~/cut_cable", self._on_cut)

    # --- what comes in ----------------------------------------------------------------------------

    def _on_command(self, message: TeamCommand) -> None:
        if message.epoch != self.epoch or message.step > self.period:
            return
        try:
            wrenches = wrenches_from_command(message, self.vehicles)
        except ContractError as error:
            self._reject(str(error))
            return
        age = max(0.0, seconds_between(message.header.stamp, self.publisher.stamp()))
        time = self.simulation.time - age
        for i, wrench in enumerate(wrenches):
            self.watch.accept(i, wrench, time)
        self._answered = int(message.step)

    def _on_wrench(self, vehicle: int, wrench: np.ndarray) -> None:
        self.watch.accept(vehicle, wrench, self.simulation.time)
        self._heard_now.add(vehicle)
        if len(self._heard_now) == len(self.vehicles):
            self._answered = self.period

    def _reject(self, why: str) -> None:
        self.counts["rejected_commands"] += 1
        self.get_logger().warning(f"rejected: {why}", throttle_duration_sec=1.0)

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._reset_wanted = True
        response.success, response.message = (
            True,
            f"reset at the next control period; epoch {self.epoch + 1}",
        )
        return response

    def _on_cut(self, request: CutCable.Request, response: CutCable.Response) -> CutCable.Response:
        names = cable_names(self.simulation)
        if request.cable not in names:
            response.message = (
                f"there is no cable {request.cable!r}; known: {', '.join(names) or 'none'}"
            )
            return response
        self.simulation.engine.cut(names.index(request.cable))
        response.success, response.message = (
            True,
            f"{request.cable} cut at t = {self.simulation.time:.3f} s",
        )
        return response

    # --- the loop ---------------------------------------------------------------------------------

    def simulate(self, executor: SingleThreadedExecutor) -> None:
        """Run until stopped or until the duration is over."""
        self.get_logger().info(
            f"simulating {self.simulation.scenario.name!r}, {self.pacing}, step "
            f"{self.simulation.scenario.time.step_s * 1e3:g} ms, "
            f"control {self.simulation.scenario.time.control_s * 1e3:g} ms, kernels "
            f"{'compiled' if COMPILED else 'NOT compiled'}"
        )
        while is_running() and not self._is_over():
            if self._reset_wanted:
                self._reset()
            if self.failure:
                self._idle(executor)
                continue
            self._control_period(executor)
        self.publisher.clock()
        exact = self.simulation.scenario.sensing.noise.is_zero
        self.publisher.topics(self.simulation.motion if exact else None)
        self._report()
        while self.linger and not self.failure and self._is_over() and is_running():
            # messages wait in the queues of slow subscribers only as long as their publisher lives
            self._idle(executor)

    def _is_over(self) -> bool:
        if self.duration <= 0.0:
            return False
        return (
            self.failure != ""
            or self.period * self.simulation.scenario.time.control_s >= self.duration - 1e-9
        )

    def _idle(self, executor: SingleThreadedExecutor) -> None:
        executor.spin_once(timeout_sec=SPIN_LIMIT)
        self._report_sometimes()

    def _control_period(self, executor: SingleThreadedExecutor) -> None:
        """One control period: publish the state, get the answer, integrate."""
        self._measured = self.simulation.measure()
        self._heard_now.clear()
        self.publisher.team_state(self._measured, self.epoch, self.period)
        first = self.wait and not self.watch.heard()
        if first or self.pacing == "lockstep":
            if not self._await_answer(executor, announce=not first):
                return
            if first:
                self._anchor()
        if self.pacing == "realtime":
            self._await_deadline(executor)
        if not is_running() or self._reset_wanted:
            return
        try:
            self._integrate()
        except SolverError as error:
            self.failure = str(error)
            self._publish_events()
            self.get_logger().error(f"{error} The simulation stands; call ~/reset.")
        self._report_sometimes()

    def _await_answer(self, executor: SingleThreadedExecutor, *, announce: bool) -> bool:
        """Spin until the state has been answered; False if the run ends or is reset meanwhile."""
        asked = published = wall.perf_counter()
        while not (self._answered == self.period and self.watch.heard()):
            executor.spin_once(timeout_sec=REPEAT_STATE)
            now = wall.perf_counter()
            if not is_running() or self._reset_wanted:
                return False
            if now - published > REPEAT_STATE:
                published = now
                self.publisher.clock()
                self.publisher.team_state(self._measured, self.epoch, self.period)
                self.publisher.topics(self._measured)
                self.publisher.markers()
                self._report_sometimes()
            if announce and now - asked > self.simulation.scenario.time.lockstep_timeout_s:
                announce = False
                self._paused = True
                self.counts["lockstep_pauses"] += 1
                self.get_logger().warning(
                    f"no command for step {self.period} within "
                    f"{self.simulation.scenario.time.lockstep_timeout_s:g} s: paused until one comes"
                )
        self._paused = False
        return True

    def _await_deadline(self, executor: SingleThreadedExecutor) -> None:
        """Spin until the wall clock has reached the end of this control period.

        Late ones are counted, not hidden.
        """
        period = self.simulation.scenario.time.control_s / self.factor
        deadline = self._origin_wall + (self.period + 1 - self._origin_period) * period
        late = wall.perf_counter() - deadline
        if late > 0.0:
            for _ in self.vehicles:  # no waiting, but what has come still counts
                executor.spin_once(timeout_sec=0.0)
            self.counts["missed_deadlines"] += 1
            if late > period:
                self._origin_wall += (
                    late  # the world falls behind the wall clock; the real-time factor shows it
                )
        while is_running():
            left = deadline - wall.perf_counter()
            executor.spin_once(timeout_sec=max(0.0, min(left, SPIN_LIMIT)))
            if deadline - wall.perf_counter() <= 0.0:
                return

    def _anchor(self) -> None:
        self._origin_wall = self._began_wall = wall.perf_counter()
        self._origin_period = self.period
        self._began_sim = self.simulation.time

    _origin_period = 0

    def _integrate(self) -> None:
        simulation = self.simulation
        wrenches, changes = self.watch.wrenches(simulation.time)
        for i, state in changes:
            if state != FRESH:
                self.get_logger().warning(
                    f"no command for {self.vehicles[i]}: {state} at t = {simulation.time:.3f} s"
                )
        self.counts["stale_commands"] += self._answered != self.period
        simulation.command(wrenches)
        self.pushes.apply()
        self._publish_due(0)
        per_period = simulation.scenario.time.steps_per_control
        done = 0
        while done < per_period:
            now = self.period * per_period + done
            chunk = min(self.schedule.next_after(now) - now, per_period - done)
            simulation.engine.run(chunk)
            simulation.engine.measure()
            done += chunk
            if done < per_period:
                self._publish_due(done)
        self.period += 1
        self.counts["control_periods"] += 1
        self._publish_events()

    def _publish_events(self) -> None:
        events = self.simulation.take_events()
        self.counts["hybrid_events"] += len(events)
        self.publisher.events(events)

    def _publish_due(self, offset: int) -> None:
        """Publish what is due ``offset`` steps into this control period."""
        due = self.schedule.due(
            self.period * self.simulation.scenario.time.steps_per_control + offset
        )
        if "clock" in due:
            self.publisher.clock()
        if "topics" in due:
            # noisy measurements exist only at the start of a control period
            exact = self.simulation.scenario.sensing.noise.is_zero
            fresh = self.simulation.motion if exact else (self._measured if offset == 0 else None)
            self.publisher.topics(fresh)
        if "markers" in due:
            self.publisher.markers()

    def _reset(self) -> None:
        self._reset_wanted = False
        self.epoch += 1
        self.period, self._answered, self.failure = 0, -1, ""
        self._paused = False
        self._origin_period = 0
        # the simulation starts at its own zero again, so that the run repeats to the bit; the time of
        # the graph goes on
        self.publisher.offset_ns += nanoseconds(self.simulation.time - START_TIME)
        self.simulation.reset()
        self.watch.reset()
        self.pushes.clear()
        self._anchor()
        self.publisher.publish_static()
        self.get_logger().info(f"reset: epoch {self.epoch} at t = {self.simulation.time:.3f} s")

    # --- health -----------------------------------------------------------------------------------

    def _report_sometimes(self) -> None:
        if wall.perf_counter() - self._last_report > 1.0:
            self._report()

    def _report(self) -> None:
        self._last_report = wall.perf_counter()
        elapsed = self._last_report - self._began_wall
        factor = (self.simulation.time - self._began_sim) / elapsed if elapsed > 0.0 else 0.0
        level, text = DiagnosticStatus.OK, "running"
        if self.failure:
            level, text = DiagnosticStatus.ERROR, self.failure
        elif self._is_over():
            text = FINISHED
        elif self._paused:
            level, text = DiagnosticStatus.WARN, f"paused: no command for step {self.period}"
        elif not self.watch.heard():
            level, text = DiagnosticStatus.WARN, "waiting for commands"
        elif any(s != FRESH for s in self.watch.states):
            late = [
                f"{n}: {s}"
                for n, s in zip(self.vehicles, self.watch.states, strict=True)
                if s != FRESH
            ]
            level, text = DiagnosticStatus.WARN, "commands missing: " + ", ".join(late)
        values = {
            "real_time_factor": f"{factor:.4f}",
            "epoch": self.epoch,
            "step": self.period,
            "compiled": COMPILED,
            **self.counts,
        }
        self.publisher.diagnostics(level, text, values)


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_sim simulator``."""
    nodes: list[SimulatorNode] = []

    def make() -> SimulatorNode:
        nodes.append(SimulatorNode())
        return nodes[0]

    code = run(make, args, lambda node, executor: nodes[0].simulate(executor))
    if code == 0 and nodes and nodes[0].failure:
        code = 3
    sys.exit(code)


if __name__ == "__main__":
    main()
