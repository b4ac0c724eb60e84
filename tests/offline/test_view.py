"""The browser viewer and exports: sources, a page in headless Chromium, files."""

import asyncio
import contextlib
import re
import threading
import time
from collections import deque
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import trimesh
from browser import open_page, outside, pixels
from hypothesis import given, settings
from hypothesis import strategies as st

from rotor.cli import main
from rotor_core.config.initial import initial_states
from rotor_core.config.loader import load_scenario
from rotor_core.errors import ConfigError
from rotor_core.math.rotations import rotation_to
from rotor_flight.flight import Flight
from rotor_flight.fly import flight_duration, fly
from rotor_recordings.formats.bag_writer import write_bag
from rotor_recordings.motion.disc_fit import DiscFit
from rotor_sim.shapes.body_poses import BodyPoses
from rotor_viewer.browser.app import Viewer
from rotor_viewer.browser.plots import QUANTITIES, limits
from rotor_viewer.browser.scene import corners, side_of
from rotor_viewer.export.plots import draw_flight
from rotor_viewer.ros.wanted import Wanted
from rotor_viewer.snapshots.sources import RecordedFlight, RunningFlight

ORANGE = (242, 115, 26)
"""Of trails and recorded paths."""


@pytest.fixture(scope="module")
def flight() -> Flight:
    return fly(load_scenario("slalom"), duration=3.0)


