"""Plain services of the simulator, which need no package but ours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rclpy.node import Node
from rotor_msgs.srv import Attach, CutCable, Linearize, Release, SetState, Step, Wind
from std_srvs.srv import Trigger

from rotor_core.errors import ContractError
from rotor_core.messages.convert import seconds_from_stamp, state_from_body
from rotor_dynamics.sensitivities.linearization import ERRORS, linearize
from rotor_sim.ros.session import Session
from rotor_sim.ros.topics.entities import Entities
from rotor_sim.state_machine import Result, State


class Services:
    """``~/play ~/pause ~/stop ~/reset ~/step ~/set_state ~/cut_cable ~/wind ~/attach ~/release ~/linearize``.

    Attributes:
        session: the world that they act on; another one after a change of worlds.
    """

    def __init__(self, node: Node, session: Session) -> None:
        self.session = session
        self._entities = entities = Entities(node)
        for name, target in (
            ("play", State.PLAYING),
            ("pause", State.PAUSED),
            ("stop", State.STOPPED),
        ):

            def change(_: object, response: Trigger.Response, target: State = target) -> object:
                result = self.session.change_state(target)
                response.success = result.ok
                response.message = result.text or f"{target.name.lower()}, {self._when()}"
                return response

            entities.serve(Trigger, f"~/{name}", change)
        entities.serve(Trigger, "~/reset", self._reset)
        entities.serve_later(Step, "~/step", self._step)
        entities.serve(SetState, "~/set_state", self._set_state)
        entities.serve(CutCable, "~/cut_cable", self._cut)
        entities.serve(Wind, "~/wind", self._wind)
        entities.serve(Attach, "~/attach", self._attach)
        entities.serve(Release, "~/release", self._release)
        entities.serve(Linearize, "~/linearize", self._linearize)

    def close(self) -> None:
        """Take the services down."""
        self._entities.destroy()

    def _when(self) -> str:
        time = seconds_from_stamp(self.session.time.stamp())
        return f"epoch {self.session.epoch}, t = {time:.3f} s"

    def _reset(self, _: object, response: Trigger.Response) -> object:
        self.session.reset()
        response.success, response.message = True, f"reset, {self._when()}"
        return response

    def _step(
        self, request: Step.Request, response: Step.Response, reply: Callable[[object], None]
    ) -> None:
        def done(result: Result) -> None:
            response.success, response.message = result.ok, result.text or self._when()
            response.time = self.session.time.stamp()
            reply(response)

        self.session.step(request.steps, done)

    def _set_state(self, request: SetState.Request, response: SetState.Response) -> object:
        names = [b.name for b in request.bodies]
        if twice := {name for name in names if names.count(name) > 1}:
            response.message = f"bodies: {', '.join(sorted(twice))}: given twice"
            return response
        states = {b.name: np.array(state_from_body(b)) for b in request.bodies}
        result, shift = self.session.set_states(states, project=request.project)
        response.success, response.message = result.ok, result.text or self._when()
        response.largest_shift = shift
        return response

    def _cable(self, name: str) -> int:
        """Number of a cable that is whole.

        Raises:
            ContractError: there is none of this name, or it is cut.
        """
        names = self.session.simulation.scenario.model.cable_names
        if name not in names:
            known = ", ".join(names) or "none"
            raise ContractError(f"there is no cable {name!r}; known: {known}")
        if self.session.simulation.engine.is_cut[names.index(name)]:
            raise ContractError(f"{name} is cut already")
        return names.index(name)

    def _wind(self, request: Wind.Request, response: Wind.Response) -> object:
        try:
            k = self._cable(request.cable)
            rate = request.rate if request.rate != 0.0 else None
            asked = {"rate": 0.0} if request.stop else {"length": request.length, "rate": rate}
            self.session.simulation.winches.ask(k, **asked)
        except ContractError as error:
            response.message = str(error)
            return response
        response.success = True
        where = "stops" if request.stop else f"goes to {request.length:g} m"
        response.message = f"{request.cable} {where}, {self._when()}"
        return response

    def _cut(self, request: CutCable.Request, response: CutCable.Response) -> object:
        try:
            k = self._cable(request.cable)
        except ContractError as error:
            response.message = str(error)
            return response
        result = self.session.cut(k)
        response.success = result.ok
        response.message = result.text or f"{request.cable} cut, {self._when()}"
        return response

    def _attach(self, request: Attach.Request, response: Attach.Response) -> object:
        simulation = self.session.simulation
        result = self.session.change(lambda: simulation.attach(request.parent, request.child))
        response.success = result.ok
        response.message = result.text or f"{request.parent} holds {request.child}, {self._when()}"
        return response

    def _release(self, request: Release.Request, response: Release.Response) -> object:
        simulation = self.session.simulation
        result = self.session.change(lambda: simulation.release(request.child))
        response.success = result.ok
        response.message = result.text or f"{request.child} is free, {self._when()}"
        return response

    def _linearize(self, _: object, response: Linearize.Response) -> object:
        simulation = self.session.simulation
        if simulation.rotor_air is not None:
            response.message = "linearize: does not know environment.wakes nor inflow of rotors."
            return response
        try:
            found = linearize(simulation.engine)
        except ContractError as error:
            response.message = str(error)
            return response
        model = simulation.scenario.model
        if found.input.shape != (ERRORS * len(found.bodies), 4 * len(model.vehicles)):
            response.message = (
                "linearize: this message tells of free bodies that wrenches act on alone; joints and rotors with "
                "speeds of their own are known to rotor_dynamics.sensitivities.linearization."
            )
            return response
        response.success, response.message = True, self._when()
        response.stamp = self.session.time.stamp()
        response.bodies, response.cables = found.bodies, model.cable_names
        response.vehicles = [v.name for v in model.vehicles]
        response.taut = simulation.engine.taut.tolist()
        response.tensions = found.tensions.tolist()
        response.a, response.b = found.state.ravel().tolist(), found.input.ravel().tolist()
        response.c = found.tension_state.ravel().tolist()
        response.d = found.tension_input.ravel().tolist()
        return response
