"""The laboratory: a node in the place of the simulator that plays a real hall with motion capture.

Controllers and planners fly it unchanged; the plant is a MuJoCo model that shares nothing with
the simulator (rotor_testbed). It publishes ``clock``, ``rotor/team_state`` (estimates),
``laboratory/<body>/ground_truth``, and motion capture as ``vrpn_mocap/<body>/pose`` (best effort),
``vicon/<body>/<body>`` and, where motion_capture_tracking_interfaces is installed, ``poses``. It
takes ``rotor/team_command``. Time starts at 1.0 s and stands, vehicles held, motors idle, until the
first command; then they are let go with their motors up. There are no services.
"""

from __future__ import annotations

import sys
import time as wall

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.executors import Executor
from rclpy.node import Node
from rotor_msgs.msg import TeamCommand
from std_msgs.msg import Bool

from rotor_core.errors import ConfigError, ContractError
from rotor_core.messages.team_wire import TeamCommandWire
from rotor_core.ros import qos
from rotor_core.ros.compiling import watch_compiling
from rotor_core.ros.node import SPIN_LIMIT, declare, is_running, run, scenario_parameter
from rotor_testbed.hall import Testbed
from rotor_testbed.ros.laboratory_parameters import laboratory_settings
from rotor_testbed.ros.laboratory_topics import EPOCH, LaboratoryTopics

REPEAT = 0.1
"""While time stands everything is shown again after this wall time, s."""

REPORT = 1.0
"""Wall time between two diagnostics, s."""


def _choice(node: Node, name: str, default: str, options: tuple[str, ...], about: str) -> str:
    """A parameter that is one of several words.

    Raises:
        ConfigError: it is not one of them.
    """
    value = str(declare(node, name, default, f"{about}: {' or '.join(options)}"))
    if value not in options:
        raise ConfigError(f"parameter {name}: must be {' or '.join(options)}, got {value!r}.")
    return value


