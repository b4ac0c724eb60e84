"""Wind that differs from place to place: spectra and correlations of turbulence, profiles, fronts, files."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from rotor_core.clearance.solids import obstacle_solids
from rotor_core.config.air.wind import Front, FrozenTurbulence, ObstacleWakes, Profile, Wind
from rotor_core.config.loader import dump_scenario, load_scenario, scenario_from_text
from rotor_core.config.obstacles.obstacle import (
    BallObstacle,
    BoxObstacle,
    CylinderObstacle,
    Obstacle,
)
from rotor_core.errors import ConfigError
from rotor_core.state import State
from rotor_sim.environment.frozen_turbulence import FrozenField, share_below
from rotor_sim.environment.obstacle_wakes import WakesOfObstacles, frontal_area
from rotor_sim.environment.wind import WindField, front_share, profile_share, wind_samples
from rotor_sim.environment.wind_grid import WindGrid
from rotor_sim.simulation import Simulation


@settings(deadline=None)
@given(st.floats(0.05, 50.0))
def test_energy_below_a_wave_is_the_integral_of_the_spectrum(x):
    exact, _ = quad(lambda y: 16.0 / (3.0 * np.pi) * y**4 / (1.0 + y * y) ** 3, 0.0, x)
    assert share_below(np.array([x]))[0] == pytest.approx(exact, rel=1e-8)


def fields(n, **keys):
    return [FrozenField(FrozenTurbulence(1.5, 2.0, **keys), np.zeros(3), seed) for seed in range(n)]


def test_turbulence_has_its_strength_and_the_correlations_of_dryden():
    """Along the distance exp(-r / L), across it (1 - r / 2 L) exp(-r / L)."""
    random = np.random.default_rng(3)
    r = np.array([0.0, 0.5, 1.0, 2.0, 4.0])
    along, across = np.zeros(len(r)), np.zeros(len(r))
    n, places = 60, random.uniform(-50.0, 50.0, (400, 3))
    for field in fields(n, modes=400):
        base = field.at(0.0, places)
        for k, distance in enumerate(r):
            there = field.at(0.0, places + [distance, 0.0, 0.0])
            along[k] += np.mean(base[:, 0] * there[:, 0]) / n
            across[k] += np.mean(base[:, 1] * there[:, 1]) / n
    f = np.exp(-r / 2.0)
    # 60 fields of 400 waves, each of which has a random share of the components: four deviations are 3 % of the variance
    assert along == pytest.approx(1.5**2 * f, abs=0.03 * 1.5**2)
    assert across == pytest.approx(1.5**2 * (1.0 - r / 4.0) * f, abs=0.03 * 1.5**2)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000))
def test_turbulence_has_no_sources(seed):
    field = FrozenField(FrozenTurbulence(1.0, 3.0), np.zeros(3), seed)
    x = np.random.default_rng(seed).normal(size=3)
    # waves run along their k and swing across it, exactly
    assert np.allclose(
        np.sum(field._waves * field._amplitudes, axis=1),
        0.0,
        atol=1e-9 * np.abs(field._waves).max(),
    )
    assert np.isfinite(field.at(1.0, x[None])).all()


def test_turbulence_is_frozen_and_carried_along():
    carried = np.array([3.0, -1.0, 0.5])
    field = FrozenField(FrozenTurbulence(1.0, 2.0), carried, 5)
    x = np.random.default_rng(0).normal(size=(10, 3))
    assert np.allclose(field.at(2.0, x + 2.0 * carried), field.at(0.0, x), atol=1e-7)
    own = FrozenField(FrozenTurbulence(1.0, 2.0, (1.0, 0.0, 0.0)), carried, 5)
    assert np.allclose(own.at(2.0, x + [2.0, 0.0, 0.0]), own.at(0.0, x), atol=1e-7)
    assert np.array_equal(
        field.at(0.3, x), FrozenField(FrozenTurbulence(1.0, 2.0), carried, 5).at(0.3, x)
    )


def test_profiles_grow_with_height():
    log = Profile("log", height_m=10.0, roughness_m=0.1)
    assert profile_share(log, np.array([10.0, 1.0, 0.1, 0.0, -5.0])) == pytest.approx(
        [1, 0.5, 0, 0, 0]
    )
    power = Profile("power", height_m=8.0, exponent=1.0 / 3.0)
    assert profile_share(power, np.array([8.0, 1.0, 0.0, -1.0])) == pytest.approx([1, 0.5, 0, 0])
    with pytest.raises(ValueError, match="height_m must be above roughness_m"):
        Profile("log", height_m=0.02)
    with pytest.raises(ValueError, match="has nothing to shape"):
        Wind(profile=log)


def test_a_front_passes_at_its_speed():
    front = Front(2.0, (4.0, 0.0, 0.0), (1.0, 0.0, 0.0), width_m=1.0)
    places = np.array([[0.0, 3.0, 1.0], [8.0, 0.0, 0.0]])
    assert front_share(front, 2.0, places) == pytest.approx([0.0, 0.0])
    assert front_share(front, 2.125, places) == pytest.approx(
        [0.5, 0.0]
    )  # half its width has passed
    assert front_share(front, 2.25, places) == pytest.approx([1.0, 0.0])
    assert front_share(front, 4.125, places) == pytest.approx([1.0, 0.5])
    with pytest.raises(ValueError, match="must be level and not zero"):
        Front(0.0, (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))


def write_grid(path, **more):
    x, y, z, t = np.arange(3.0), np.arange(2.0), np.array([0.0, 5.0]), np.array([0.0, 1.0, 4.0])
    T, X, Y, Z = np.meshgrid(t, x, y, z, indexing="ij")
    velocity = np.stack([X + 2.0 * Y - Z, T + Z, 0.5 * T * X], axis=-1)
    arrays = {"time_s": t, "x_m": x, "y_m": y, "z_m": z, "velocity_m_s": velocity} | more
    np.savez(path, **{k: v for k, v in arrays.items() if v is not None})
    return str(path)


def test_a_recorded_field_is_linear_between_its_points_and_goes_on_at_its_edges(tmp_path):
    grid = WindGrid(write_grid(tmp_path / "wind.npz"))
    places = np.array([[0.3, 0.7, 2.0], [9.0, -3.0, 2.0]])
    found = grid.at(2.0, places)
    for row, (x, y, z) in zip(found, [[0.3, 0.7, 2.0], [2.0, 0.0, 2.0]], strict=True):
        assert row == pytest.approx([x + 2.0 * y - z, 2.0 + z, x])
    assert grid.at(99.0, places[:1])[0, 1] == pytest.approx(4.0 + 2.0)
    still = WindGrid(
        write_grid(tmp_path / "still.npz", time_s=None, velocity_m_s=np.ones((3, 2, 2, 3)))
    )
    assert still.at(7.0, places) == pytest.approx(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"x_m": None}, "holds no x_m"),
        ({"x_m": np.array([0.0, 0.0, 1.0])}, "x_m: must be finite numbers that increase"),
        ({"velocity_m_s": np.zeros((2, 2, 2, 3))}, "of the shape"),
        (
            {"velocity_m_s": np.full((3, 3, 2, 2, 3), np.nan)},
            r"velocity_m_s: must be finite; it is not at \[0, 0, 0, 0, 0\] of 108",
        ),
        ({"t_s": np.arange(3.0)}, "t_s: unknown array. Known: time_s, x_m"),
        ({"time_s": np.array([0, 1000, 4000], "m8[ms]")}, r"plain numbers, got timedelta64\[ms\]"),
        ({"velocity_m_s": np.zeros((3, 3, 2, 2, 3), complex)}, "plain numbers, got complex128"),
        ({"frame": np.array("NED")}, "frame: unknown array"),
    ],
)
def test_files_that_are_no_field_are_refused(tmp_path, change, says):
    with pytest.raises(ConfigError, match=says):
        WindGrid(write_grid(tmp_path / "wind.npz", **change))
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(ConfigError, match="cannot be read as an archive"):
        WindGrid(str(tmp_path / "text.npz"))
    np.save(tmp_path / "one.npy", np.zeros(3))
    (tmp_path / "empty.npz").write_bytes(b"")
    for name in ("one.npy", "empty.npz"):
        with pytest.raises(ConfigError, match="cannot be read as an archive"):
            WindGrid(str(tmp_path / name))


def test_a_scenario_finds_its_file_and_refuses_another(tmp_path):
    write_grid(tmp_path / "wind.npz")
    text = (
        "schema: 1\nmodel: {vehicles: [{use: hexacopter, name: hexa}]}\ncontroller: {use: quadrotor}\n"
        "trajectory: {type: hover}\ninitial: [{entity: hexa, position_m: [1.0, 0.5, 2.0]}]\n"
        "environment: {wind: {field_file: wind.npz}}\n"
    )
    (tmp_path / "mine.yaml").write_text(text)
    scenario = load_scenario(tmp_path / "mine.yaml")
    simulation = Simulation(scenario)
    simulation.act(np.array([[1.9 * 9.81, 0.0, 0.0, 0.0]]))
    assert simulation.air[0] == pytest.approx([1.0 + 1.0 - 2.0, 2.0, 0.0], abs=1e-12)
    (tmp_path / "mine.yaml").write_text(text.replace("wind.npz", "nowhere.npz"))
    with pytest.raises(ConfigError, match=r"field_file: there is no file 'nowhere.npz'"):
        load_scenario(tmp_path / "mine.yaml")


def test_a_file_that_was_rewritten_is_not_flown_in_silence(tmp_path):
    """What was recorded or saved in one wind is refused in another; whoever wants it names the file anew."""
    write_grid(tmp_path / "wind.npz")
    (tmp_path / "mine.yaml").write_text(
        "schema: 1\nmodel: {vehicles: [{use: hexacopter, name: hexa}]}\ncontroller: {use: quadrotor}\n"
        "environment: {wind: {field_file: wind.npz}}\n"
    )
    scenario = load_scenario(tmp_path / "mine.yaml")
    recorded = scenario_from_text(dump_scenario(scenario))
    Simulation(recorded)
    write_grid(tmp_path / "wind.npz", velocity_m_s=np.zeros((3, 3, 2, 2, 3)))
    with pytest.raises(ConfigError, match=r"wind.npz: is another file than the scenario was read"):
        Simulation(recorded)
    again = recorded.changed("environment.wind.field_file", str(tmp_path / "wind.npz"))
    assert not Simulation(again).air.any()
    Simulation(load_scenario(tmp_path / "mine.yaml"))
    text = "schema: 1\nmodel: {vehicles: [{use: hexacopter}]}\ncontroller: {use: quadrotor}\n"
    for wind, says in (
        ("", "needs field_file"),
        (f", field_file: {tmp_path}/wind.npz", "must be 64"),
    ):
        with pytest.raises(ConfigError, match=says):
            scenario_from_text(f"{text}environment: {{wind: {{field_sha256: abc{wind}}}}}\n")


def test_every_body_feels_its_own_wind():
    scenario = load_scenario("hexacopter_wind")
    wind = {
        "steady_m_s": [3.0, 0.0, 0.0],
        "profile": {"law": "log", "height_m": 10.0, "roughness_m": 0.1},
    }
    scenario = scenario.changed("environment.wind", wind)
    air = []
    for height in (1.0, 10.0):
        simulation = Simulation(scenario)
        states = simulation.motion[:, :13].copy()
        State(states).position[0, 2] = height
        simulation.reset(states)
        simulation.act(np.array([[18.6, 0.0, 0.0, 0.0]]))
        air.append(simulation.air[0, 0])
    assert air == pytest.approx([1.5, 3.0])


def test_samples_for_many_worlds_are_those_of_uniform_wind():
    with pytest.raises(ValueError, match="differs from place to place"):
        wind_samples(Wind((1.0, 0, 0), profile=Profile("power")), 0.01, [1], 3)
    field = WindField(Wind((1.0, 2.0, 0.0)), 0.01, 0)
    assert field.is_uniform and field.sample(0.0) == pytest.approx([1.0, 2.0, 0.0])


# --- behind obstacles -----------------------------------------------------------------------------


def obstacle(kind, position=(0.0, 0.0, 1.0), rpy=(0.0, 0.0, 0.0), **size):
    return Obstacle(
        "it", kind(kind.__name__.removesuffix("Obstacle").lower(), **size), position, rpy
    )


@pytest.mark.parametrize(
    ("it", "area"),
    [
        (obstacle(BallObstacle, radius_m=0.5), np.pi * 0.25),
        (obstacle(BoxObstacle, size_m=(0.4, 0.6, 0.8)), 0.6 * 0.8),
        (obstacle(BoxObstacle, size_m=(1.0, 1.0, 1.0), rpy=(0.0, 0.0, 45.0)), np.sqrt(2.0)),
        (obstacle(CylinderObstacle, radius_m=0.2, height_m=2.0), 0.8),
        (obstacle(CylinderObstacle, radius_m=0.2, height_m=2.0, rpy=(0.0, 90.0, 0.0)), np.pi * 0.04),
    ],
)  # fmt: skip
def test_outlines_have_their_areas(it, area):
    found = sum(frontal_area(s, np.array([1.0, 0.0, 0.0])) for s in obstacle_solids(it))
    assert found == pytest.approx(area, rel=2e-5)  # a polygon of 720 sides about the outline


@pytest.mark.parametrize("distance", [1.5, 4.0, 12.0])
def test_a_wake_lacks_the_momentum_that_is_the_drag(distance):
    keys, it = ObstacleWakes(1.2, 0.06), obstacle(BallObstacle, radius_m=0.5)
    wakes = WakesOfObstacles(keys, [it], np.array([3.0, 0.0, 0.0]))
    g = np.linspace(-6.0, 6.0, 481)
    y, z = np.meshgrid(g, g)
    u = 3.0 * wakes.share(np.column_stack([np.full(y.size, distance), y.ravel(), 1.0 + z.ravel()]))
    lacks = np.sum(u * (3.0 - u)) * (g[1] - g[0]) ** 2
    assert lacks == pytest.approx(0.5 * 9.0 * 1.2 * np.pi * 0.25, rel=1e-4)


def test_a_wake_lies_behind_its_obstacle_and_fades():
    keys, it = ObstacleWakes(), obstacle(BoxObstacle, size_m=(0.5, 0.5, 2.0))
    wakes = WakesOfObstacles(keys, [it], np.array([0.0, 2.0, 0.0]))
    places = np.array(
        [[0.0, -1.0, 1.0], [5.0, 1.0, 1.0], [0.0, 0.6, 1.0], [0.0, 5.0, 1.0], [0.0, 200.0, 1.0]]
    )
    ahead, beside, near, behind, far = wakes.share(places)
    assert ahead == 1.0 and beside == pytest.approx(1.0, abs=1e-12)
    assert 0.0 <= near < behind < far < 1.0 and far > 0.99
    narrow = np.sqrt(
        1.2 * 0.5 * 2.0 / (2.0 * np.pi)
    )  # standard deviation at the box; in the middle of the wake:
    assert near == pytest.approx(np.sqrt(1.0 - (narrow / (narrow + 0.05 * 0.6)) ** 2))
    with pytest.raises(ValueError, match="has nothing to shape"):
        Wind(obstacle_wakes=keys)


def test_a_vehicle_in_the_lee_feels_less_wind():
    scenario = load_scenario("hexacopter_wind")
    environment = {
        "wind": {"steady_m_s": [4.0, 0.0, 0.0], "obstacle_wakes": {}},
        "obstacles": [
            {
                "name": "wall",
                "shape": {"type": "box", "size_m": [0.2, 2.0, 2.0]},
                "position_m": [0.5, 0.0, 1.0],
            }
        ],
    }
    simulation = Simulation(scenario.changed("environment", environment))
    simulation.act(np.array([[18.6, 0.0, 0.0, 0.0]]))
    assert 0.0 < simulation.air[0, 0] < 2.0 and simulation.air[0, 1] == 0.0
