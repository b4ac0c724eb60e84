"""Meshes and height fields with anything in them: obstacles with finite corners, or one line that names the file."""

import numpy as np
import pytest
from fuzz import budget, damage, nasty
from fuzz.verdicts import ACCEPTED, UnclearError, judge

from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError
from rotor_flight.loop import ClosedLoop

FLOWN = 20
"""Beside one in so many meshes a vehicle flies."""

SCENARIO = """\
schema: 1
model: {{vehicles: [{{use: dragonfly}}]}}
controller: {{use: quadrotor}}
environment: {{obstacles: [{{name: it, shape: {shape}, position_m: [5.0, 0.0, 0.0]}}]}}
"""
TEXTS = {
    "fuzz.obj": [
        "", "v 0 0 0\n", "f 1 2 3\n", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -1 -2 -99\n",
        "v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "v 1e400 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "v 0 0\nf 1 1 1\n", "mtllib /etc/passwd\n",
        "usemtl x\nmtllib ../../x.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "v 0 0 0\nf " + "1 " * 5000, "v 0 0 0\n" * 3 + "f 1/1/1 2//2 3/3\n",
        "v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n",
    ],
    "fuzz.stl": ["", "solid x\nendsolid x\n", "solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nendloop\nendfacet\nendsolid", "solid", "\x00" * 84],
    "fuzz.ply": [
        "", "ply\n", "ply\nformat ascii 1.0\nend_header\n", "ply\nformat ascii 1.0\nelement vertex 3\nend_header\n0 0 0\n",
        "ply\nformat ascii 1.0\nelement vertex 99999999999\nproperty float x\nend_header\n",
        "ply\nformat binary_little_endian 1.0\nelement vertex 4294967295\nproperty double x\nproperty double y\nproperty double z\nend_header\n",
        "ply\nformat nonsense 1.0\nelement face -1\nproperty list uchar int vertex_indices\nend_header\n",
    ],
    "fuzz.csv": ["", "\n\n", "#\n", "1", "1,2\n3,4\n", "nan,0\n0,0\n", "inf 0\n0 0\n", "1e308,1e308\n-1e308,1\n", "0 0\n0\n", "\ufeff0,0\n0,0\n", "0;0\n0;0", "١,0\n0,0\n", "0," * 30000],
}  # fmt: skip
"""Texts that have broken readers of meshes, ours or others."""


def samples():
    """Good files of all kinds, as bytes."""
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(subdivisions=1)
    box = trimesh.creation.box(extents=(1.0, 2.0, 3.0))
    out = {}
    for name in ("stl", "obj", "ply"):
        made = [m.export(file_type=name) for m in (ball, box)]
        out[f"fuzz.{name}"] = [m.encode() if isinstance(m, str) else m for m in made]
    out["fuzz.stl"].append(box.export(file_type="stl_ascii").encode())
    out["fuzz.ply"].append(box.export(file_type="ply", encoding="ascii"))
    grid = "\n".join(" ".join(f"{0.1 * i * j:.2f}" for i in range(6)) for j in range(5))
    out["fuzz.csv"] = [b"# heights\n" + grid.encode(), grid.replace(" ", ",").encode()]
    return out


@pytest.mark.timeout(budget.TIME_LIMIT)
@pytest.mark.filterwarnings("ignore")
def test_whatever_a_mesh_holds_it_stands_or_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = samples()
    attacks = [(name, text) for name, texts in TEXTS.items() for text in texts]
    scenario = tmp_path / "scenario.yaml"

    def write(name, data):
        (tmp_path / name).write_bytes(data)
        shape = (
            f"{{type: heights, heights_file: {name}, size_m: [2.0, 2.0]}}"
            if name.endswith("csv")
            else f"{{type: mesh, mesh_file: {name}}}"
        )
        scenario.write_text(SCENARIO.format(shape=shape))

    def fly():
        loop = ClosedLoop(load_scenario(str(scenario)))
        with np.errstate(all="ignore"):
            loop.period()
        assert np.isfinite(loop.simulation.motion).all(), "a state is not finite"

    for name, files in good.items():  # compiled, and readers loaded, before anything is timed
        for data in files:
            write(name, data)
            fly()

    def attempt(rng, number):
        if number < len(attacks):
            name, text = attacks[number]
            write(name, text.encode("utf-8", "surrogatepass"))
        else:
            name = nasty.pick(rng, sorted(good))
            other = nasty.pick(rng, sorted(good)) if rng.random() < 0.1 else name
            write(name, damage.damaged(rng, nasty.pick(rng, good[other])))
        try:
            with np.errstate(all="ignore"):
                made = load_scenario(str(scenario))
                corners = made.environment.obstacles[0].triangles
            assert np.isfinite(corners).all(), "a corner is not finite"
            if number % FLOWN == 0:
                fly()
        except ConfigError as error:
            if "fuzz." not in str(error) and "scenario.yaml:" not in str(error):
                raise UnclearError(f"names no file: {error}") from error
            raise
        return ACCEPTED

    judge("meshes", attempt)
