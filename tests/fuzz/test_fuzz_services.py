"""Services and actions in any order, in every state, with anything asked: always an answer, and everybody lives on."""

import math
import time

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

import graph
from fuzz import budget, nasty
from fuzz.flying_team import NODES, FlyingTeam
from fuzz.message_values import changed, filled, interface
from fuzz.verdicts import ACCEPTED, REFUSED, Tally
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rotor_msgs.srv import Save

from rotor_sim.state_machine import State

SCENARIOS = ["two_dragonflies_bar", "pick_and_place", "delivery"]
"""By the seed: a team with cables, an arm that grips, a mission."""

PATIENCE = 20.0
"""An answer takes no longer than this, s."""

GONE = 2.0
"""So long after a service has gone and come again nobody waits for its answer any more, s."""

CHECKED = 25
"""After so many calls it is seen whether the team still flies."""

SHUTDOWNS = {5, 6, 7, 8}
"""Transitions that end the process, by right."""

LONG_STEPS = 50
"""More steps than this are interrupted."""

MISSIONS = [
    "", "[]", "{}", "steps: []", "steps: [{type: hover}]", "steps: 1", "limit_s: .nan", "&a [*a]", "!!python/object:os.system 1",
    "steps: [{take_off: {height_m: .inf}}]", "\x00", "x" * 3000, "limit_s: 5.0\nsteps: [{land: {}}]",
]  # fmt: skip
CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE = 1, 2, 3, 4
TRANSITIONS = [CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE]


class Caller:
    """Calls services that come and go with the world."""

    def __init__(self, bench):
        self.bench, self.clients = bench, {}

    def ready(self, kind, name):
        """A client, if somebody offers the service now."""
        if name not in self.clients:
            self.clients[name] = self.bench.node.create_client(kind, name)
            self.bench.spin(0.1)
        client = self.clients[name]
        return client if client.service_is_ready() else None

    def answer(self, future, name, is_ready):
        """Answer of a service; it must come, unless the service went meanwhile, perhaps to come again (then None)."""
        end, gone = time.monotonic() + PATIENCE, math.inf
        while not future.done():
            self.bench.executor.spin_once(timeout_sec=0.05)
            now = time.monotonic()
            if not is_ready():  # its node is made anew for another world
                gone = now
            elif now > gone + GONE:
                return None
            if now > end:
                if gone < math.inf:
                    return None
                raise AssertionError(f"no answer of {name}")
        return future.result()

    def call(self, kind, name, request):
        client = self.ready(kind, name)
        if client is None:
            return None
        return self.answer(client.call_async(request), name, client.service_is_ready)


def offered(bench):
    """Services of the nodes, by name; those of actions too."""
    out = {}
    for name, kinds in bench.node.get_service_names_and_types():
        if name.startswith(tuple(f"/{n}/" for n in NODES)) or name.startswith("/rotor/"):
            out[name] = interface(kinds[0]) if "_action/" not in name else None
    return {name: kind for name, kind in out.items() if kind is not None}


def request_for(rng, kind, words):
    """Something that may be asked: anything, or hardly anything."""
    made = kind.Request()
    return filled(rng, made, words) if rng.random() < 0.7 else changed(rng, made, words)


def harmless(request, folder):
    """Without what ends the process, as it should, or makes it wait, or writes elsewhere, as it should."""
    if isinstance(request, Save.Request) and request.folder.startswith("/"):
        request.folder = f"{folder}/{request.folder}"
    if isinstance(request, ChangeState.Request):
        request.transition.label = ""
        if request.transition.id in SHUTDOWNS:
            request.transition.id = CONFIGURE
    if hasattr(request, "state") and getattr(request.state, "state", 0) == State.QUITTING:
        request.state.state = 0
    if hasattr(request, "steps"):
        request.steps = min(request.steps, LONG_STEPS)
    if isinstance(request, (SetParameters.Request, SetParametersAtomically.Request)):
        request.parameters = [p for p in request.parameters if p.name != "real_time_factor"]
    return request


