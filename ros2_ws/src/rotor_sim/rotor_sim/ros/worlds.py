"""Worlds of a simulator: the one that its parameters name, or what services make of it.

Whoever asks is answered when the simulator stands in the other world. Controllers, planners and visualizers hear of it
on ``rotor/world``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from rclpy.node import Node
from std_msgs.msg import String

from rotor_core.config.loader import dump_scenario
from rotor_core.config.schema import Scenario
from rotor_core.ros import qos
from rotor_sim.state_machine import Code, Result


class WorldChange(NamedTuple):
    """A change that has been asked for.

    Attributes:
        scenario: of the world to come; None: none is.
        continues: entities that stay go on where they are, at the time that it is; else all begins anew.
        base: the world without what was spawned; None: that is the world to come.
        done: called with the outcome.
    """

    scenario: Scenario | None
    continues: bool
    base: Scenario | None
    done: Callable[[Result], object]


class Worlds:
    """The world that is wanted, and the change that waits for the loop of the node.

    Attributes:
        wanted: scenario of the world; None: the one that the parameters name.
        base: the world without what was spawned; None where nothing was.
        waiting: change that has been asked for.
    """

    def __init__(self, node: Node) -> None:
        self.wanted: Scenario | None = None
        self.base: Scenario | None = None
        self.waiting: WorldChange | None = None
        self._publisher = node.create_publisher(String, "rotor/world", qos.LATCHED)
        self._known = ""
        self._own_seed: int | None = None

    def ask(self, change: WorldChange, *, recorded: bool) -> None:
        """Ask for another world."""
        if recorded:
            text = "a recorder listens, and a bag holds one world. Stop it first."
            change.done(Result(Code.OPERATION_FAILED, text))
        elif self.waiting is not None:
            change.done(Result(Code.OPERATION_FAILED, "another world is being loaded."))
        else:
            self.waiting = change

    def forget(self) -> None:
        """The parameters name the next world."""
        self.wanted = self.base = self._own_seed = None

    def reseed(self, seed: int) -> None:
        """Give the next world another seed; negative: it keeps its own."""
        if self.wanted is not None:
            if self._own_seed is None:
                self._own_seed = self.wanted.seed
            seed = seed if seed >= 0 else self._own_seed
            self.wanted = replace(self.wanted, seed=seed)
            self.base = self.base and replace(self.base, seed=seed)

    def tell(self, scenario: Scenario) -> None:
        """Tell which world has come, unless everybody is in it: they were started with the first one."""
        text = dump_scenario(scenario)
        if text != self._known and (self._known or self.wanted is not None):
            self._publisher.publish(String(data=text))
        self._known = text