@pytest.fixture(scope="module")
def bag(flight, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "bag"
    write_bag(flight, path)
    return path


# --- sources --------------------------------------------------------------------------------------


def test_a_running_flight_is_the_flight_without_ros(flight):
    """The viewer shows what `fly` flies: the same loop, the same bits."""
    source = RunningFlight(load_scenario("slalom"))
    for _ in range(20):
        source.advance(0.05)
    picture = source.picture()
    row = int(np.abs(flight.time - flight.time[0] - picture.time).argmin())
    assert picture.time == pytest.approx(1.0, abs=1e-9)
    assert np.array_equal(picture.states, flight.states[row])
    assert np.array_equal(picture.tensions, flight.tensions[row])


def test_a_dragged_goal_is_flown_to():
    """The payload rests at the goal after the time that was announced and what the loop takes to settle."""
    source = RunningFlight(load_scenario("three_dragonflies_triangular_1m"))
    text = source.goal("payload", np.array([0.5, -0.3, 0.4]))
    duration = float(re.search(r"in ([\d.]+) s", text)[1])
    for _ in range(int((duration + 8.0) / 0.1)):
        source.advance(0.1)
    picture = source.picture()
    row = [e.name for e in source.scenario.model.entities].index("payload")
    assert picture.states[row, :3] == pytest.approx([0.5, -0.3, 0.4], abs=0.01)


def test_recordings_are_sought_and_end(flight):
    source = RecordedFlight(flight)
    source.seek(1.5)
    assert source.picture().time == pytest.approx(1.5, abs=0.005) and not source.is_over
    source.advance(2.0)  # beyond the end: there it stays
    assert source.picture().time == 3.0 and source.is_over
    assert [p.time for p in source.overview][:: len(source.overview) - 1] == [0.0, 3.0]
    assert "recording" in source.goal("payload", np.zeros(3))


def test_events_of_a_recording_are_told_by_time():
    source = RecordedFlight(fly(load_scenario("collision_triangular"), duration=1.0))
    ((when, what),) = source.events
    assert what == "snap cable2" and when == pytest.approx(0.11, abs=0.01)


def test_a_running_flight_ends_and_goes_on_to_a_goal():
    source = RunningFlight(load_scenario("hover"))
    assert source.duration == flight_duration(source.scenario)
    source.advance(source.duration + 0.01)
    assert source.is_over
    source.goal("quad1", np.array([0.0, 0.0, 0.5]))
    assert not source.is_over
    source.seek(0.0)
    assert not source.is_over and source.picture().time == 0.0


@pytest.mark.parametrize("name", ["slalom", "pick_and_place", "helicopter_hover", "gyrostat_g1"])
def test_quantities_of_a_flight_are_those_that_were_recorded(name):
    flight = fly(load_scenario(name), duration=0.5)
    source = RecordedFlight(flight)
    pictures = source.overview
    times = np.array([p.time for p in pictures])
    rows = np.searchsorted(flight.elapsed, times - 1e-9)
    found = {
        key: q.values(flight.scenario, pictures)
        for key, q in QUANTITIES.items()
        if q.names(flight.scenario)
    }
    for key, values in found.items():
        assert values.shape == (len(pictures), len(QUANTITIES[key].names(flight.scenario)))
    np.testing.assert_array_equal(found["height"], flight.states[rows, :, 2])
    if "error" in found:
        error = 1e3 * np.linalg.norm(flight.position_error(), axis=1)
        np.testing.assert_allclose(found["error"][:, 0], error[rows])
    assert ("tension" in found) == bool(flight.scenario.model.cables)


@pytest.mark.parametrize(
    ("values", "span", "low", "high"),
    [
        ([0.0, 0.0], 1.0, 0.0, 1.0),
        ([0.909, 0.9091], 0.1, 0.859, 0.96),
        ([-2.0, 2.0], 1.0, -2.2, 2.2),
    ],
)
def test_axes_show_rest_as_rest(values, span, low, high):
    assert limits(np.array(values), span) == pytest.approx((low, high), abs=2e-3)


@pytest.mark.parametrize("name", ["pick_and_place", "helicopter_hover", "slalom"])
def test_links_are_where_the_engine_has_them(name):
    """Kinematics for viewers against the world that flies."""
    from rotor_sim.simulation import Simulation

    simulation = Simulation(load_scenario(name))
    simulation.step(np.zeros((simulation.n_vehicles, 4)))
    poses = BodyPoses(simulation.scenario)
    joints = simulation.engine.joints.states
    shown = poses.at(simulation.motion[:, :13], joints)
    assert poses.names == simulation.body_names
    assert shown == pytest.approx(simulation.engine.motion[:, :7], abs=1e-12)


def test_disc_of_two_blades_from_their_flap_angles():
    """A rotor whose blades flap by the first harmonic: coning and tilt come back exactly."""
    fit, found = DiscFit(), None
    for azimuth in np.arange(0.0, 12.0, 0.7):
        psi = azimuth + np.array([0.0, np.pi])
        found = fit.add(azimuth, 0.05 + 0.02 * np.cos(psi) - 0.01 * np.sin(psi))
    assert found == pytest.approx([0.05, 0.02, -0.01], abs=1e-12)


def test_directions_turn_z():
    from transforms3d.quaternions import quat2mat

    for direction in ([0, 0, 1], [0, 0, -1], [1, 2, -3], [1, 0, 0], [0, 1e-9, -1]):
        unit = np.array(direction) / np.linalg.norm(direction)
        assert quat2mat(rotation_to(np.array(direction, float)))[:, 2] == pytest.approx(
            unit, abs=1e-6
        )


# --- pages ----------------------------------------------------------------------------------------


def test_meshes_that_are_closed_are_seen_from_outside():
    """Also from a file, where every triangle has corners of its own; those that are open or inside out from both sides."""
    cube = trimesh.creation.box((0.2, 0.3, 0.4)).triangles
    assert side_of(cube) == "front"
    assert side_of(cube[:-1]) == "double"
    assert side_of(cube[:, ::-1]) == "double"


@pytest.fixture
def served():
    """Serve a source in a thread while a test looks at its page."""
    import viser

    from rotor_viewer.browser.app import Viewer
    from rotor_viewer.browser.serve import open_source, serve

    running: list = []

    def start(what: str | Flight) -> tuple[str, Viewer, viser.ViserServer]:
        source = open_source(what) if isinstance(what, str) else RecordedFlight(what)
        server = serve(source, "127.0.0.1", 8120)
        viewer = Viewer(server, source, open_source)
        over = threading.Event()
        thread = threading.Thread(target=viewer.run, args=(over.is_set,), daemon=True)
        thread.start()
        running.append((server, over, thread))
        return f"http://127.0.0.1:{server.get_port()}", viewer, server

    yield start
    for server, over, thread in running:
        over.set()
        thread.join(10.0)
        server.stop()


def wait_until(condition, seconds: float = 40.0) -> None:
    """Software WebGL is slow: wait for what is to come, not for a time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.2)


def is_drawn(page) -> bool:
    """Something besides paper: the grid, bodies; far from all pixels alike."""
    shown = pixels(page)[:, :560]
    return len(np.unique(shown.reshape(-1, 3), axis=0)) > 200


def test_the_page_of_a_scenario_draws_plays_and_obeys(served):
    address, viewer, server = served("slalom")
    assert server.get_host() == "127.0.0.1"
    with open_page(address) as (page, requests):
        wait_until(lambda: is_drawn(page))
        page.get_by_text("pause", exact=True).click()
        # the picture under way at the click is shown by then
        wait_until(lambda: "paused" in page.inner_text("body"))
        held = viewer._source.picture().time
        time.sleep(0.5)
        assert viewer._source.picture().time == held
        page.get_by_text("play", exact=True).click()
        wait_until(lambda: viewer._source.picture().time > held + 0.2)
        page.get_by_text("restart", exact=True).click()
        wait_until(lambda: viewer._source.picture().time < held)
        assert page.get_by_text("error, mm").count() and page.get_by_text("tension, N").count()
        assert outside(requests) == []


def test_the_page_of_a_bag_is_scrubbed(served, bag):
    address, viewer, _ = served(str(bag))
    with open_page(address) as (page, requests):
        wait_until(lambda: is_drawn(page))
        wait_until(lambda: page.get_by_text("time, s").count() > 0)
        page.get_by_text("pause", exact=True).click()
        wait_until(lambda: not viewer._playing)
        viewer._seeking = 2.0
        wait_until(lambda: abs(viewer._source.picture().time - 2.0) < 0.01)
        wait_until(lambda: re.search(r"(1\.99|2\.00) of 3\.00 s", page.inner_text("body")))
        assert outside(requests) == []


def test_events_of_a_recording_are_gone_to_again_and_again(served):
    """The slider goes there with the clock, and the list is ready for the same event."""
    snap = fly(load_scenario("collision_triangular"), duration=2.0)
    (when,) = (event.time - snap.time[0] for event in snap.events)
    address, viewer, _ = served(snap)
    with open_page(address) as (page, _):
        wait_until(lambda: is_drawn(page))
        for _ in range(2):
            wait_until(lambda: viewer._source.picture().time > when + 0.3)
            boxes = page.get_by_role("combobox").all()
            (events,) = [box for box in boxes if box.input_value() == "go to ..."]
            events.click()
            page.get_by_text("snap cable2").click()
            wait_until(lambda: abs(viewer._source.picture().time - when) < 0.01)
            wait_until(lambda: abs(viewer._scrub.value - when) < 0.02)
            wait_until(lambda events=events: events.input_value() == "go to ...")
            page.get_by_text("play", exact=True).click()


def test_a_camera_that_was_moved_halfway_keeps_its_distance():
    """A busy page tells its new place beside what it looked at before; a user who turns it is heard."""
    from rotor_viewer.browser.cameras import Cameras

    first = np.array([3.0, -4.0, 2.0])
    start = SimpleNamespace(position=tuple(first), look_at=(0.0, 0.0, 0.0))
    heard = []
    camera = SimpleNamespace(
        position=first,
        look_at=np.zeros(3),
        up_direction=np.array([0.0, 0.0, 1.0]),
        on_update=heard.append,
    )
    client = SimpleNamespace(camera=camera, atomic=contextlib.nullcontext)
    cameras = Cameras(SimpleNamespace(initial_camera=start, get_clients=lambda: {1: client}))

    def tell(position, look_at):
        asyncio.run(
            heard[0](SimpleNamespace(position=np.array(position), look_at=np.array(look_at)))
        )

    before, after = np.array([0.0, 0.0, 1.0]), np.array([0.3, 0.0, 1.1])
    cameras.follow(before)
    tell(before + first, before)
    cameras.follow(after)
    tell(after + first, before)
    cameras.follow(after)
    np.testing.assert_allclose(camera.position - camera.look_at, first)
    turned = np.array([4.0, 3.0, 2.0])
    tell(after + turned, after)
    cameras.follow(before)
    np.testing.assert_allclose(camera.position - camera.look_at, turned)


def test_the_camera_keeps_its_distance_and_a_restart_begins_anew(served):
    """The team flies away and back; what was drawn of the time before is gone, and handles are where their entities are."""
    address, viewer, server = served("slalom")
    start = server.initial_camera
    first = np.array(start.position) - np.array(start.look_at)
    with open_page(address) as (page, _):
        wait_until(lambda: is_drawn(page))

        def offset():
            (client,) = server.get_clients().values()
            return client.camera.position - client.camera.look_at

        for _ in range(3):
            wait_until(lambda: viewer._source.picture().time > 3.0)
            # two vectors are read, and the camera may move in between
            wait_until(lambda: np.allclose(offset(), first, rtol=0.0, atol=0.02))
            viewer._on_goal(
                SimpleNamespace(target=SimpleNamespace(position=(0, 0, 1)), phase="update"),
                "payload",
            )
            assert viewer._moved == {"payload"}
            page.get_by_text("restart", exact=True).click()
            wait_until(lambda: viewer._source.picture().time < 2.0)
        assert not viewer._moved and all(row.time < 4.0 for row in list(viewer._rows))
        handle, row = viewer._controls["payload"], viewer._scene._poses.names.index("payload")
        page.get_by_text("pause", exact=True).click()
        wait_until(lambda: "paused" in page.inner_text("body"))
        time.sleep(0.2)
        there = viewer._source.picture().states[row, :3]
        np.testing.assert_allclose(handle.position, there, atol=1e-6)


class Live:
    """A flight of others."""

    is_live, is_over, remark, duration = True, False, "", float("inf")

    def __init__(self, flight: Flight) -> None:
        self._recorded, self.scenario = RecordedFlight(flight), flight.scenario

    def advance(self, seconds: float) -> None:
        self._recorded.advance(seconds)

    def picture(self):
        return self._recorded.picture()


def test_a_flight_of_others_is_held_and_not_stopped(flight):
    """Its page has no controls that would do nothing, and says what holding it means."""
    from rotor_viewer.browser.app import Viewer
    from rotor_viewer.browser.serve import serve

    server = serve(Live(flight), "127.0.0.1", 8140)
    try:
        viewer = Viewer(server, Live(flight), None)
        viewer.tick(0.1)
        viewer._press("pause")
        viewer.tick(0.1)
        assert "held; the flight goes on" in viewer._clock.content
        assert viewer._scrub is viewer._loop is None
        viewer._press("play")
        viewer.tick(0.1)
        assert "playing" in viewer._clock.content
    finally:
        server.stop()


def test_switching_the_scenario(served):
    _, viewer, _ = served("slalom")
    viewer._wanted = "hover"
    wait_until(lambda: viewer._source.scenario.name == "hover")
    viewer._wanted = "no_such_scenario"
    wait_until(lambda: "no_such_scenario" in viewer._message.content)
    assert viewer._source.scenario.name == "hover"


# --- exports --------------------------------------------------------------------------------------


def test_exports_of_a_bag(bag, tmp_path, capsys):
    names = {kind: tmp_path / f"flight.{kind}" for kind in ("html", "png", "gif")}
    options = [f"--{kind}={name}" for kind, name in names.items()]
    assert main(["export", str(bag), *options, "--rate", "4"]) == 0
    page = names["html"].read_text()
    assert "__VISER_EMBED_DATA__" in page
    from PIL import Image

    with Image.open(names["gif"]) as film:
        assert film.n_frames == 13  # 3 s at 4 Hz, and the first
        first = np.asarray(film.convert("RGB"), int)
        film.seek(12)
        assert np.abs(np.asarray(film.convert("RGB"), int) - first).max() > 100  # it moves
    with Image.open(names["png"]) as picture:
        assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 100
    capsys.readouterr()
    assert main(["export", str(bag), f"--png={names['png']}"]) == 2
    assert "exists already" in capsys.readouterr().err
    with open_page(names["html"].as_uri()) as (shown, requests):
        wait_until(lambda: is_drawn(shown))
        colours = pixels(shown).astype(int)
        near = np.abs(colours - ORANGE).sum(axis=2) < 60
        wait_until(lambda: (np.abs(pixels(shown).astype(int) - ORANGE).sum(axis=2) < 60).any())
        assert near.shape == colours.shape[:2]
        assert outside(requests) == []


def test_a_film_by_the_renderer_of_the_browser(bag, tmp_path):
    """Every picture is drawn, bodies move through it, and nothing is left running."""
    from PIL import Image

    from rotor_viewer.export.film import browser

    if browser() is None:
        pytest.skip("needs chromium (apt-get install chromium)")
    path = tmp_path / "flight.webp"
    assert main(["export", str(bag), f"--film={path}", "--rate", "2"]) == 0
    with Image.open(path) as film:
        assert film.n_frames == 7 and film.size == (640, 400)  # 3 s at 2 Hz, and the first
        for picture in range(film.n_frames):
            film.seek(picture)
            top = np.asarray(film.convert("RGB"), int)[0]
            assert (
                top.max(axis=1) - top.min(axis=1) > 5
            ).all()  # a blue sky up to the edge, not the page
        film.seek(0)
        first = np.asarray(film.convert("RGB"), int)
        film.seek(6)
        last = np.asarray(film.convert("RGB"), int)
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 500
    assert np.abs(last - first).max() > 100


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 400), tolerance=st.floats(1e-3, 0.3))
def test_drawn_paths_pass_the_flown_points(seed, n, tolerance):
    """All points are within the tolerance of the polygon through the corners; the ends are kept."""
    path = np.random.default_rng(seed).normal(scale=0.1, size=(n, 3)).cumsum(axis=0)
    rows = corners(path, tolerance)
    assert rows[0] == 0 and rows[-1] == n - 1 and (np.diff(rows) > 0).all()
    for a, b in pairwise(rows):
        chord = path[b] - path[a]
        share = np.clip((path[a : b + 1] - path[a]) @ chord / (chord @ chord), 0.0, 1.0)
        foot = path[a] + share[:, None] * chord
        assert np.linalg.norm(path[a : b + 1] - foot, axis=1).max() <= tolerance


def test_a_straight_path_is_one_piece():
    straight = np.linspace([0.0, 1.0, 2.0], [3.0, -1.0, 2.5], 1000)
    assert corners(straight, 1e-9).tolist() == [0, 999]
    closed = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert corners(closed, 0.1).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["export", "{bag}"], "--html, --png, --gif or --film"),
        (["export", "{bag}", "--png", "{tmp}/no/such/folder.png"], "folder does not exist"),
        (["export", "{bag}", "--png", "{tmp}/a.png", "--at", "99"], "within the recording"),
        (["export", "{bag}", "--png", "{tmp}/" + "x" * 300 + ".png"], "cannot be written"),
        (["export", "{bag}", "--png", "{tmp}/a.jpg"], "must end in .png"),
        (["export", "{bag}", "--gif", "{tmp}/a.html"], "must end in .gif"),
        (["export", "{bag}", "--film", "{tmp}/a.mp4"], "must end in .gif or .webp"),
        (["export", "{tmp}/nothing", "--png", "{tmp}/a.png"], "no such file"),
        (["view", "no_such_scenario"], "no shipped scenario"),
        (["view", "{bag}", "--live"], "is a recording"),
        (["view", "{bag}", "--seed", "3"], "of a flight that begins here"),
        (["view", "slalom", "--live", "--seed", "3"], "of a flight that begins here"),
        (["view", "{bag}", "--host", "203.0.113.7"], "cannot listen"),
    ],
)
def test_mistakes_are_one_line(arguments, words, bag, tmp_path, capsys):
    assert main([a.format(bag=bag, tmp=tmp_path) for a in arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_ports_that_are_taken_are_skipped():
    import socket

    from rotor_viewer.browser.serve import free_port

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port("127.0.0.1", port) > port
    with pytest.raises(ConfigError, match="cannot listen"):
        free_port("127.0.0.1", 65536)


def test_the_page_lives_on_when_its_server_stumbles_over_a_thread(monkeypatch):
    """An hour's soak met it once: asyncio's event, set from our thread while the server's loop began to wait for it."""
    from rotor_viewer.browser.app import WAKING, Viewer

    ticks = []

    class Page(Viewer):
        def __init__(self):
            self._wanted = None
            self._server = SimpleNamespace(get_clients=lambda: {0: "a page"})

        def tick(self, elapsed):
            ticks.append(elapsed)
            if len(ticks) == 1:
                raise RuntimeError(WAKING)
            if len(ticks) == 4:
                raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        Page().run()
    assert len(ticks) == 4


@pytest.mark.filterwarnings("error")
def test_pictures_of_a_world_in_which_nothing_is_planned(tmp_path):
    """Paths of what is there, without references; no errors, for nobody said where it should be."""
    flight = fly(load_scenario("pendulum_on_peg"), duration=0.2)
    names = {path.stem for path in draw_flight(flight, tmp_path)}
    assert names == {"path_3d", "path", "tensions"}


def test_the_goal_of_the_present_is_that_of_its_time():
    """The page of a running graph showed an error of 4 cm: the speed times what references were late."""
    wanted = Wanted()
    assert np.isnan(wanted.at(1.0)).all()
    for k in range(150):
        wanted.hear(0.01 * k, np.array([0.0025 * k, 0.0, 1.0]))
    for t in (0.7, 1.2345, 1.49, 1.6):  # it moves on for a while after the last
        np.testing.assert_allclose(wanted.at(t), [0.25 * t, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(wanted.at(9.0), [0.25 * 1.49, 0.0, 1.0], atol=1e-12)
    wanted.hear(0.5, np.ones(3))  # another epoch
    np.testing.assert_array_equal(wanted.at(0.6), np.ones(3))


def test_what_was_let_go_is_drawn_where_it_is():
    """It stayed on its vehicle, where the rigid link of the start had held it; parts follow all the same."""
    scenario = load_scenario("three_dragonflies_triangular_rigid")
    states = initial_states(scenario)
    states[3, :3] -= [0.0, 0.0, 1.8]
    poses = BodyPoses(scenario).at(states, np.zeros((0, 2)))
    np.testing.assert_allclose(poses[:4], states[:, :7], atol=1e-12)


def test_a_flight_that_begins_again_lets_go_of_its_controllers():
    source = RunningFlight(load_scenario("hover"))
    closed = []
    source._loop.controller.close = lambda: closed.append(1)
    source.seek(0.0)
    assert closed == [1]


def test_plots_and_trails_keep_seconds_however_fast_they_pass():
    """At a tenth of the speed a plot of twenty seconds held two, and over a paused graph none."""
    viewer = SimpleNamespace(_rows=deque())
    for t in np.arange(0.0, 30.0, 0.1 / 30.0):
        Viewer._keep(viewer, SimpleNamespace(time=t))
    rows = [row.time for row in viewer._rows]
    assert rows[0] == pytest.approx(10.0, abs=0.05) and len(rows) < 1300
    for _ in range(1000):
        Viewer._keep(viewer, SimpleNamespace(time=rows[-1]))
    assert [row.time for row in viewer._rows] == rows
    Viewer._keep(viewer, SimpleNamespace(time=0.0))
    assert [row.time for row in viewer._rows] == [0.0]
