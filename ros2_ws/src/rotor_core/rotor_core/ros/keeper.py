"""A node that is put away into a file and taken up again: by a service, or when it is ended.

In lockstep the simulator advances only when its state has been answered, so files of all nodes that were written while
it stands belong together, and a graph that is started from them goes on with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from rotor_msgs.srv import Save

from rotor_core.config.loader import dump_scenario
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError, ContractError, RotorError
from rotor_core.messages.team_wire import Heading
from rotor_core.plans.joint_plan import JointPlan
from rotor_core.plans.plan import Plan
from rotor_core.ros.node import declare
from rotor_core.saved.capture import Capture, Keep
from rotor_core.saved.durable import write_durably
from rotor_core.saved.file import read_saved, write_saved

MAGIC = b"rotor node 3\n"
SCENARIO_FILE = "scenario.yaml"
SHOWN = 100
"""Characters of a path in messages."""


class Messages:
    """Messages as text, for :class:`~rotor_core.saved.capture.Capture`."""

    def text(self, value: Any) -> str | None:
        """Type and serialised bytes; None where it is no message."""
        if not hasattr(value, "get_fields_and_field_types"):
            return None
        kind = type(value)
        return (
            f"{kind.__module__.rsplit('.', 1)[0]} {kind.__name__} {serialize_message(value).hex()}"
        )

    def value(self, text: str) -> Any:
        """The message again."""
        module, name, data = text.split(" ")
        return deserialize_message(bytes.fromhex(data), getattr(import_module(module), name))


VALUES: Mapping[str, type] = {"Plan": Plan, "JointPlan": JointPlan, "Heading": Heading}
CAPTURE = Capture("rotor_", VALUES, Messages())


class Keeper:
    """Service ``~/save``, and the parameters ``resume`` and ``save_on_exit``, of one node.

    Args:
        node: named as its file is.
        take: gives the scenario and the state as plain values, and puts arrays into what it gets; raises ContractError
            where the node cannot be put away now.
    """

    def __init__(self, node: Node, take: Callable[[Keep], tuple[Scenario, dict]]) -> None:
        self._node, self._take = node, take
        self._from = str(declare(node, "resume", "", "folder of saved nodes to go on from"))
        text = "folder to save into when the node is ended by a signal; empty: none"
        self._exit = str(declare(node, "save_on_exit", "", text))
        node.create_service(Save, "~/save", self._serve)

    def saved(self, scenario: Scenario) -> tuple[dict[str, Any], Keep] | None:
        """State that the parameter ``resume`` names; None: nothing. Only the first world of a node goes on from it.

        Raises:
            ConfigError: there is no such file, or it is one of another scenario or version.
        """
        folder, self._from = self._from, ""
        if not folder:
            return None
        path = self._path(Path(folder))
        head, arrays = read_saved(path, MAGIC, "a saved node (~/save)")
        if head.get("scenario") != dump_scenario(scenario):
            raise ConfigError(
                f"{path}: was saved in another scenario. Start with the one beside it, {Path(folder) / SCENARIO_FILE}."
            )
        self._node.get_logger().info(f"goes on from {path}")
        return head["state"], arrays

    def save(self, folder: Path) -> Path:
        """Write the file of this node, and the scenario; what was there is replaced.

        Raises:
            ContractError: the node cannot be put away now.
            ConfigError: a file cannot be written.
        """
        arrays: Keep = {}
        scenario, state = self._take(arrays)
        text, path = dump_scenario(scenario), self._path(folder)
        write_saved(path, MAGIC, {"scenario": text, "state": state}, arrays)
        try:
            write_durably(folder / SCENARIO_FILE, text.encode())
        except OSError as error:
            raise ConfigError(f"{folder}: cannot be written ({error.strerror}).") from error
        return path

    def on_exit(self) -> None:
        """The node has been told to end: save it where that was asked for.

        Raises:
            RotorError: as :meth:`save`.
        """
        if self._exit:
            print(f"saved: {self.save(Path(self._exit))}", flush=True)

    def _path(self, folder: Path) -> Path:
        return folder / f"{self._node.get_name()}.saved"

    def _serve(self, request: Save.Request, response: Save.Response) -> Save.Response:
        try:
            if not Path(request.folder).is_absolute():
                raise ContractError(
                    f"folder: must be an absolute path, which all nodes may share, got {request.folder[:SHOWN]!r}."
                )
            response.message = str(self.save(Path(request.folder)))
            response.success = True
        except (RotorError, ValueError) as error:  # names with a NUL are no paths
            response.message = str(error)
        return response


def put_back(
    parts: dict[str, Any], found: tuple[dict[str, Any], Keep], capture: Capture
) -> dict[str, Any]:
    """Give parts of a node what :meth:`Keeper.saved` has found; see :meth:`Capture.put_parts`.

    Raises:
        ConfigError: it does not fit.
    """
    try:
        return capture.put_parts(parts, *found)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise ConfigError(f"resume: the file is not that of such a node ({error}).") from error
