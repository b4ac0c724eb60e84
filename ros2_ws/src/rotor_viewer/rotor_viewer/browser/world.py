"""World around a scenario in the browser: ground with a pattern of metres, sky with a horizon, light."""

from __future__ import annotations

import functools

import numpy as np
import trimesh
import viser
from PIL import Image, ImageDraw
from trimesh.visual import TextureVisuals
from trimesh.visual.material import PBRMaterial

HALF = 60.0
"""Half the side of the ground, m, under whatever flies: its edge is lost in the haze."""

FAR = 4.0
"""The same over the distance of a camera that sees from far: haze begins behind what it looks at."""

TILE, PIXELS = 4, 256
"""Metres that one picture of the ground shows along a side, and its pixels."""

HAZE = (0.25, 0.9)
"""Share of the ground's half side over which it fades into the horizon."""

DAY, NIGHT = (226, 234, 241), (24, 28, 34)
"""Colours of the horizon by day and by night."""

GROUNDS = {
    False: ((208, 213, 205), (196, 202, 193), (150, 158, 150)),
    True: ((52, 57, 63), (46, 50, 56), (86, 94, 102)),
}
"""Colours of the ground, by day and in the dark: two tiles, and the lines of metres."""

BRIGHT, DIM = 1.2, 3.0
"""Light of the sky, besides the lamps that cast shadows."""

MOON = (200, 208, 220)
"""Colour of that light at night: of the dark sky itself it would leave everything black."""


class World:
    """Ground, sky and light of a page.

    Args:
        server: of the page.
        root: name below which all nodes are.
        height: of the ground, m.
    """

    def __init__(self, server: viser.ViserServer, root: str, height: float) -> None:
        self._server, self._root, self._height = server, root, height
        self._half, self._middle, self._dark = HALF, np.zeros(2), False
        self.show(dark=False)

    def reach(self, distance: float) -> None:
        """Let a camera see so far, m, without haze."""
        self._half = max(HALF, FAR * distance)
        self.show(dark=self._dark)

    def follow(self, place: np.ndarray) -> None:
        """Be below a place, (3,) m; the pattern stays where it is."""
        middle = TILE * np.round(place[:2] / TILE)
        if not np.array_equal(middle, self._middle):
            self._middle = middle
            self._ground.position = self._below

    def show(self, *, dark: bool) -> None:
        """Day, or night for eyes that want it dark."""
        self._dark = dark
        scene, horizon = self._server.scene, NIGHT if dark else DAY
        scene.set_up_direction("+z")
        scene.configure_default_lights(enabled=True, cast_shadow=True)
        scene.configure_environment_map(None)  # its reflections take half of the time of a picture
        scene.add_light_hemisphere(
            f"{self._root}/sky", sky_color=MOON if dark else horizon, ground_color=GROUNDS[dark][0],
            intensity=DIM if dark else BRIGHT,
        )  # fmt: skip
        scene.configure_fog(HAZE[0] * self._half, HAZE[1] * self._half, color=horizon)
        scene.set_background_image(_sky(horizon))
        self._ground = scene.add_mesh_trimesh(
            f"{self._root}/ground", ground(dark, self._half), position=self._below, cast_shadow=False,
            receive_shadow=True,
        )  # fmt: skip

    @property
    def _below(self) -> tuple[float, float, float]:
        """Middle of the ground, m."""
        return float(self._middle[0]), float(self._middle[1]), self._height - 0.002


def _sky(horizon: tuple[int, int, int]) -> np.ndarray:
    """The colour of the horizon everywhere: the camera may look from below and above, (2, 2, 3)."""
    return np.tile(np.array(horizon, np.uint8), (2, 2, 1))


@functools.cache
def ground(dark: bool, half: float = HALF) -> trimesh.Trimesh:
    """A square with a pattern of metres, of twice ``half`` along a side."""
    corners = half * np.array(
        [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]
    )
    mesh = trimesh.Trimesh(corners, [[0, 1, 2], [0, 2, 3]], process=False)
    material = PBRMaterial(baseColorTexture=_tiles(dark), metallicFactor=0.0, roughnessFactor=1.0)
    mesh.visual = TextureVisuals(uv=corners[:, :2] / TILE, material=material)
    return mesh


def _tiles(dark: bool) -> Image.Image:
    """Two shades of tiles of one metre, with lines between."""
    light, shade, line = GROUNDS[dark]
    image = Image.new("RGB", (PIXELS, PIXELS), light)
    draw, side = ImageDraw.Draw(image), PIXELS // TILE
    for i in range(TILE):
        for j in range(TILE):
            if (i + j) % 2:
                draw.rectangle(
                    (i * side, j * side, (i + 1) * side - 1, (j + 1) * side - 1), fill=shade
                )
        draw.line((i * side, 0, i * side, PIXELS), fill=line)
        draw.line((0, i * side, PIXELS, i * side), fill=line)
    draw.line((0, 0, 0, PIXELS), fill=line, width=3)
    draw.line((0, 0, PIXELS, 0), fill=line, width=3)
    return image