def restore(caller):
    """Bring the simulator back to flight in the world of its parameters, whatever state and world it is in."""
    unload = "/simulator/unload_world"
    if unload in caller.bench.services():
        kind = offered(caller.bench)[unload]
        caller.call(kind, unload, kind.Request())
    for transition in (CONFIGURE, ACTIVATE):
        request = ChangeState.Request()
        request.transition.id = transition
        caller.call(ChangeState, "/simulator/change_state", request)
    caller.bench.until(lambda: "/simulator/reset" in caller.bench.services(), "the services")
    caller.bench.spin(0.3)


def transition(caller, rng):
    """One of the transitions, most of them out of order."""
    request = ChangeState.Request()
    request.transition.id = nasty.pick(rng, TRANSITIONS)
    return caller.call(ChangeState, "/simulator/change_state", request)


def fly_mission(caller, rng):
    """A goal of the action, and perhaps its end."""
    from rclpy.action import ActionClient
    from rotor_msgs.action import FlyMission

    bench = caller.bench
    if not hasattr(caller, "missions"):
        caller.missions = ActionClient(bench.node, FlyMission, "/planner/fly_mission")
        bench.until(caller.missions.server_is_ready, "the action")
    goal = FlyMission.Goal(mission=nasty.pick(rng, MISSIONS))
    is_ready = caller.missions.server_is_ready
    handle = caller.answer(caller.missions.send_goal_async(goal), "fly_mission", is_ready)
    if handle is None:
        return None
    if handle.accepted and rng.random() < 0.5:
        caller.answer(handle.cancel_goal_async(), "cancel of fly_mission", is_ready)
    return handle.accepted


def steps(caller, rng):
    """Steps of a paused simulation, perhaps more than anybody waits for."""
    from rotor_msgs.srv import Step
    from std_srvs.srv import Trigger

    caller.call(Trigger, "/simulator/pause", Trigger.Request())
    client = caller.ready(Step, "/simulator/step")
    if client is None:
        return None
    wanted = int(min(nasty.pick(rng, [0, 1, 2, 5, LONG_STEPS, 10**6, 2**32 - 1]), 2**32 - 1))
    future = client.call_async(Step.Request(steps=wanted))
    if wanted > LONG_STEPS:
        caller.bench.spin(0.1)
        name = nasty.pick(rng, ["play", "pause", "stop", "reset"])
        caller.call(Trigger, f"/simulator/{name}", Trigger.Request())
        if name == "pause" and not future.done():  # it is paused already: steps go on
            caller.call(Trigger, "/simulator/reset", Trigger.Request())
    return caller.answer(future, "/simulator/step", client.service_is_ready)


@pytest.mark.timeout(budget.TIME_LIMIT)
def test_whatever_is_asked_there_is_an_answer(tmp_path):
    tally = Tally("services")
    scenario = SCENARIOS[budget.SEED % len(SCENARIOS)]
    with graph.bench(tmp_path) as bench:
        team = FlyingTeam(bench, scenario, tmp_path)
        caller = Caller(bench)
        bench.until(
            lambda: {"/simulator/set_state", "/planner/preview"} <= set(offered(bench)), "services"
        )
        bench.spin(1.0)
        services = offered(bench)
        names = sorted(services)
        special = {"transition": transition, "mission": fly_mission, "steps": steps}
        asked: list[str] = []
        for number in budget.numbers("services"):
            rng = budget.stream("services", number)
            what = nasty.pick(rng, names + list(special) * 3)
            asked.append(f"{number}: {what}")
            try:
                if what in special:
                    answer = special[what](caller, rng)
                else:
                    kind = services[what]
                    answer = caller.call(
                        kind, what, harmless(request_for(rng, kind, team.words), tmp_path)
                    )
                bench.executor.spin_once(timeout_sec=0.0)
                team.alive()
                if number % CHECKED == CHECKED - 1:
                    restore(caller)
                    team.check()
            except AssertionError as error:
                tally.fail(number, f"{error}; {team.trace()} after {asked[-CHECKED:]}")
                break
            done = getattr(answer, "success", answer is not None)
            tally.count(ACCEPTED if np.all(done) else REFUSED)
        else:
            restore(caller)
            team.check()
    tally.close()
