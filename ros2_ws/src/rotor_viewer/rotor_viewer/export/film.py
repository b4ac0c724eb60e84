"""Film of a flight by the browser's renderer: a Chromium without a window draws what the viewer shows."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import viser
from PIL import Image
from scipy.spatial.transform import Rotation
from tqdm import tqdm

from rotor_core.errors import ConfigError
from rotor_core.math.rotation_vectors import wxyz_from
from rotor_core.state import State
from rotor_flight.flight import Flight
from rotor_viewer.browser.scene import Scene
from rotor_viewer.export.drawing import film_rows, shown_for
from rotor_viewer.export.private_page import private_page
from rotor_viewer.snapshots.sources import RecordedFlight

FASTEST_GIF = 50.0
"""Pictures of a GIF per second: it keeps hundredths of a second, and viewers show single ones as tenths."""

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Browsers that can draw without a window."""

ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=640,400",
)  # fmt: skip

WIDTH, HEIGHT = 640, 400
"""Pixels of a picture."""

PATIENCE = 30.0
"""Longest wait for the browser to open the page, s."""

SETTLE = 2.0
"""Time in which the browser makes the scene, s."""

FIELD = np.radians(50.0)
"""Vertical field of view."""

WIDE = 1.4
"""Field of the page's camera over that of a picture: the sky, which comes a picture late, fills it all the same."""


def browser() -> str | None:
    """Program that draws; None: there is none."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


def draw_film(flight: Flight, rate: float, path: Path) -> None:
    """Write an animated GIF or WebP of a flight; the camera follows the team.

    Args:
        flight: what is shown.
        rate: pictures per second.
        path: ends in ``.gif`` or ``.webp``.

    Raises:
        ConfigError: there is no browser, or it does not draw.
    """
    source, pictures = RecordedFlight(flight), []
    is_gif = path.suffix.lower() == ".gif"
    rate = min(rate, FASTEST_GIF) if is_gif else rate
    rows = film_rows(flight, rate)
    with _page(source) as (server, scene, client):
        camera = server.initial_camera
        offset = np.array(camera.position) - np.array(camera.look_at)
        for row in tqdm(rows, desc="film", unit="picture", leave=False, disable=None):
            scene.show(source.at(int(row)))
            server.flush()
            places = State(flight.states[int(row)]).position
            middle = places.mean(axis=0)
            eye = middle + offset
            _look(client, eye, middle)
            drawn = client.get_render(
                HEIGHT, WIDTH, wxyz=_towards(-offset), position=eye, fov=FIELD,
                transport_format="jpeg",
            )  # fmt: skip
            pictures.append(Image.fromarray(np.asarray(drawn)[..., :3]))
    first, *others = pictures
    unit = 10 if is_gif else 1  # ms that the file keeps
    ends = np.round(1000.0 * np.cumsum(shown_for(flight, rows, rate)) / unit)
    shown = (unit * np.diff(ends, prepend=0.0)).astype(int).tolist()
    first.save(path, save_all=True, append_images=others, duration=shown, loop=0)


def _look(client: viser.ClientHandle, eye: np.ndarray, at: np.ndarray) -> None:
    """Turn the camera of the page to where a picture is taken: Viser hangs the sky behind that one."""
    client.camera.position, client.camera.look_at = eye, at
    client.camera.fov = WIDE * FIELD


@contextlib.contextmanager
def _page(
    source: RecordedFlight,
) -> Iterator[tuple[viser.ViserServer, Scene, viser.ClientHandle]]:
    """The page of a recording, open in a browser without a window."""
    program = browser()
    if program is None:
        raise ConfigError("film: needs a browser that draws (apt-get install chromium).")
    with (
        private_page(source, has_labels=False) as (server, scene),
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
    ):
        address = f"http://127.0.0.1:{server.get_port()}"
        process = subprocess.Popen(
            [program, *ARGUMENTS, f"--user-data-dir={profile}", address],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield server, scene, _client(server)
        finally:
            process.terminate()
            process.wait()


def _client(server: viser.ViserServer) -> viser.ClientHandle:
    """The browser, once it has opened the page.

    Raises:
        ConfigError: it does not come.
    """
    end = time.monotonic() + PATIENCE
    while not server.get_clients():
        if time.monotonic() > end:
            raise ConfigError(f"film: the browser did not open the page within {PATIENCE:g} s.")
        time.sleep(0.1)
    time.sleep(SETTLE)
    return next(iter(server.get_clients().values()))


def _towards(direction: np.ndarray) -> np.ndarray:
    """Attitude (w first) of a camera that looks along a direction: x to the right, y down, z ahead."""
    ahead = direction / np.linalg.norm(direction)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return wxyz_from(Rotation.from_matrix(np.column_stack([right, np.cross(ahead, right), ahead])))
