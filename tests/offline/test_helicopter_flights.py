"""Helicopters in closed loop: attitude hold (HE-T14, T16), hover box, pirouette, circle, climb, a load on a cable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import curve_fit
from transforms3d.euler import euler2quat, quat2euler
from transforms3d.quaternions import qmult

from rotor_core.config.controllers import HelicopterControl
from rotor_core.config.loader import load_scenario
from rotor_core.config.schema import Change, InitialState, MotorFault, Scenario, Timing
from rotor_core.errors import ConfigError
from rotor_flight.flight import Flight
from rotor_flight.fly import fly


def _errors(flight: Flight, after: float = 0.0) -> np.ndarray:
    return np.abs(flight.position_error()[flight.time - flight.time[0] >= after])


LARGEST = {  # m, per axis: a tenth of what the manoeuvre covers, or less; hover box 2 cm
    "helicopter_hover": 0.02,
    "helicopter_pirouette": 0.20,
    "helicopter_circle": 0.15,
    "helicopter_climb": 0.15,
    "helicopter_square": 0.15,
    "helicopter_slung_load": 0.25,
}


@pytest.mark.parametrize("name", LARGEST)
def test_shipped_flights_stay_near_their_references(name):
    flight = fly(load_scenario(name))
    assert _errors(flight).max() < LARGEST[name]
    assert _errors(flight, flight.time[-1] - flight.time[0] - 0.5).max() < 0.1
    assert not any(event.type == "slack" for event in flight.events)


def test_a_rotor_that_turns_the_other_way_flies_the_same_circle():
    scenario = load_scenario("helicopter_circle")
    vehicle = scenario.model.vehicles[0]
    rotor = replace(vehicle.helicopter.main_rotor, turns="ccw")  # type: ignore[union-attr]
    other = replace(vehicle, helicopter=replace(vehicle.helicopter, main_rotor=rotor))
    start = InitialState("heli1", (0.0, 0.0, 1.5), rpy_deg=(-4.5, 0.0, 0.0))
    mirrored = replace(scenario, model=replace(scenario.model, vehicles=(other,)), initial=(start,))
    assert _errors(fly(mirrored)).max() < LARGEST["helicopter_circle"]


def _swing(scenario: Scenario, duration: float) -> tuple[np.ndarray, np.ndarray]:
    """Times, and the load's offset ahead of the hook."""
    flight = fly(scenario, duration=duration)
    return flight.time - flight.time[0], flight.states[:, 1, 0] - flight.states[:, 0, 0]


def _pushed(control: HelicopterControl | None = None, length: float = 2.0) -> Scenario:
    scenario = load_scenario("helicopter_slung_load")
    load = InitialState("load", (0.0, 0.0, 1.0), velocity_m_s=(0.8, 0.0, 0.0))
    hover_there = load_scenario("helicopter_hover").trajectory
    cable = replace(scenario.model.cables[0], length_m=length)
    start = InitialState("heli1", (0.0, 0.0, 1.0 + 0.1 + length))
    return replace(
        scenario, initial=(load, start), controller=control or scenario.controller,
        trajectory=replace(hover_there, position_m=(0.0, 0.0, 1.0)),
        model=replace(scenario.model, attachments=(cable,)),
    )  # fmt: skip


def test_the_controller_stops_the_swing_of_a_load():
    damped = _pushed()
    assert isinstance(damped.controller, HelicopterControl)
    left = {}
    for gain in (damped.controller.swing_per_s, 0.0):
        t, offset = _swing(_pushed(replace(damped.controller, swing_per_s=gain)), 12.0)
        left[gain] = np.abs(offset[t > 9.0]).max()
    assert left[1.5] < 0.2 * left[0.0]
    assert left[1.5] < 0.05


@pytest.mark.parametrize("length", [1.5, 2.5])
def test_a_light_load_swings_under_a_held_helicopter_with_the_frequency_of_a_pendulum(length):
    """No swing gain, 1 % of the mass: the hook stands. Six degrees lengthen the period by 0.07 %."""
    still = HelicopterControl(
        "helicopter", position_per_s2=(0.0, 0.0, 3.0), velocity_per_s=(3.0, 3.0, 3.5),
        integral_per_s3=(0.0, 0.0, 1.0), swing_per_s=0.0,
    )  # fmt: skip
    scenario = _pushed(still, length)
    light = replace(scenario.model.payloads[0], mass_kg=0.08)
    load = replace(scenario.initial[0], velocity_m_s=(0.1 * np.sqrt(9.81 * length), 0.0, 0.0))
    scenario = replace(
        scenario,
        initial=(load, scenario.initial[1]),
        model=replace(scenario.model, payloads=(light,)),
    )
    t, offset = _swing(scenario, 14.0)
    pendulum = np.sqrt(9.81 / length)

    def swings(t, size, frequency, phase, drift, mean):
        return size * np.sin(frequency * t + phase) + drift * t + mean

    later = t > 2.0
    fit, _ = curve_fit(swings, t[later], offset[later], p0=(0.1 * length, pendulum, 0.0, 0.0, 0.0))
    assert fit[1] == pytest.approx(pendulum, rel=0.01)
    assert abs(fit[0]) == pytest.approx(0.1 * length, rel=0.1)


def test_an_engine_that_fails_lets_the_rotor_slow_down():
    scenario = replace(
        load_scenario("helicopter_hover"),
        changes=(Change(1.0, motor=MotorFault("heli1", 1, 0.0)),),
    )
    flight = fly(scenario, duration=3.0)
    assert flight.states[-1, 0, 2] < 1.0  # it sinks
    well = fly(load_scenario("helicopter_hover"), duration=3.0)
    assert well.states[-1, 0, 2] > 1.45


def test_wrong_controllers_and_steps_are_refused():
    heli, quad = load_scenario("helicopter_hover"), load_scenario("hover")
    with pytest.raises(ConfigError, match="is a helicopter, but the controller is quadrotor"):
        fly(replace(heli, controller=quad.controller), duration=0.1)
    with pytest.raises(ValueError, match=r"90 steps per turn, at most 0\.000418 s, got 0\.001"):
        replace(heli, time=Timing())
    with pytest.raises(ValueError, match="swashplate"):
        replace(heli, command_input="wrench")


def test_a_tilted_start_is_brought_level():
    scenario = load_scenario("helicopter_hover")
    tilted = qmult(
        euler2quat(0.0, 0.0, np.radians(40.0)), euler2quat(np.radians(-15.0), np.radians(20.0), 0.0)
    )
    start = InitialState("heli1", (0.0, 0.0, 1.5), quaternion_wxyz=tuple(tilted))
    flight = fly(replace(scenario, initial=(start,)), duration=12.0)
    assert np.degrees(quat2euler(flight.states[-1, 0, 3:7]))[2] == pytest.approx(0.0, abs=1.0)
    assert _errors(flight, 11.5).max() < 0.1
