"""The dynamics node: a lifecycle node around one :class:`~rotor_sim.ros.session.Session`.

*configure* loads the scenario, *activate* lets it run, *deactivate* lets it stand, *cleanup* drops
it. Topics, services and parameters: docs/graph.md. It never runs on /clock, because it makes it.
"""

from __future__ import annotations

import sys
import traceback

from rcl_interfaces.msg import SetParametersResult
from rclpy.executors import Executor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter

from rotor_core.config.schema import FASTEST, Scenario
from rotor_core.errors import ConfigError, ContractError, RotorError
from rotor_core.kernels.jit import COMPILED, WHY_UNCOMPILED
from rotor_core.ros.compiling import watch_compiling
from rotor_core.ros.keeper import Keeper
from rotor_core.ros.node import (
    SPIN_LIMIT,
    declare,
    declare_live,
    declare_scenario,
    is_running,
    named_scenario,
    run,
)
from rotor_core.saved.capture import Keep
from rotor_sim.ros.options import Options
from rotor_sim.ros.services.own import Services
from rotor_sim.ros.services.standard import StandardServices, is_available
from rotor_sim.ros.services.worlds import WorldServices
from rotor_sim.ros.session import Session
from rotor_sim.ros.worlds import WorldChange, Worlds
from rotor_sim.state_machine import Code, Result, State


