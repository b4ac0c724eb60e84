"""Cameras of the pages: each keeps its distance from whom it follows, as its user has turned it."""

from __future__ import annotations

import warnings
from collections import deque
from functools import partial

import numpy as np
import viser

from rotor_viewer.browser import heard

NEAR = 0.02
"""A view this near to the first one, over its distance, is that one: what a page tells of its camera is rounded."""

SAME, REMEMBERED = 1e-4, 200
"""A position this near to one to which a camera has been moved, over its distance, of the last so many, is that one."""


class Cameras:
    """Views of all pages of a server.

    Args:
        server: of the pages; everybody begins with its initial camera.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self._server = server
        start = server.initial_camera
        self._first = np.array(start.position) - np.array(start.look_at)
        self._offsets: dict[int, np.ndarray] = {}
        """From whom it follows to the camera of each page, (3,) m."""
        self._places: deque[np.ndarray] = deque(maxlen=REMEMBERED)
        """The last places that were looked at, (3,) m."""
        self._begun: set[int] = set()
        """Pages that have told of the first view: before that they tell where they looked from without it."""

    async def _hear(self, number: int, camera: viser.CameraHandle) -> None:
        """Take up how a user has turned the camera of a page.

        A coroutine, which Viser runs where it takes the message in: a function would run in another thread, where
        ``follow`` may change the one of the two vectors between the reading of both.
        """
        place, target = heard.place(camera.position), heard.place(camera.look_at)
        if place is None or target is None:
            return
        offset = place - target
        if number in self._begun:
            if not self._is_ours(place, self._offsets[number]):
                self._offsets[number] = offset
        elif np.linalg.norm(offset - self._first) < NEAR * np.linalg.norm(self._first):
            self._begun.add(number)

    def _is_ours(self, position: np.ndarray, offset: np.ndarray) -> bool:
        """True of a position to which this has moved the camera: nobody has turned it.

        On a busy machine a page tells a new position beside what it looked at before, which is no other distance.
        """
        ways = np.array(self._places).reshape(-1, 3) + offset - position
        return bool((np.linalg.norm(ways, axis=1) < SAME * np.linalg.norm(offset)).any())

    def follow(self, place: np.ndarray) -> None:
        """Let all look at a place, (3,) m, from where they look."""
        self._places.append(np.array(place, float))
        clients = self._server.get_clients()
        for number, client in clients.items():
            camera = client.camera
            told = camera.position, camera.look_at, camera.up_direction
            if any(heard.place(vector) is None for vector in told):
                continue  # a page without a camera that could be moved
            if number not in self._offsets:
                self._offsets[number] = self._first
                camera.on_update(partial(self._hear, number))
            with warnings.catch_warnings(), client.atomic():  # a page may be closed at any time
                warnings.simplefilter("ignore", UserWarning)
                camera.position = place + self._offsets[number]
                camera.look_at = place  # last: a new position moves what is looked at
        for number in self._offsets.keys() - clients.keys():
            del self._offsets[number]
            self._begun.discard(number)
