"""Write a recorded flight as a page that replays it by itself, as a picture, or as a film."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from tqdm import tqdm

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError
from rotor_core.state import State
from rotor_flight.flight import Flight
from rotor_recordings.formats.flights import open_flight
from rotor_viewer.browser.serve import look_at
from rotor_viewer.export import film
from rotor_viewer.export.drawing import draw_film, draw_picture, film_rows, shown_for
from rotor_viewer.export.private_page import private_page
from rotor_viewer.snapshots.sources import RecordedFlight

ENDINGS = {"png": (".png",), "gif": (".gif",), "film": (".gif", ".webp")}
"""Endings of the names of files, by option."""


NEAR = 0.6
"""Whole paths fill a page from this share of the viewer's usual distance, in which there is room to fly on."""


def export(options: argparse.Namespace) -> int:
    """Write what the options ask for.

    Raises:
        ConfigError: nothing is asked for, a file exists already or cannot be written, or the recording cannot be read.
    """
    wanted = {
        kind: getattr(options, kind)
        for kind in ("html", "png", "gif", "film")
        if getattr(options, kind)
    }
    if not wanted:
        raise ConfigError("export: say what to write: --html, --png, --gif or --film FILE.")
    for kind, name in wanted.items():
        path = Path(name)
        try:
            taken, has_folder = path.exists(), path.parent.is_dir()
        except OSError as error:
            raise ConfigError(f"--{kind} {name}: cannot be written ({error.strerror}).") from error
        if taken or not has_folder:
            why = "exists already" if taken else "its folder does not exist"
            raise ConfigError(f"--{kind} {name}: {why}. Name a new file.")
        try:
            path.touch()
            path.unlink()
        except OSError as error:
            raise ConfigError(f"--{kind} {name}: cannot be written ({error.strerror}).") from error
        endings = ENDINGS.get(kind, ())
        if endings and path.suffix.lower() not in endings:
            raise ConfigError(f"--{kind} {name}: must end in {' or '.join(endings)}.")
    if "film" in wanted and film.browser() is None:
        raise ConfigError(
            "--film: needs a browser that draws (apt-get install chromium); --gif needs none."
        )
    scenario = load_scenario(options.scenario) if options.scenario else None
    flight = open_flight(options.recording, scenario)
    duration = float(flight.time[-1] - flight.time[0])
    at = 0.5 * duration if options.at is None else options.at
    if not 0.0 <= at <= duration:
        raise ConfigError(f"--at: must be within the recording, 0 to {duration:.3f} s, got {at:g}.")
    if "html" in wanted:
        Path(wanted["html"]).write_text(page(flight, options.rate))
    if "png" in wanted:
        draw_picture(flight, at, Path(wanted["png"]))
    if "gif" in wanted:
        draw_film(flight, options.rate, Path(wanted["gif"]))
    if "film" in wanted:
        film.draw_film(flight, options.rate, Path(wanted["film"]))
    print(", ".join(wanted.values()))
    return 0


def page(flight: Flight, rate: float) -> str:
    """HTML that replays a flight in the browser, with nothing from elsewhere."""
    source = RecordedFlight(flight)
    with private_page(source) as (server, scene):
        rows = film_rows(flight, rate)
        places = State(flight.states).position.reshape(-1, 3)
        look_at(server, flight.scenario, places, NEAR)  # no camera follows the team there
        camera = server.initial_camera
        scene.see(float(np.linalg.norm(np.subtract(camera.position, camera.look_at))))
        serializer = server.get_scene_serializer()
        bar = tqdm(rows, desc="page", unit="picture", leave=False, disable=None)
        for row, seconds in zip(bar, shown_for(flight, rows, rate), strict=True):
            scene.show(source.at(int(row)))
            serializer.insert_sleep(float(seconds))
        return serializer.as_html()