class LaboratoryNode(Node):
    """One hall and the loop that lets its time pass; see the module docstring."""

    def __init__(self) -> None:
        super().__init__("laboratory")
        watch_compiling(self)
        scenario = scenario_parameter(self)
        self._timing = scenario.time
        self._pacing = _choice(
            self, "pacing", scenario.time.pacing, ("realtime", "lockstep"), "how time passes"
        )
        self._duration = float(declare(self, "duration_s", 0.0, "end after this time; 0: never"))  # type: ignore[arg-type]
        self._linger = bool(declare(self, "linger", False, "at the end stay until stopped"))
        self._held = bool(
            declare(self, "wait_for_recorder", False, "stand still until a recorder hears all")
        )
        frame = str(declare(self, "mocap_frame", "mocap", "frame of the poses of motion capture"))
        stamps = _choice(
            self,
            "mocap_stamps",
            "arrival",
            ("arrival", "capture"),
            "when motion capture is stamped",
        )
        self.hall = Testbed(scenario, laboratory_settings(self), scenario.seed)
        self._topics = LaboratoryTopics(
            self, scenario, self.hall, mocap_frame=frame, stamp_arrival=stamps == "arrival"
        )
        self._wire = TeamCommandWire([v.name for v in scenario.model.vehicles])
        self._answer: np.ndarray | None = None
        self._answered = -1
        self._last_command = 0.0
        self._counts = {"missed_deadlines": 0, "stale_commands": 0, "rejected_commands": 0}
        self._reported = 0.0
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", qos.STATE)
        self.create_subscription(
            TeamCommand, "rotor/team_command", self._on_command, qos.TEAM, raw=True
        )
        self.create_subscription(Bool, "rotor/recording", self._on_recording, qos.LATCHED)
        self.get_logger().info(f"holding {', '.join(self.hall.names)}, {self._pacing}")

    def _on_recording(self, _: Bool) -> None:
        self._held = False

    def _on_command(self, data: bytes) -> None:
        try:
            heading, wrenches, _ = self._wire.read(data)
        except ContractError as error:
            self._counts["rejected_commands"] += 1
            self.get_logger().warning(f"rejected: {error}", throttle_duration_sec=1.0)
            return
        if heading.epoch == EPOCH and self._answered < heading.step <= self.hall.period:
            self._answer, self._answered = wrenches.copy(), heading.step

    # --- the loop ---------------------------------------------------------------------------------

    @property
    def _is_over(self) -> bool:
        return 0.0 < self._duration <= self.hall.time + 1e-9

    def work(self, executor: Executor) -> None:
        """Hold the vehicles until they are commanded, then let time pass until it is over."""
        self._await_answer(executor, "waiting for commands")
        if is_running() and self._answer is not None:
            self.hall.begin(self._answer)
            self.get_logger().info("let go")
        self._origin = wall.perf_counter() - self.hall.time
        while is_running() and not self._is_over:
            self._control_period(executor)
        self._topics.standing()
        self._report("finished")
        self._topics.flush()
        while is_running() and self._linger:
            executor.spin_once(timeout_sec=SPIN_LIMIT)
            if wall.perf_counter() - self._reported > REPORT:
                self._report("finished")

    def _control_period(self, executor: Executor) -> None:
        """Show the present, get the answer, let one control period pass."""
        self._topics.present()
        if self._pacing == "lockstep":
            self._await_answer(executor, "paused: no command")
        else:
            self._await_deadline(executor)
        if not is_running():
            return
        self._obey()
        self.hall.step()
        if wall.perf_counter() - self._reported > REPORT:
            self._report("running")

    def _await_answer(self, executor: Executor, why: str) -> None:
        """Spin until the present has been answered (and a recorder listens), showing it now and then."""
        shown, began = 0.0, wall.perf_counter()
        while is_running() and (self._answered < self.hall.period or self._held):
            if wall.perf_counter() - shown > REPEAT:
                if shown or self._answered < 0:  # in lockstep it has just been shown
                    self._topics.standing()
                shown = wall.perf_counter()
            if wall.perf_counter() - max(self._reported, began) > REPORT:
                self._report(why)
            executor.spin_once(timeout_sec=REPEAT)

    def _await_deadline(self, executor: Executor) -> None:
        """Spin until the end of this control period on the steady clock; being late is counted."""
        deadline = self._origin + self.hall.time + self._timing.control_s
        late = wall.perf_counter() - deadline
        if late > 0.0:
            executor.spin_once(timeout_sec=0.0)  # what has come still counts
            self._counts["missed_deadlines"] += 1
            if late > self._timing.control_s:
                self._origin += late  # behind for good
        while is_running() and (left := deadline - wall.perf_counter()) > 0.0:
            executor.spin_once(timeout_sec=min(left, SPIN_LIMIT))

    def _obey(self) -> None:
        """Pass a new command on; motors stop when none has come for too long."""
        now, timing = self.hall.time, self._timing
        self._counts["stale_commands"] += self._answered < self.hall.period
        if self._answer is not None:
            self.hall.act(self._answer)
            self._answer, self._last_command = None, now
            return
        patience = timing.command_timeout_s
        if timing.timeout_policy == "hold":
            patience += timing.timeout_zero_s
        if now - self._last_command > patience:
            self.get_logger().warning("no commands: motors stopped", throttle_duration_sec=1.0)
            self.hall.act(np.zeros((self.hall.plant.n_vehicles, 4)))

    def _report(self, text: str) -> None:
        self._reported = wall.perf_counter()
        values = {"epoch": EPOCH, "step": self.hall.period, **self._counts}
        status = DiagnosticStatus(
            name="rotor: laboratory",
            hardware_id=self.get_fully_qualified_name(),
            message=text,
            level=DiagnosticStatus.OK if text in ("running", "finished") else DiagnosticStatus.WARN,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._topics.stamp
        self._diagnostics.publish(message)


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_testbed laboratory``."""
    sys.exit(run(LaboratoryNode, args, lambda node, executor: node.work(executor)))  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
