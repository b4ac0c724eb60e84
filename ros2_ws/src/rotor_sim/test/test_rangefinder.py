"""Rangefinder: against distances known from geometry, and against a march along the ray."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transforms3d.quaternions import quat2mat

from rotor_core.clearance.rays import Rays
from rotor_core.clearance.solids import WORLD, rigid
from rotor_core.config.loader import scenario_from_tree
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError
from rotor_core.math.polyhedron import CORNERS
from rotor_sim.sensing.rangefinder import RANGEFINDER, Rangefinder
from rotor_sim.simulation import Simulation

TEXT = """
schema: 1
model: {{vehicles: [{{use: dragonfly}}]}}
controller: {{type: quadrotor}}
initial: [{{entity: quad1, position_m: [0.0, 0.0, 1.5], rpy_deg: [0.0, {pitch}, 0.0]}}]
environment:
  ground_m: 0.1
  obstacles: [{{name: table, position_m: [2.0, 0.0, 0.4], shape: {{type: box, size_m: [1.0, 1.0, 0.8]}}}}]
sensing: {{sensors: [{{type: rangefinder, body: quad1, {keys}}}]}}
"""


def rangefinder(pitch=0.0, keys="farthest_m: 10.0"):
    scenario = scenario_from_tree(parse_tree(TEXT.format(pitch=pitch, keys=keys), "range"))
    return Simulation(scenario).sensors[2]


@pytest.mark.parametrize("direction", [(0, 0, -1), (-2, 0, 0), (1, 0, 0), (0.3, -0.4, 0.5)])
def test_its_frame_has_x_along_the_ray(direction):
    """As sensor_msgs/Range means it; it had been that of the body, in which the ground is elsewhere."""
    keys = Rangefinder("rangefinder", "quad1", position_m=(0.1, 0.0, -0.05), direction=direction)
    (channel,) = RANGEFINDER.channels(keys, None)
    place, attitude = channel.mount
    assert channel.topic == "quad1/rangefinder" and place == (0.1, 0.0, -0.05)
    along = np.array(direction) / np.linalg.norm(direction)
    np.testing.assert_allclose(quat2mat(attitude) @ [1.0, 0.0, 0.0], along, atol=1e-12)


@pytest.mark.parametrize("pitch", [0.0, 10.0, -30.0])
def test_the_ground_is_height_over_cosine_away(pitch):
    measured = rangefinder(pitch).sense()
    assert measured.shape == (1, 1)
    assert measured[0, 0] == pytest.approx(1.4 / math.cos(math.radians(pitch)), rel=1e-12)


def test_an_obstacle_is_nearer_than_the_ground():
    """At 45 degrees the ray meets the ground at x = 1.4 m, before the table at 1.5 m; flatter ones meet the table."""
    ahead = "direction: [1.0, 0.0, -1.0], farthest_m: 10.0"
    assert rangefinder(keys=ahead).sense()[0, 0] == pytest.approx(1.4 * math.sqrt(2.0), rel=1e-12)
    flatter = (
        "direction: [2.0, 0.0, -1.0], farthest_m: 10.0"  # at x = 1.5 it is 0.75 m high: the front
    )
    assert rangefinder(keys=flatter).sense()[0, 0] == pytest.approx(
        0.75 * math.sqrt(5.0), rel=1e-12
    )
    top = "direction: [5.0, 0.0, -2.0], farthest_m: 10.0"  # 0.8 m high at x = 1.75: the top
    assert rangefinder(keys=top).sense()[0, 0] == pytest.approx(0.35 * math.sqrt(29.0), rel=1e-12)


def test_too_far_and_too_near_are_infinite():
    assert rangefinder(keys="farthest_m: 1.0").sense()[0, 0] == math.inf
    assert rangefinder(keys="direction: [0.0, 0.0, 1.0]").sense()[0, 0] == math.inf
    assert rangefinder(keys="nearest_m: 2.0").sense()[0, 0] == -math.inf


def test_noise_has_its_deviation_and_repeats():
    sensor = rangefinder(keys="noise_m: 0.02")
    samples = np.array([sensor.sense()[0, 0] for _ in range(4000)])
    assert abs(samples.mean() - 1.4) < 5.0 * 0.02 / math.sqrt(4000)
    assert abs(samples.std() / 0.02 - 1.0) < 5.0 / math.sqrt(2 * 4000)
    sensor.reset()
    assert sensor.sense()[0, 0] == samples[0]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("direction: [0.0, 0.0, 0.0]", "direction must have a length"),
        ("nearest_m: 5.0", "nearest_m must be below farthest_m"),
        ("noise_m: -1.0", "noise_m: must be >= 0"),
    ],
)
def test_keys_are_checked(keys, message):
    with pytest.raises(ConfigError, match=message):
        rangefinder(keys=keys)


coordinates = st.tuples(*[st.floats(-2.0, 2.0)] * 3)


@settings(max_examples=200, deadline=None)
@given(coordinates, coordinates.filter(lambda v: math.hypot(*v) > 0.1))
def test_a_march_along_the_ray_enters_the_box_where_it_says(start, direction):
    """A second algorithm: many points along the ray, and which of them are inside."""
    start, along = np.array(start), np.array(direction) / math.hypot(*direction)
    half = np.array([0.5, 0.8, 0.3])
    distance = Rays([rigid(half * CORNERS, WORLD)]).distance(start, along, 100.0)
    s = np.linspace(0.0, 8.0, 8001)
    inside = np.all(np.abs(start + s[:, None] * along) <= half, axis=1)
    if inside.any():
        assert distance <= s[inside.argmax()] + 1e-9
    if math.isfinite(distance):
        at = start + distance * along
        assert np.all(np.abs(at) <= half + 1e-9)
        assert not inside[s < distance - 1e-9].any()
    else:
        assert not inside.any()
