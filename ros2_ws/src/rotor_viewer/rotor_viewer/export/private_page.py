"""Page of a recording that nobody but this command sees."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import viser

from rotor_viewer.browser.scene import Scene
from rotor_viewer.browser.serve import serve
from rotor_viewer.snapshots.sources import RecordedFlight

FIRST_PORT = 18080
"""The server is on the loopback address and ends before the command does."""


@contextlib.contextmanager
def private_page(
    source: RecordedFlight, *, has_labels: bool = True
) -> Iterator[tuple[viser.ViserServer, Scene]]:
    """Server and scene of a recording at its start, with its paths; ``has_labels``: as of :class:`Scene`."""
    with contextlib.redirect_stdout(None):  # it tells of a server that nobody needs
        server = serve(source, "127.0.0.1", FIRST_PORT)
    try:
        scene = Scene(server, source.scenario, has_labels=has_labels)
        scene.draw_paths(source.flight)
        scene.show(source.at(0))
        yield server, scene
    finally:
        with contextlib.redirect_stdout(None):
            server.stop()
