"""The page: a scene, controls of time, plots, goals to drag."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import viser

from rotor_core.config.catalog import shipped
from rotor_core.config.teams import teams
from rotor_core.errors import RotorError
from rotor_core.state import State
from rotor_viewer.browser import heard
from rotor_viewer.browser.cameras import Cameras
from rotor_viewer.browser.plots import Plots
from rotor_viewer.browser.scene import TRAIL_COLOUR, Scene
from rotor_viewer.snapshots.snapshot import Snapshot
from rotor_viewer.snapshots.sources import RecordedFlight, Source, planned_names

RATE = 30.0
"""Pictures per second."""

PLOT_RATE = 5.0
"""Updates of the plots per second."""

PLOTTED = 20.0
"""Span of the live plots, s."""

TRAIL = 4.0
"""Span of the trail of a planned entity, s."""

TEAM = "all"
"""Choice of the camera that follows the middle of all that flies."""

MOST_EVENTS = 200
"""Events in the list, and marks on the time line."""

WAKING = "deque mutated during iteration"
"""What asyncio says when an event is set while its loop begins to wait for it."""

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
NOBODY = "nobody"
GO_TO = "go to ..."

Opener = Callable[[str], Source]
"""Opens a scenario by name."""


class Viewer:
    """One page over one source.

    Args:
        server: of the page.
        source: what is shown.
        opener: to switch scenarios; None: there is nothing to switch to.
    """

    def __init__(self, server: viser.ViserServer, source: Source, opener: Opener | None) -> None:
        self._server, self._opener = server, opener
        self._wanted: str | None = None
        self._seeking: float | None = None
        self._goal: tuple[str, np.ndarray] | None = None
        self._plotted = 0.0
        self._page = server.gui
        self._cameras = Cameras(server)
        self._dark = False
        self._theme()
        self._page.main_panel.dock_right()
        self._take(source)

    # --- set up -----------------------------------------------------------------------------------

    def _take(self, source: Source) -> None:
        """Show another source."""
        self._source = source
        self._page.reset()
        self._server.scene.reset()
        self._scene = Scene(self._server, source.scenario)
        self._playing, self._speed, self._follow = True, 1.0, TEAM
        self._rows: deque[Snapshot] = deque()
        """What was shown, for plots and trails: no denser than pictures are at full speed."""
        self._moved: set[str] = set()
        """Planned entities whose handles the user has taken: the others stay where their entity is."""
        self._shown = float("nan")
        if self._dark:
            self._scene.darken(True)
        if isinstance(source, RecordedFlight):
            self._scene.draw_paths(source.flight)
        self._add_controls()
        self._plots = Plots(self._page, source.scenario)
        self._add_goals()

    def _add_controls(self) -> None:
        gui, source = self._page, self._source
        self._clock = gui.add_markdown("")
        self._message = gui.add_markdown("")
        verbs = ("play", "pause") if source.is_live else ("play", "pause", "restart")
        buttons = gui.add_button_group("flight", verbs)
        buttons.on_click(lambda _: self._press(heard.chosen(buttons)))
        self._scrub: Any = None
        self._loop: Any = None
        if not source.is_live:
            speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
            speed.on_update(lambda _: setattr(self, "_speed", float(heard.chosen(speed))))
            if isinstance(source, RecordedFlight):
                self._add_timeline(source)
            self._loop = gui.add_checkbox("again at the end", initial_value=False)
        entities = [e.name for e in source.scenario.model.entities]
        follow = gui.add_dropdown("camera follows", (TEAM, NOBODY, *entities), initial_value=TEAM)
        follow.on_update(lambda _: self._on_follow(heard.chosen(follow)))
        dark = gui.add_checkbox("dark", initial_value=self._dark)
        dark.on_update(lambda _: self._darken(bool(dark.value)))
        if self._opener is not None:
            names = tuple(dict.fromkeys((source.scenario.name, *shipped("scenarios"))))
            scenario = gui.add_dropdown("scenario", names, initial_value=source.scenario.name)
            scenario.on_update(lambda _: setattr(self, "_wanted", heard.chosen(scenario)))

    def _add_timeline(self, source: RecordedFlight) -> None:
        """A slider of time with the events on it, and a list of them: a click goes there."""
        gui, events = self._page, source.events[:MOST_EVENTS]
        marks = tuple(sorted({round(when, 2) for when, _ in events}))
        self._scrub = gui.add_slider(
            "time, s", 0.0, round(source.duration, 2), 0.01, 0.0, marks=marks or None
        )
        self._scrub.on_update(self._on_scrub)
        if events:
            texts = {f"{when:.2f} s {what}": when for when, what in events}
            choice = gui.add_dropdown("event", (GO_TO, *texts), initial_value=GO_TO)
            choice.on_update(lambda _: self._go_to(choice, texts))

    def _go_to(self, choice: Any, texts: dict[str, float]) -> None:
        """Go to the event that was chosen, and let it be chosen again."""
        when = texts.get(heard.chosen(choice))
        if when is not None:
            self._playing, self._seeking = False, when
            choice.value = GO_TO

    def _darken(self, dark: bool) -> None:
        self._dark = dark
        self._theme()
        self._scene.darken(dark)

    def _theme(self) -> None:
        self._page.configure_theme(show_logo=False, show_share_button=False, dark_mode=self._dark)

    def _add_goals(self) -> None:
        """A handle per planned entity; letting it go sends the entity there."""
        self._controls: dict[str, Any] = {}
        if isinstance(self._source, RecordedFlight):
            return
        for name in planned_names(self._source.scenario):
            control = self._server.scene.add_transform_controls(
                f"/goal_{name}", scale=0.35, disable_rotations=True, disable_sliders=True
            )
            control.on_update(lambda event, n=name: self._on_goal(event, n))
            self._controls[name] = control

    # --- what the user does -----------------------------------------------------------------------

    def _press(self, button: str) -> None:
        self._playing = button != "pause"
        if button == "restart" or (button == "play" and self._source.is_over):
            self._seeking = 0.0

    def _on_scrub(self, event: Any) -> None:
        if event.client is not None:  # moved by the user, not by the flight
            self._playing = False
            self._seeking = heard.number(self._scrub.value, 0.0, self._source.duration)

    def _on_follow(self, name: str) -> None:
        self._follow = name

    def _on_goal(self, event: Any, name: str) -> None:
        self._moved.add(name)
        goal = heard.place(event.target.position)
        if event.phase == "end" and goal is not None:
            self._goal = name, goal  # sent by the loop, which may be about to open another scene

    def _send(self, name: str, place: np.ndarray) -> None:
        if name in self._controls:
            self._message.content = self._source.goal(name, place)
            self._playing = True

    # --- the loop ---------------------------------------------------------------------------------

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Show pictures until ``until`` says so (or Ctrl-C)."""
        before, has_begun = time.monotonic(), False
        while not until():
            if self._wanted is not None:
                self._switch()
            now = time.monotonic()
            watched = bool(self._server.get_clients())
            if has_begun and not watched:  # nobody looks: the flight waits, and costs nothing
                before = now
                time.sleep(1.0 / RATE)
                continue
            has_begun = True
            try:
                self.tick(now - before)
            except RuntimeError as error:
                # Viser wakes its loop by an event that is not made for other threads; what was sent is sent
                if WAKING not in str(error):
                    raise
            before = now
            time.sleep(max(0.0, 1.0 / RATE - (time.monotonic() - now)))

    def tick(self, elapsed: float) -> None:
        """Let wall time pass, s, and show what is then."""
        goal, self._goal = self._goal, None
        if goal is not None:
            self._send(*goal)
        if self._seeking is not None:
            seconds, self._seeking = self._seeking, None
            self._forget()
            try:
                self._source.seek(seconds)
            except RotorError as error:
                self._playing = False
                self._message.content = str(error)
        elif self._playing and self._source.is_over:
            self._end()
        elif self._playing:
            try:
                self._source.advance(min(elapsed, 0.2) * self._speed)
            except RotorError as error:
                self._playing = False
                self._message.content = f"the flight ended: {error}"
        picture = self._source.picture()
        if picture is None:
            self._clock.content = self._source.remark or "waiting for the simulator ..."
            return
        if self._playing or picture.time != self._shown:
            self._scene.show(picture)
            self._shown = picture.time
        self._show_numbers(picture)

    def close(self) -> None:
        """Let go of what is shown."""
        self._source.close()

    def _forget(self) -> None:
        """What was shown of the time before a jump, and said of goals."""
        self._rows.clear()
        for name in planned_names(self._source.scenario):
            if not isinstance(self._source, RecordedFlight):
                self._scene.remove_path(f"{name}_trail")
        self._moved.clear()
        self._message.content = ""

    def _end(self) -> None:
        """The flight is over: stop, or begin again."""
        if self._loop is not None and self._loop.value:
            self._seeking = 0.0
        else:
            self._playing = False

    def _switch(self) -> None:
        name, self._wanted = self._wanted, None
        assert name is not None and self._opener is not None
        self._message.content = f"opening {name} ..."
        before = self._source
        try:
            opened = self._opener(name)
        except RotorError:
            before.close()  # it may hold what the next one needs
            try:
                opened = self._opener(name)
            except RotorError as error:
                with suppress(RotorError):
                    before.seek(0.0)  # what was closed begins again
                self._forget()
                self._message.content = str(error)
                return
        before.close()
        self._take(opened)

    def _show_numbers(self, picture: Snapshot) -> None:
        scenario = self._source.scenario
        names = [e.name for e in scenario.model.entities]
        over = " - the end" if self._source.is_over and not self._playing else ""
        playing = f" - {self._source.remark or 'playing'}"
        paused = " - held; the flight goes on" if self._source.is_live else " - paused"
        state = over or (playing if self._playing else paused)
        total = f" of {self._source.duration:.2f}" if np.isfinite(self._source.duration) else ""
        self._clock.content = f"**{picture.time:.2f}{total} s**{state}"
        planned = [names.index(t.entity) for t in teams(scenario.model)]
        places = State(picture.states).position
        if self._playing:
            self._keep(picture)
        for name, row in zip(planned_names(scenario), planned, strict=True):
            if name in self._controls and name not in self._moved:
                self._controls[name].position = places[row]
        self._show_time(picture.time)
        if self._follow == TEAM:
            self._cameras.follow(places.mean(axis=0))
        elif self._follow in names:
            self._cameras.follow(places[names.index(self._follow)])
        if time.monotonic() - self._plotted > 1.0 / PLOT_RATE:
            self._plotted = time.monotonic()
            self._update_plots(picture)

    def _keep(self, picture: Snapshot) -> None:
        """Keep what plots and trails show: seconds of the flight, however fast or slowly they pass."""
        rows = self._rows
        if rows and picture.time < rows[-1].time:  # it began anew
            rows.clear()
        if rows and picture.time - rows[-1].time < 0.5 / RATE:
            return
        rows.append(picture)
        while rows[0].time < picture.time - PLOTTED:
            rows.popleft()

    def _show_time(self, time: float) -> None:
        """Let the slider stand where the picture is; between rows it may stay where the user has put it."""
        if self._scrub is None:
            return
        assert isinstance(self._source, RecordedFlight)
        if self._playing or abs(self._scrub.value - time) > self._source.spacing:
            self._scrub.value = round(time, 2)

    def _update_plots(self, picture: Snapshot) -> None:
        source = self._source
        if isinstance(source, RecordedFlight):
            self._plots.update(source.overview, 0.0, source.duration)
            return
        rows = list(self._rows)
        self._plots.update(rows, max(0.0, picture.time - PLOTTED), picture.time)
        names = [e.name for e in source.scenario.model.entities]
        late = [State(r.states).position for r in rows if r.time >= picture.time - TRAIL]
        for name in planned_names(source.scenario):
            trail = np.array([places[names.index(name)] for places in late]).reshape(-1, 3)
            self._scene.draw_path(f"{name}_trail", trail, TRAIL_COLOUR)
