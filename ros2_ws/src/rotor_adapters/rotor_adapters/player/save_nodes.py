"""Put a running graph away: pause, save every node that belongs to it, and play where asked."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from rotor_msgs.srv import Save
from std_srvs.srv import Trigger

from rotor_adapters.counterparts import tell
from rotor_adapters.player.calls import call, caller
from rotor_core.errors import RotorError

LISTEN = 4.0
"""Planner and controller may be others, which save nothing: they are looked for this long, s.

Discovery that lost a packet comes again after three seconds.
"""


def save_nodes(folder: Path, *, play: bool, namespace: str = "") -> list[str]:
    """Files of simulator, planner and controller, written while the simulator stands; it plays afterwards if asked.

    Where one cannot be written, it goes on as it did before. A planner or controller that is not there, or of others,
    is left out, which is told.

    Args:
        folder: of the files.
        play: afterwards.
        namespace: of the nodes; empty: the root.

    Raises:
        RotorError: no simulator answers, or a node cannot be saved.
    """
    with caller("save_nodes", namespace) as node:
        stood = "already" in call(node, Trigger, "simulator/pause", Trigger.Request()).message
        written = []
        try:
            for name in ("simulator", "planner", "controller"):
                service = f"{name}/save"
                client = node.create_client(Save, service)
                if name != "simulator" and not client.wait_for_service(LISTEN):
                    tell(
                        f"without a {name}: none that can be saved has been found within {LISTEN:g} s"
                    )
                    continue
                written.append(call(node, Save, service, Save.Request(folder=str(folder))).message)
        except RotorError:
            if not stood:
                with suppress(RotorError):  # why nothing was saved matters more
                    call(node, Trigger, "simulator/play", Trigger.Request())
            raise
        if play:
            call(node, Trigger, "simulator/play", Trigger.Request())
        return written
