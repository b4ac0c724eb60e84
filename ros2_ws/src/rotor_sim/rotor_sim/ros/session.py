"""One configured world in the graph: its publishers and inputs, and the loop that advances it.

Everything happens in one thread: callbacks run only where the loop waits, never inside a control
period, so they may change the world at once.
"""

from __future__ import annotations

import time as wall
from collections.abc import Callable

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.executors import Executor
from rclpy.node import Node
from std_msgs.msg import Bool

from rotor_core.config.counterparts.autopilots import Autopilot
from rotor_core.config.schema import Scenario
from rotor_core.config.yaml.units import nanoseconds
from rotor_core.errors import ConfigError, RotorError, SolverError
from rotor_core.kernels.jit import COMPILED
from rotor_core.messages.convert import nanoseconds_from_stamp
from rotor_core.ros import qos
from rotor_core.ros.keeper import VALUES, Messages, put_back
from rotor_core.ros.node import SPIN_LIMIT, is_running
from rotor_core.saved.capture import Capture, Keep
from rotor_core.warnings import notes
from rotor_dynamics.hybrid.events import Event
from rotor_sim.judging.verdict import Verdict
from rotor_sim.period import Decision, control_period
from rotor_sim.ros.health import Health
from rotor_sim.ros.inputs.intake import CommandIntake
from rotor_sim.ros.live_verdict import LiveVerdict
from rotor_sim.ros.options import Options
from rotor_sim.ros.precedence import give_back, take_precedence
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.ros.topics.outputs import Outputs
from rotor_sim.ros.topics.world import SimTime
from rotor_sim.saving import VALUES as RECORDS
from rotor_sim.saving import check_size, rebuild, structure
from rotor_sim.simulation import START_TIME, Simulation
from rotor_sim.state_machine import Code, Result, State, StateMachine
from rotor_sim.succession import take_over

REPEAT_STATE = 0.1
"""A state nobody has answered, or at which the simulation stands, is published again after this wall time, s."""

REPORT = 1.0
"""Wall time between two diagnostics, s."""

JUMP_NS = 1
"""Time of the graph passes by this much at a jump of the state: TF ignores a second pose with the same stamp."""

FLUSH_LIMIT = 4.0
"""At the end of a flight the simulator waits this long for subscribers to have everything, s.

The middleware repeats a packet that was lost at the end of a burst after 3 s.
"""

CAPTURE = Capture("rotor_", {**RECORDS, **VALUES}, Messages())

BEHIND = 2
"""Commands for states that are older than this many control periods have waited in the queue."""

FINISHED = "finished"
"""Diagnostics of a simulation whose duration is over."""


class PeriodWatch:
    """Publishes between the physics steps of one control period.

    Args:
        outputs: what is due when.
        first: physics steps before the period.
    """

    def __init__(self, outputs: Outputs, first: int) -> None:
        self._outputs, self._first = outputs, first

    def next_after(self, step: int) -> int:
        """First step of the period after this one at which anything is due."""
        return self._outputs.next_after(self._first + step) - self._first

    def due(self, step: int) -> None:
        """Publish what is due."""
        self._outputs.due(self._first + step)