class SimulatorNode(LifecycleNode):
    """Parameters and transitions; see the module docstring."""

    def __init__(self) -> None:
        super().__init__("simulator")
        watch_compiling(self)
        self.session: Session | None = None
        self.problem = ""
        self._epoch, self._configured, self._is_active = 0, False, False
        self._offered: list[Services | StandardServices] = []
        self._is_changing, self._holds = False, True
        self.keeper = Keeper(self, self._take)
        self.worlds = Worlds(self)
        declare_scenario(self, live=True)
        declare_live(self, "pacing", "", "lockstep or realtime; empty: as the scenario says")
        declare_live(
            self, "real_time_factor", 0.0, "simulated over wall time; 0: as the scenario says", (0.0, FASTEST)
        )  # fmt: skip
        declare(self, "duration_s", 0.0, "end after this simulated time; 0: run until stopped")
        declare(self, "linger", False, "at the end stay until stopped, so that no message is lost")
        declare(
            self, "wait_for_commands", True, "stand still until every vehicle has been commanded"
        )
        declare(self, "wait_for_recorder", False, "stand still until a recorder hears everything")
        declare(self, "paused", False, "begin paused")
        declare(
            self, "autostart", True, "configure and activate at the start, and quit if that fails"
        )
        declare(
            self, "allow_uncompiled", False, "run in real time without compiled kernels, slowly"
        )
        declare(
            self,
            "precedence",
            True,
            "in real time run before ordinary processes, where the system allows it",
        )
        declare(self, "publish_tf", True, "publish world -> base_link of every entity")
        declare(self, "publish_map_tf", True, "publish the static identity world -> map")
        self.add_on_set_parameters_callback(self._on_parameters)
        self._world_services = WorldServices(self, self.worlds) if is_available() else None

    def _value(self, name: str) -> object:
        return self.get_parameter(name).value

    def _options(self, scenario_pacing: str, scenario_factor: float) -> Options:
        pacing = str(self._value("pacing")) or scenario_pacing
        if pacing not in ("lockstep", "realtime"):
            raise ConfigError(f"parameter pacing: must be lockstep or realtime, got {pacing!r}.")
        if not COMPILED and pacing == "realtime" and not self._value("allow_uncompiled"):
            raise ConfigError(
                f"kernels are not compiled ({WHY_UNCOMPILED}): too slow for real time. Install "
                f"numba in the environment, or set the parameter allow_uncompiled:=true."
            )
        duration = float(self._value("duration_s"))  # type: ignore[arg-type]
        if not 0.0 <= duration < float("inf"):
            raise ConfigError(f"parameter duration_s: must be finite and >= 0, got {duration}.")
        return Options(
            pacing=pacing,
            real_time_factor=float(self._value("real_time_factor")) or scenario_factor,  # type: ignore[arg-type]
            duration=duration,
            wait=bool(self._value("wait_for_commands")),
            wait_for_recorder=bool(self._value("wait_for_recorder")) and self._holds,
            paused=bool(self._value("paused")),
            precedence=bool(self._value("precedence")),
            publish_tf=bool(self._value("publish_tf")),
            publish_map=bool(self._value("publish_map_tf")),
        )

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:  # all of one call take effect together or not at all
            if parameter.name in ("scenario", "seed", "pacing") and self.session is not None:
                reason = f"{parameter.name} is read by configure: deactivate and clean up first"
                return SetParametersResult(successful=False, reason=reason)
        for parameter in parameters:
            if parameter.name == "real_time_factor" and self.session is not None:
                scenario = self.session.simulation.scenario
                self.session.set_factor(float(parameter.value) or scenario.time.real_time_factor)
            elif parameter.name == "scenario":
                self.worlds.forget()
            elif parameter.name == "seed":
                self.worlds.reseed(int(parameter.value))
        return SetParametersResult(successful=True)

    def _take(self, arrays: Keep) -> tuple[Scenario, dict]:
        if self.session is None:
            raise ContractError("there is no world. Configure one first.")
        if self._value("autopilot"):
            raise ContractError("an autopilot keeps what nobody knows: it cannot be saved.")
        return self.session.simulation.scenario, self.session.take(arrays)

    # --- transitions ------------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the scenario, create the world and all topics and services."""
        try:
            scenario = self.worlds.wanted or named_scenario(self)
            options = self._options(scenario.time.pacing, scenario.time.real_time_factor)
            self.session = Session(self, scenario, options, self._epoch)
            found = self.keeper.saved(scenario)
            if found is not None:
                self.session.go_on_from(*found)
        except RotorError as error:
            self.problem = str(error)
            if self._configured or not self._value("autostart"):
                self.get_logger().error(self.problem)
            return TransitionCallbackReturn.FAILURE
        except Exception as error:  # a mistake of ours: rclpy would say nothing of it
            self.problem = f"{type(error).__name__}: {error}; this is a defect, please report it"
            traceback.print_exc()
            return TransitionCallbackReturn.FAILURE
        self._configured = True
        if self._offered:
            for services in self._offered:
                services.session = self.session
        else:
            self._offered = [Services(self, self.session)]
            if is_available():
                self._offered.append(StandardServices(self, self.session))
        self.worlds.tell(scenario)
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let the world run (or stand, if it is paused)."""
        assert self.session is not None
        self.session.activate()
        self._is_active = True
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let the world stand; its state stays."""
        assert self.session is not None
        self.session.deactivate()
        self._is_active = False
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Drop the world."""
        self._drop()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Drop the world; the process ends."""
        self._drop()
        self._quit = True
        return super().on_shutdown(state)

    _quit = False

    def _drop(self) -> None:
        if self.session is not None:
            self._epoch = self.session.epoch + 1  # the next world is new to all who listen
            # a recorder of the world before has been heard, or still is waited for
            self._holds = self.session.is_held or not self._is_changing
            self.session.close()  # answers who still waits
            self.session = None
        if not self._is_changing:
            self._withdraw()

    def _withdraw(self) -> None:
        for services in self._offered:
            services.close()
        self._offered = []

    def destroy_node(self) -> None:
        """Drop the world, then the node."""
        self._drop()
        super().destroy_node()

    # --- other worlds -----------------------------------------------------------------------------

    def _change_world(self, change: WorldChange) -> Result:
        """Take the world down and put up another one; where that fails, the former one.

        Services stay: who asks during the change is answered in the world that comes. A client cannot tell a service
        that is gone from one that it knows, and what it asks of the former is lost.
        """
        self._is_changing = True
        try:
            return self._replace_world(change)
        finally:
            self._is_changing = False
            if self.session is None:
                self._withdraw()

    def _replace_world(self, change: WorldChange) -> Result:
        before, worlds = self.session, self.worlds
        was_active = self._is_active
        if before is not None:
            was = before.simulation.scenario, worlds.base
            if was_active:
                self.trigger_deactivate()
            self.trigger_cleanup()
        worlds.forget()
        if change.scenario is None:
            return Result(Code.OK)
        worlds.wanted, worlds.base = change.scenario, change.base
        result = self._put_up(before if change.continues else None)
        if not result.ok and before is not None:
            worlds.wanted, worlds.base = was
            self._put_up(before)
        if result.ok and not change.continues and self.session is not None:
            self.session.machine.request(State.STOPPED)
        if before is not None and not was_active and self._is_active:
            self.trigger_deactivate()
        return result

    def _put_up(self, before: Session | None) -> Result:
        """Configure and activate the world that is wanted, as another one stood."""
        if self.trigger_configure() is not TransitionCallbackReturn.SUCCESS:
            return Result(Code.OPERATION_FAILED, self.problem)
        assert self.session is not None
        try:
            if before is not None:
                self.session.stand_as(before)
        except RotorError as error:
            self.trigger_cleanup()
            return Result(Code.OPERATION_FAILED, str(error))
        self.trigger_activate()
        return Result(Code.OK)

    # --- running ----------------------------------------------------------------------------------

    def simulate(self, executor: Executor) -> None:
        """Run until stopped or until the duration is over.

        Raises:
            ConfigError: the scenario is wrong, and nobody is there to correct it (autostart).
        """
        if self._value("autostart"):
            if self.trigger_configure() is not TransitionCallbackReturn.SUCCESS:
                raise ConfigError(self.problem)
            self.trigger_activate()
        finished: Session | None = None
        while is_running() and not self._quit:
            if self.worlds.waiting is not None:
                change, self.worlds.waiting = self.worlds.waiting, None
                change.done(self._change_world(change))
            session = self.session
            if session is None or not session.active:
                executor.spin_once(timeout_sec=SPIN_LIMIT)
                continue
            session.turn(executor)
            if session.machine.state is State.QUITTING:
                break
            if not session.is_over:
                finished = None  # it was reset, and will end again
            elif finished is not session:
                finished = session
                session.finish()
                # messages wait in the queues of slow subscribers only as long as their publisher lives
                if session.machine.failure or not self._value("linger"):
                    break


def main(args: list[str] | None = None) -> None:
    """Entry point ``ros2 run rotor_sim simulator``.

    Code 3 if the simulation could not go on, else that of the verdict (:mod:`rotor_sim.judging.verdict`).
    """
    ended = [0]

    def simulate(node: SimulatorNode, executor: Executor) -> None:
        node.simulate(executor)
        if node.session is None:  # gone after a shutdown transition
            return
        verdict = node.session.conclude()
        ended[0] = 3 if node.session.machine.failure else verdict.exit_code if verdict else 0

    code = run(SimulatorNode, args, simulate)
    sys.exit(code or ended[0])


if __name__ == "__main__":
    main()
