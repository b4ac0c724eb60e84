"""Open what a user names and serve its page."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
import viser

from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import Scenario
from rotor_core.errors import ConfigError
from rotor_core.state import State
from rotor_flight.warm import warm
from rotor_recordings.formats.flights import is_recording, open_flight
from rotor_viewer.browser.app import Viewer
from rotor_viewer.browser.origin import GuardedServer, is_loopback
from rotor_viewer.snapshots.sources import RecordedFlight, RunningFlight, Source

VIEW_FROM = np.array([1.9, -2.6, 1.3])
"""Initial camera position, relative to the size of the scene."""

LARGE = 5_000_000
"""Bytes of a recording that takes many seconds to be read."""

TRIES = 20
"""Ports that are tried, from the one asked for."""


def free_port(host: str, port: int) -> int:
    """The first port from ``port`` on which nobody listens.

    Raises:
        ConfigError: there is none near, or the address is not of this machine.
    """
    for candidate in range(port, port + TRIES):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, candidate))
            except PermissionError as error:
                raise ConfigError(
                    f"--port {candidate}: needs rights that you lack. Use one above 1023."
                ) from error
            except (OSError, OverflowError) as error:
                if (
                    isinstance(error, OverflowError)
                    or candidate == port + TRIES - 1
                    or error.errno == 99
                ):
                    raise ConfigError(
                        f"--host {host} --port {port}: cannot listen there ({error})."
                    ) from error
                continue
            return candidate
    raise AssertionError


def open_source(
    what: str, *, live: bool = False, seed: int | None = None, namespace: str = "", flown: str | None = None,
) -> Source:  # fmt: skip
    """A scenario that flies here, the graph that flies it (in a namespace), or a recording of what was ``flown``.

    Raises:
        ConfigError: there is no such thing, or it cannot be shown.
    """
    if namespace and not live:
        raise ConfigError(f"--namespace {namespace}: is of running nodes, which --live shows.")
    if seed is not None and (live or is_recording(what)):
        raise ConfigError(f"--seed {seed}: is of a flight that begins here, and {what} has begun.")
    if is_recording(what):
        if live:
            raise ConfigError(
                f"--live: shows a running scenario, but {what} is a recording. Name the scenario."
            )
        path = Path(what)
        files = path.rglob("*") if path.is_dir() else (path,)
        size = sum(f.stat().st_size for f in files if f.is_file())
        if size > LARGE:
            print(f"reading {what} ({size / 1e6:.0f} MB) ...", file=sys.stderr, flush=True)
        return RecordedFlight(open_flight(what, load_scenario(flown) if flown else None))
    if flown:
        raise ConfigError(f"--scenario {flown}: says what flew in a recording, and {what} is none.")
    scenario = load_scenario(what, seed=seed)
    if live:
        from rotor_viewer.ros.graph_source import GraphSource

        return GraphSource(scenario, namespace)
    warm(scenario)
    return RunningFlight(scenario)


def serve(source: Source, host: str, port: int) -> viser.ViserServer:
    """A server that nobody but this machine reaches, unless ``host`` says so."""
    # browsers open connections ahead and close them unused, which is logged as an error with a trace back
    logging.getLogger("websockets").setLevel(logging.CRITICAL)
    server = GuardedServer(host, free_port(host, port), label="rotor")
    picture = source.picture()
    places = State(picture.states).position if picture is not None else np.zeros((0, 3))
    look_at(server, source.scenario, places)
    return server


def look_at(
    server: viser.ViserServer, scenario: Scenario, places: np.ndarray, near: float = 1.0
) -> None:
    """Begin with a view of positions (n, 3) of all that flies, from ``near`` times the usual distance; NaN: unknown."""
    places = places[np.isfinite(places).all(axis=1)]
    if not len(places):
        places = np.array([[0.0, 0.0, 0.5]])
    low, high = places.min(axis=0), places.max(axis=0)
    centre = 0.5 * (low + high)
    spans = [v.span for v in scenario.model.vehicles]
    size = max(0.6, float(np.linalg.norm(places - centre, axis=1).max()), *spans)
    server.initial_camera.look_at = tuple(centre)
    server.initial_camera.position = tuple(centre + near * size * VIEW_FROM)


def view(
    what: str, *, live: bool, host: str, port: int, seed: int | None, namespace: str = "",
    scenario: str | None = None,
) -> int:  # fmt: skip
    """Serve the page of what a user names until Ctrl-C; ``scenario``: what flew in a recording."""
    source = open_source(what, live=live, seed=seed, namespace=namespace, flown=scenario)
    is_scenario = not live and not isinstance(source, RecordedFlight)
    opener = (lambda name: open_source(name, seed=seed)) if is_scenario else None
    return serve_source(source, host, port, opener)


def serve_source(
    source: Source, host: str, port: int, opener: Callable[[str], Source] | None = None
) -> int:
    """Serve the page of a source until Ctrl-C; ``opener`` makes the source of another scenario."""
    server = serve(source, host, port)
    viewer = Viewer(server, source, opener)
    print(f"http://{host}:{server.get_port()}  (Ctrl-C ends it)", flush=True)
    if not is_loopback(host):
        print(
            f"--host {host or repr('')}: everybody who reaches this machine there can watch and steer, without a "
            "password and unencrypted. Without --host only this machine can.",
            file=sys.stderr,
            flush=True,
        )
    try:
        with _interrupts() as heard:
            viewer.run(until=heard.is_set)
            if heard.is_set():
                raise KeyboardInterrupt
    finally:
        server.stop()
        viewer.close()
    return 0


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Remember Ctrl-C: the exception alone is lost where a library swallows it, and the page was served for ever."""
    heard = threading.Event()
    theirs = {}
    if threading.current_thread() is threading.main_thread():  # others get no signals
        theirs = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}

    def hear(number: int, frame: FrameType | None) -> None:
        heard.set()
        handler = theirs[signal.Signals(number)]
        assert callable(handler)
        handler(number, frame)

    for number, handler in theirs.items():
        if callable(handler):
            signal.signal(number, hear)
    try:
        yield heard
    finally:
        for number, handler in theirs.items():
            signal.signal(number, handler)