class Session:
    """A world from configure to cleanup; see the module docstring.

    Attributes:
        epoch: raised whenever the state jumps; messages of older epochs are void.
        period: control periods since the last reset.
        is_held: whether it stands until a recorder hears everything.
    """

    def __init__(self, node: Node, scenario: Scenario, options: Options, epoch: int) -> None:
        self._logger = node.get_logger()
        self.options, self.factor = options, options.real_time_factor
        self.simulation = Simulation(scenario)
        self.simulation.engine.prepare_events()
        self.vehicles = [v.name for v in scenario.model.vehicles]
        self.machine = StateMachine(paused=options.paused)
        self.time = SimTime(self.simulation)
        self.active = False
        self.epoch, self.period = epoch, 0
        self._silent = self._was_put_away = self._is_unjudged = False
        self._company = 0
        self.is_held = options.wait_for_recorder
        self._stepping: Callable[[Result], object] | None = None
        self._stepped: Callable[[int], object] = lambda left: None
        self._entities = entities = Entities(node)
        self.health = Health(entities, self.simulation, self.time)
        self.health.values()  # loads now what the first report in real time could not wait for
        self._anchor()
        self._outputs = Outputs(
            entities,
            self.simulation,
            self.time,
            publish_tf=options.publish_tf,
            publish_map=options.publish_map,
        )
        single = scenario.command_input != "team"
        self._outputs.shows_every_state = single and options.pacing == "lockstep"
        try:
            self._intake = CommandIntake(
                entities, self.simulation, self.time, self.health, self._logger, self._outputs.shown
            )
        except RotorError:
            entities.destroy()
            raise
        self._verdict = LiveVerdict(entities, self.simulation, self.time, epoch)
        entities.subscribe(Bool, "rotor/recording", self._on_recording, qos.LATCHED)
        timing = scenario.time
        for note in notes(scenario):
            self._logger.warning(f"note: {note}")
        self._logger.info(
            f"configured {scenario.name!r}, {options.pacing}, step {timing.step_s * 1e3:g} ms, "
            f"control {timing.control_s * 1e3:g} ms, kernels {'compiled' if COMPILED else 'NOT compiled'}"
        )

    def activate(self) -> None:
        """Let the loop of the node advance it."""
        self.active = True
        if self.options.precedence and self.options.pacing == "realtime":
            self.health.has_precedence = take_precedence()
        self._anchor()

    def deactivate(self) -> None:
        """Let it stand."""
        self.active = False
        self._judge()
        self._let_others_first()
        self._finish_steps(Result(Code.OPERATION_FAILED, "the simulator was deactivated."))
        self._report()

    def close(self) -> None:
        """Take down publishers and inputs."""
        self.active = False
        self._let_others_first()
        self._finish_steps(Result(Code.OPERATION_FAILED, "the simulator was shut down."))
        self._entities.flush(FLUSH_LIMIT)
        self._entities.destroy()
        self.health.lateness.close()

    def _let_others_first(self) -> None:
        if self.health.has_precedence:
            give_back()
            self.health.has_precedence = False

    def stand_as(self, before: Session) -> None:
        """Go on where another world stood: its entities that are here too, its time, played or paused.

        Raises:
            RotorError: the entities cannot be there.
        """
        cables = take_over(self.simulation, before.simulation)
        self._intake.take_over(before._intake, cables)
        self.go_on_in_time(before)
        if not before.machine.failure:
            self.machine.state = before.machine.state
        self._anchor()

    def go_on_in_time(self, before: Session) -> None:
        """Go on at the time of the graph that another world has come to."""
        passed = nanoseconds_from_stamp(before.time.stamp()) - nanoseconds_from_stamp(
            self.time.stamp()
        )
        self.time.offset_ns += passed + JUMP_NS

    def _parts(self) -> dict[str, object]:
        """What makes the run go on as it would have."""
        return {
            "simulation": self.simulation, "epoch": self.epoch, "period": self.period, "offset_ns": self.time.offset_ns,
            "failure": self.machine.failure, "intake": self._intake, "verdict": self._verdict,
            "waiting": self._outputs.waiting, "topics_due": self._outputs.topics_due,
        }  # fmt: skip

    def take(self, arrays: Keep) -> dict:
        """The state at the start of the present control period, as plain values; arrays go into ``arrays``."""
        self._judge()
        aside = (self.time, self.health, self._entities)
        state = CAPTURE.take_parts(self._parts(), arrays, aside)
        return {"world": structure(self.simulation), "parts": state}

    def go_on_from(self, state: dict, arrays: Keep) -> None:
        """Stand where :meth:`take` was called, of the same scenario.

        Raises:
            ConfigError: the state is not that of such a world, or its flight is over.
        """
        try:
            rebuild(self.simulation, state["world"])
            check_size(self.simulation, arrays)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise ConfigError(f"resume: the file is not that of this world ({error}).") from error
        got = put_back(self._parts(), (state["parts"], arrays), CAPTURE)
        self.epoch, self.period = got["epoch"], got["period"]
        self.time.offset_ns, self.machine.failure = got["offset_ns"], got["failure"]
        self._outputs.waiting, self._outputs.topics_due = got["waiting"], got["topics_due"]
        self._was_put_away = True
        self._intake.forget_answers()
        self._anchor()
        if self.is_over and not self.machine.failure:
            flown, wanted = self.flown, self.options.duration
            raise ConfigError(
                f"resume: the saved flight is over: {flown:g} s of duration_s {wanted:g}. Start with a longer one."
            )

    def _on_recording(self, _: Bool) -> None:
        if self.is_held:
            self.is_held = False
            self._anchor()

    @property
    def is_recorded(self) -> bool:
        """True if a recorder listens."""
        node = self._entities.node
        return node.count_publishers(node.resolve_topic_name("rotor/recording")) > 0

    # --- requests: called from services, between control periods ----------------------------------

    def change_state(self, target: int) -> Result:
        """Play, pause, stop (which resets) or quit."""
        result = self.machine.request(target)
        if result.code is Code.OK:
            self._finish_steps(Result(Code.OPERATION_FAILED, "the state was changed meanwhile."))
            self._silent = False
            if self.machine.state is State.PAUSED:
                self.health.ended()
            else:
                self._anchor()
            if self.machine.state is State.STOPPED:
                self.reset()
            self._logger.info(f"{self.machine.state.name.lower()} at t = {self.time.seconds:.3f} s")
            self._report()
        return result

    def step(
        self,
        n: int,
        done: Callable[[Result], object],
        stepped: Callable[[int], object] = lambda left: None,
    ) -> None:
        """Let a paused simulation do ``n`` control periods.

        Args:
            n: how many.
            done: called with the outcome.
            stepped: called after each of them with the number of those that are left.
        """
        if not self.active or self.is_over:
            why = "its duration is over" if self.active else "the simulator is not active"
            done(Result(Code.OPERATION_FAILED, f"{why}."))
            return
        if self.is_held:
            done(Result(Code.OPERATION_FAILED, "it waits for the recorder."))
            return
        result = self.machine.request_steps(n)
        if result.ok:
            self._stepping, self._stepped = done, stepped
        else:
            done(result)

    def end_steps(self, why: str) -> None:
        """Do no more of the steps that are under way."""
        self._finish_steps(Result(Code.OPERATION_FAILED, why))

    def reset(self, *, state: bool = True, time: bool = False) -> None:
        """Back to the initial state (which repeats the run to the bit), to the initial time, or both.

        Without ``time`` the time of the graph goes on: the simulation starts at its own zero again,
        and an offset makes up for it.
        """
        if time:
            self.time.offset_ns = 0
        elif state:
            self.time.offset_ns += nanoseconds(self.simulation.time - START_TIME) + JUMP_NS
        if state:
            self.simulation.reset()
            self.period = 0
        else:
            self.time.offset_ns -= nanoseconds(self.simulation.time - START_TIME)
        self._renew("reset", moved=state)

    def set_states(self, states: dict[str, np.ndarray], *, project: bool) -> tuple[Result, float]:
        """Put entities elsewhere; see :meth:`rotor_sim.simulation.Simulation.set_states`."""
        allowed = self.machine.may_set_state
        if not allowed.ok:
            return allowed, 0.0
        try:
            shift = self.simulation.set_states(states, project=project)
        except RotorError as error:
            return Result(Code.OPERATION_FAILED, str(error)), 0.0
        self.time.offset_ns += JUMP_NS
        self._renew("state set", moved=True)
        return Result(Code.OK), shift

    def cut(self, k: int) -> Result:
        """Cut cable k now."""
        return self.change(lambda: self.simulation.engine.cut(k))

    def change(self, make: Callable[[], object]) -> Result:
        """Change the structure now: cut, attach, release."""
        try:
            make()
        except SolverError as error:
            self.machine.failed(str(error))
            return Result(Code.OPERATION_FAILED, str(error))
        except RotorError as error:
            return Result(Code.OPERATION_FAILED, str(error))
        self._outputs.changed()
        self._verdict.heard(self._tell_events())
        return Result(Code.OK)

    def _renew(self, what: str, *, moved: bool) -> None:
        """The state has jumped: a new epoch, in which nothing has been heard yet."""
        self.epoch += 1
        self._silent = False
        self._finish_steps(Result(Code.OPERATION_FAILED, f"{what} meanwhile."))
        if moved:
            self.machine.renewed()
        self._intake.reset(self.epoch, self.period)
        self._verdict.begin(self.epoch)
        self._anchor()
        self._outputs.renew()
        self._logger.info(f"{what}: epoch {self.epoch} at t = {self.time.seconds:.3f} s")

    def _finish_steps(self, result: Result) -> None:
        """No more steps; who waits for them learns how it ended."""
        self.machine.steps_left = 0
        done, self._stepping = self._stepping, None
        if done is not None:
            done(result)

    # --- the loop ---------------------------------------------------------------------------------

    @property
    def flown(self) -> float:
        """Time since the last reset, s, in worlds that were taken over, too."""
        return self.simulation.time - START_TIME

    @property
    def is_over(self) -> bool:
        """True if the requested duration has been simulated, or the simulation failed; never without a duration."""
        if self.options.duration <= 0.0:
            return False
        return self.machine.failure != "" or self.flown >= self.options.duration - 1e-9

    def turn(self, executor: Executor) -> None:
        """One control period, or a wait for something to happen."""
        was_over = self.is_over
        if was_over:
            executor.spin_once(timeout_sec=SPIN_LIMIT)
        elif self.machine.may_advance and not self.is_held:
            self._control_period(executor)
        else:
            self._stand(executor)
        just_over = self.is_over and not was_over  # its report is that of `finish`
        if self.active and not just_over and wall.perf_counter() - self.health.last_report > REPORT:
            self._report()

    def finish(self) -> None:
        """Publish the last state, wait until subscribers have everything, and report.

        Who stops the recorder on this report loses nothing.
        """
        self.health.ended()
        self._judge()
        self._finish_steps(Result(Code.OPERATION_FAILED, "its duration is over."))
        self._outputs.final()
        self._verdict.heard(self._tell_events(complete=True))
        self._verdict.conclude()
        self._entities.flush(FLUSH_LIMIT)
        self._report()

    def conclude(self) -> Verdict | None:
        """Tell the verdict on what has been flown, and return it; None where nothing was."""
        if self.period == 0 or self.machine.failure:
            return None
        self._judge()
        self._verdict.conclude()
        self._tell_verdict()
        return self._verdict.now

    def _tell_verdict(self) -> None:
        verdict = self._verdict.now
        if verdict.is_good:  # a line of code has one severity for life, says rclpy
            self._logger.info(f"verdict: {verdict}")
        else:
            self._logger.warning(f"verdict: {verdict}")

    def _tell_events(self, *, complete: bool = False) -> list[Event]:
        """Publish, count and return events since the last call; ``complete``: with all that are still looked for."""
        events = self._outputs.events(complete=complete)
        self.health.counts["hybrid_events"] += len(events)
        return events

    def _judge(self) -> None:
        """Tell what has happened in the period that is over: in lockstep while controllers work on the next state."""
        if not self._is_unjudged:
            return
        self._is_unjudged = False
        if self._verdict.passed(self._tell_events()):
            self._tell_verdict()

    def _stand(self, executor: Executor) -> None:
        self._judge()
        executor.spin_once(timeout_sec=REPEAT_STATE)
        if self.active and wall.perf_counter() - self._outputs.last_repeat > REPEAT_STATE:
            self._intake.begin(self.epoch, self.period)  # whoever answers is not ahead
            self._outputs.standing(self._measured, self.epoch, self.period)

    def _interrupted(self, epoch: int) -> bool:
        running = is_running() and self.active
        return not running or self.epoch != epoch or not self.machine.may_advance

    @property
    def _measured(self) -> np.ndarray:
        return self.simulation.sense().array

    def _control_period(self, executor: Executor) -> None:
        """One control period: publish the state, get the answer, integrate."""
        try:
            done = control_period(
                self.simulation,
                lambda states: self._decide(states.array, executor),
                record=self._begin_steps,
                watch=PeriodWatch(self._outputs, self._first_step),
            )
        except SolverError as error:
            self._tell_events(complete=True)
            self.machine.failed(f"{error}")
            self._finish_steps(Result(Code.OPERATION_FAILED, str(error)))
            self._logger.error(f"{error} The simulation has stopped. Reset it.")
            return
        if not done:
            return
        self.period += 1
        self._outputs.passed(self._first_step)
        self.health.counts["control_periods"] += 1
        self._is_unjudged = True
        if not self._outputs.shows_the_truth:
            self._outputs.measured(self._measured, self._first_step)
        self.machine.advanced()
        if self._stepping is None:
            return
        self._judge()
        self._outputs.final(self._first_step)
        self._stepped(self.machine.steps_left)
        if not self.machine.is_stepping:
            self._finish_steps(Result(Code.OK))

    @property
    def _first_step(self) -> int:
        """Physics steps before this period."""
        return self.period * self.simulation.scenario.time.steps_per_control

    @property
    def _waits(self) -> bool:
        """Whether every state is answered before time goes on; in real time too, where an autopilot flies.

        States that waited for one would be flown late ever after.
        """
        autopilot = isinstance(self.simulation.scenario.controller, Autopilot)
        return self.options.pacing == "lockstep" or autopilot

    def _decide(self, measured: np.ndarray, executor: Executor) -> Decision | None:
        """Publish the measured state and wait for the commands of this period; None: something else happened."""
        epoch = self.epoch
        self._intake.begin(epoch, self.period)
        self._outputs.team_state(measured, epoch, self.period)
        single = self.simulation.scenario.command_input != "team"
        if self._outputs.shows_every_state or (single and self.machine.is_stepping):
            self._outputs.odometry(measured)  # what such controllers answer
        first = self.options.wait and (not self._intake.heard or self._was_put_away)
        if not first:
            self.health.asked()
        self._judge()
        if first or self._waits or self.machine.is_stepping:
            self._outputs.ahead(self._first_step)  # while controllers work
            if not self._await_answer(executor, epoch, announce=not first):
                return None
            if first:
                self._was_put_away = False
                self._anchor()
        if self.options.pacing == "realtime" and not self.machine.is_stepping:
            self._await_deadline(executor, epoch)
        return None if self._interrupted(epoch) else self._intake.decision()

    def _begin_steps(self, wrenches: np.ndarray) -> None:
        """Commands act: show the state at the start of the period."""
        self._verdict.note(wrenches, self._intake.limited & self._intake.is_answered)
        self._intake.push()
        self.simulation.engine.update_kinematics()  # accelerations are those of the new commands
        self._outputs.due(self._first_step)

    def _await_answer(self, executor: Executor, epoch: int, *, announce: bool) -> bool:
        """Spin until the state has been answered; False if something else happens first."""
        asked = self._outputs.last_repeat = wall.perf_counter()
        limit = self.simulation.scenario.time.lockstep_timeout_s
        while not (self._intake.is_answered and self._intake.heard):
            executor.spin_once(timeout_sec=REPEAT_STATE)
            now = wall.perf_counter()
            if self._interrupted(epoch):
                return False
            if now - self._outputs.last_repeat > REPEAT_STATE:
                self._outputs.standing(self._measured, epoch, self.period)
            if now - self.health.last_report > REPORT:
                self._report()
            if (announce or self.machine.is_stepping) and now - asked > limit:
                announce = False
                text = f"no command for step {self.period} within {limit:g} s"
                if self.machine.is_stepping:
                    self._finish_steps(Result(Code.OPERATION_FAILED, f"{text}."))
                    return False
                self._silent = True
                self.health.counts["lockstep_pauses"] += 1
                self._logger.warning(f"{text}: paused until one comes")
        self._silent = False
        return True

    def _await_deadline(self, executor: Executor, epoch: int) -> None:
        """Spin until the wall clock has reached the end of this control period.

        Late ones are counted, not hidden.
        """
        late = wall.perf_counter() - self._deadline()
        if late > 0.0:
            self._hear(executor)
            self.health.late(late)
            if late > self.simulation.scenario.time.control_s / self.factor:
                # the world falls behind the wall clock; the real-time factor shows it
                self._origin_wall += late
        while not self._interrupted(epoch):
            now = wall.perf_counter()
            left = self._deadline() - now  # the factor may change on the way
            if left <= 0.0:
                self.health.lateness.begin()
                return
            if now - self.health.last_report > REPORT:
                self._report()
            if (
                self._intake.is_answered
            ):  # before, it would take from controllers what they need of the machine
                self._outputs.ahead(self._first_step)
            executor.spin_once(timeout_sec=min(left, SPIN_LIMIT))

    def _hear(self, executor: Executor) -> None:
        """Hear what has come, without waiting.

        Commands wait behind other messages: where they come later and later, more of the queue is taken, for as long as
        newer ones are found there.
        """
        for _ in self.vehicles:
            executor.spin_once(timeout_sec=0.0)
        lag = self._intake.lag + 1
        while BEHIND < self._intake.lag < lag:
            lag = self._intake.lag
            for _ in range(2 * BEHIND):
                executor.spin_once(timeout_sec=0.0)

    def _deadline(self) -> float:
        """End of this control period on the wall clock."""
        period = self.simulation.scenario.time.control_s / self.factor
        return self._origin_wall + (self.period + 1 - self._origin_period) * period

    def _anchor(self) -> None:
        """Let the wall clock and the simulation start together from here."""
        self._origin_wall = wall.perf_counter()
        self._origin_period = self.period
        self.health.anchor()

    def set_factor(self, factor: float) -> None:
        """Change the real-time factor."""
        self.factor = factor
        self._anchor()

    # --- health -----------------------------------------------------------------------------------

    def _status(self) -> tuple[bytes, str]:
        if self.machine.failure:
            return DiagnosticStatus.ERROR, self.machine.failure
        if self.is_over:
            return DiagnosticStatus.OK, FINISHED
        if not self.active:
            return DiagnosticStatus.OK, "inactive"
        if self._silent:
            return DiagnosticStatus.WARN, f"paused: no command for step {self.period}"
        if self.machine.state is not State.PLAYING:
            return DiagnosticStatus.OK, self.machine.state.name.lower()
        if self.is_held:
            return DiagnosticStatus.WARN, "waiting for the recorder"
        if not self._intake.heard:
            return DiagnosticStatus.WARN, "waiting for commands"
        late = self._intake.late()
        if late:
            return DiagnosticStatus.WARN, "commands missing: " + ", ".join(late)
        if self._intake.contradicted:
            return DiagnosticStatus.WARN, "two nodes command it"
        return DiagnosticStatus.OK, "running"

    def _look_for_company(self) -> None:
        """Notice another simulator with the same topics: controllers and recorders would mix both flights."""
        node = self._entities.node
        topic = node.resolve_topic_name("rotor/team_state")
        # while worlds change, one that goes may still be seen: it counts when it is seen twice
        self._company = self._company + 1 if node.count_publishers(topic) > 1 else 0
        if self._company > 1:
            self._logger.error(
                f"another simulator publishes {topic}: both flights mix. End one of them, or give one another "
                "ROS_DOMAIN_ID or namespace.",
                throttle_duration_sec=10.0,
            )

    def _report(self) -> None:
        self._look_for_company()
        level, text = self._status()
        if self._company > 1:
            level, text = DiagnosticStatus.ERROR, "another simulator publishes the same topics"
        verdict = self._verdict.now
        values: dict[str, object] = {"epoch": self.epoch, "step": self.period}
        if self.period > 0:
            values |= {"verdict": str(verdict), "exit_code": verdict.exit_code}
        self.health.report(level, text, values)
