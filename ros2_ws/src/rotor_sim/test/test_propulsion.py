"""Propellers from geometry, motors and batteries, and propellers as bodies on joints (DD-B1, B3 to B7, B15)."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from rotor_core.config.environment import Air
from rotor_core.config.loader import load_vehicle, scenario_from_tree
from rotor_core.config.vehicles.inflow import Inflow
from rotor_core.config.vehicles.propulsion import Propeller
from rotor_core.config.yaml.tree import parse_tree
from rotor_core.errors import ConfigError
from rotor_core.vehicles.rotors import rotor_set
from rotor_core.warnings import notes
from rotor_dynamics.engine import Engine
from rotor_sim.actuation.power import PowerSupply, PowerTrain
from rotor_sim.plant.system import system_from_scenario
from rotor_sim.simulation import Simulation

OMEGA = 331.693
I_ZZ, J_Z = 8.6e-4, 0.428982

TEXT = """
schema: 1
model:
  vehicles: [{use: delivery_drone, name: drone}]
  payloads: [{use: six_pack, name: parcel}]
  attachments: [{type: rigid_link, parent: drone, child: parcel, position_m: [0, 0, 0]}]
initial: [{entity: drone, position_m: [0, 0, 5]}]
controller: {use: cascaded_pid}
"""


def scenario(actuation, more=""):
    return scenario_from_tree(parse_tree(TEXT + f"actuation: {actuation}\n" + more, "test"))


def test_dd_b1_thrust_and_torque_from_geometry_and_air():
    """The figures of the specification, to their digits."""
    rotors = load_vehicle("delivery_drone").rotors
    assert rotors.propeller.thrust_coefficient == pytest.approx(0.0738031, abs=5e-8)
    assert rotors.propeller.drag_coefficient == pytest.approx(0.0271997, abs=5e-8)
    assert rotors.propeller.torque_coefficient == pytest.approx(0.00503344, abs=5e-9)
    assert rotors.torque_per_thrust_m == pytest.approx(0.0381107, abs=5e-8)
    for mass, rpm in ((10.0224, 3167.43), (9.973, 3159.62), (8.0224, 2833.83)):
        assert np.sqrt(mass * 9.81 / 4.0 / rotors.thrust_n_per_rpm2) == pytest.approx(rpm, abs=5e-3)
    three = replace(rotors.propeller, blades=3)
    assert three.thrust_coefficient == pytest.approx(0.110705, abs=5e-7)
    assert three.torque_coefficient == pytest.approx(0.011325, abs=5e-7)


def test_thin_air_gives_less_thrust():
    """Density against the tables of the standard atmosphere, with the temperature at that height."""
    tables = [
        (0.0, 15.0, 1.225),
        (2000.0, 2.0, 1.00649),
        (5000.0, -17.5, 0.73612),
        (11000.0, -56.5, 0.36392),
    ]
    for altitude, temperature, density in tables:
        assert Air(altitude, temperature).density == pytest.approx(density, rel=1e-3)
    low = scenario("wrench").model.vehicles[0].rotors
    high = scenario("wrench", "environment: {air: {altitude_m: 2000.0}}").model.vehicles[0].rotors
    ratio = Air(altitude_m=2000.0).density / Air().density
    assert high.thrust_n_per_rpm2 / low.thrust_n_per_rpm2 == pytest.approx(ratio, rel=1e-12)
    assert high.torque_per_thrust_m == low.torque_per_thrust_m
    given = scenario("wrench", "").model.vehicles[0]
    assert replace(given.rotors, thrust_n_per_rpm2=1e-6).thrust_n_per_rpm2 == 1e-6


def test_dd_b15_the_impossible_inertia_of_a_propeller_is_noted_not_refused():
    (note,) = notes(replace(scenario("wrench"), notes_off=()))
    assert note.kind == "propeller" and "0.000437" in note.text
    assert note.text.startswith("drone: rotors.propeller.inertia_kg_m2: 0.00086 kg m^2")
    propeller = load_vehicle("delivery_drone").rotors.propeller
    assert propeller.inertia_kg_m2[2] > propeller.largest_axial_inertia
    assert propeller.largest_axial_inertia == pytest.approx(4.37e-4, rel=1e-3)
    x, y, z = sorted(propeller.inertia_kg_m2)
    assert z <= x + y  # the triangle inequality holds


def test_a_propeller_without_lift_is_refused():
    with pytest.raises(ValueError, match="no lift"):
        Propeller(diameter_m=0.5, pitch_m=0.1, zero_lift_angle_rad=0.5)
    with pytest.raises(ConfigError, match=r"needs rotors\.propeller"):
        scenario_from_tree(
            parse_tree(
                "schema: 1\nmodel: {vehicles: [{use: dragonfly}]}\nactuation: motors\n"
                "controller: {use: quadrotor}\n",
                "test",
            )
        )
    with pytest.raises(ConfigError, match=r"battery needs rotors\.motor"):
        scenario_from_tree(
            parse_tree(
                "schema: 1\nmodel: {vehicles: [{use: dragonfly, battery: {voltage_v: [9, 12], capacity_ah: 1}}]}\n"
                "controller: {use: quadrotor}\n",
                "test",
            )
        )


def train_of(vehicle) -> PowerTrain:
    return PowerSupply({0: vehicle}, {0: 1.0}).trains[0]


def test_motors_take_what_the_air_takes_and_their_losses():
    """In hover: torque over K_t, voltage of the speed, power; the charge falls by the current."""
    vehicle = load_vehicle("delivery_drone")
    train = train_of(vehicle)
    speeds = np.full(4, OMEGA)
    train.run(speeds, 0.0)
    for _ in range(100):
        train.run(speeds, 0.1)
    np.testing.assert_allclose(train.torque, 0.93676, rtol=1e-5)
    per_volt = 150.0 * 2.0 * np.pi / 60.0
    current = 0.93676 * per_volt + 1.0
    np.testing.assert_allclose(train.current, current, rtol=1e-5)
    np.testing.assert_allclose(train.voltage, OMEGA / per_volt + 0.085 * current, rtol=1e-5)
    np.testing.assert_allclose(train.torque * speeds, 310.7, rtol=1e-3)  # the paper's power
    assert train.energy == pytest.approx(10.0 * train.power.sum(), rel=1e-9)
    used = (1.0 - train.charge) * 10.0 * 3600.0  # A s
    assert used == pytest.approx(10.0 * train.power.sum() / 50.4, rel=1e-2)
    assert train.battery_voltage == pytest.approx(38.4 + 12.0 * train.charge)


def test_an_empty_or_sagging_battery_bounds_the_speed():
    vehicle = load_vehicle("delivery_drone")
    train = train_of(vehicle)
    drag = rotor_set(vehicle.rotors).thrust_per_speed2 * vehicle.rotors.torque_per_thrust_m
    train.run(np.full(4, OMEGA), 0.0)
    assert train.fastest == pytest.approx(
        (1272.0 / drag) ** (1 / 3), rel=1e-9
    )  # the power of the motor
    train.sag = 0.5
    steady = drag * OMEGA**2 * 15.7079633 + 1.0
    assert train.fastest == pytest.approx((25.2 - 0.085 * steady) * 15.7079633, rel=1e-3)
    train.charge = 0.0
    assert train.fastest == 0.0


@pytest.mark.parametrize("actuation", ["wrench", "rotors"])
def test_thrust_drifts(actuation):
    """A vehicle that asks for its weight sinks as the sum of held gains 1 + r k h says (R.21), to rounding."""
    rate, n = -0.02, 100
    text = "plant: [{entity: drone, thrust_gain_per_s: -0.02}]\n"
    world = scenario(actuation, text)
    model = replace(world.model, payloads=(), attachments=())
    if actuation == "rotors":
        still = replace(model.vehicles[0].rotors, lag_s=0.0, inertia_kg_m2=0.0)
        model = replace(model, vehicles=(replace(model.vehicles[0], rotors=still),))
    world = replace(world, model=model)
    simulation, h = Simulation(world), world.time.control_s
    weight = np.array([[model.vehicles[0].mass_kg * world.environment.gravity_m_s2, 0.0, 0.0, 0.0]])
    for _ in range(2):  # a reset begins the drift again
        simulation.reset()
        for _ in range(n):
            simulation.act(weight)
            simulation.step()
        sunk = world.environment.gravity_m_s2 * rate * h**2 * n * (n - 1) / 2.0
        drag = 1e-3 * abs(sunk)  # of the frame, which moves by then
        assert simulation.state["drone"].velocity[2] == pytest.approx(sunk, abs=drag)
    assert not simulation.actuators.are_free


def test_motors_that_get_shares_of_the_voltage_slow_down_with_it():
    """The reached speed balances the voltage that is left: against a root of (R.20); without losses the ratio itself."""
    vehicle = load_vehicle("delivery_drone")
    battery = replace(vehicle.battery, assumed_v=50.4, resistance_ohm=0.02)
    train = train_of(replace(vehicle, battery=battery))
    motor = vehicle.rotors.motor
    drag = rotor_set(vehicle.rotors).thrust_per_speed2 * vehicle.rotors.torque_per_thrust_m

    def needed(speed):
        k = motor.speed_per_volt
        return speed / k + motor.resistance_ohm * (drag * speed**2 * k + motor.idle_current_a)

    pace = 1.0
    for charge in (1.0, 0.6, 0.2):
        for _ in range(3):  # the current, the voltage and the speed settle together
            speeds = np.full(4, OMEGA * pace)
            train.charge = charge
            train.run(speeds, 0.01)
            pace = train.pace(speeds, pace)
        left = needed(OMEGA) * train.battery_voltage / 50.4
        reached = brentq(lambda w, left=left: needed(w) - left, 1.0, 2.0 * OMEGA)
        assert pace * OMEGA == pytest.approx(reached, rel=1e-9)
        assert pace < 1.0
    train.charge = 1e-12
    free = train_of(
        replace(
            vehicle,
            battery=replace(battery, resistance_ohm=0.0),
            rotors=replace(vehicle.rotors, motor=replace(motor, resistance_ohm=0.0)),
        )
    )
    free.charge = 0.5
    assert free.pace(np.full(4, OMEGA), 1.0) == pytest.approx(44.4 / 50.4, rel=1e-12)
    controlled = train_of(vehicle)
    assert controlled.pace(np.full(4, OMEGA), 1.0) == 1.0


@pytest.mark.parametrize("actuation", ["wrench", "rotors", "propellers"])
def test_a_vehicle_sinks_as_its_battery_empties(actuation):
    """Half charged, of a battery assumed full, thrust is that of the lower voltage, in every mode of actuation."""
    world = scenario(actuation)
    vehicle = world.model.vehicles[0]
    battery = replace(vehicle.battery, assumed_v=50.4, charge=0.5)
    vehicle = replace(vehicle, battery=battery)
    world = replace(world, model=replace(world.model, vehicles=(vehicle,)))
    simulation = Simulation(world)
    weight = sum(e.mass_kg for e in world.model.entities) * 9.81
    told = rotor_set(vehicle.rotors).speeds(np.array([weight, 0.0, 0.0, 0.0]))
    for _ in range(100):
        simulation.act(np.array([[weight, 0.0, 0.0, 0.0]]))
        simulation.step()
    train = simulation.power[0]
    pace = train.pace(told, 1.0)
    np.testing.assert_allclose(simulation.rotor_speeds()[0], pace * told, rtol=2e-3)
    assert 0.8 < pace < 0.95


@pytest.mark.parametrize("actuation", ["wrench", "rotors"])
def test_batteries_are_asked_for_the_torque_of_the_air_that_moves(actuation):
    """In a climb the current is that of the factor of inflow on the torque, not that of hover."""
    text = TEXT.replace("position_m: [0, 0, 5]", "position_m: [0, 0, 5], velocity_m_s: [0, 0, 3]")
    world = scenario_from_tree(parse_tree(text + f"actuation: {actuation}\n", "test"))
    vehicle = world.model.vehicles[0]
    rotors = replace(
        vehicle.rotors, inflow=Inflow(), radius_m=0.5 * vehicle.rotors.propeller.diameter_m
    )
    blown = replace(world, model=replace(world.model, vehicles=(replace(vehicle, rotors=rotors),)))
    weight = sum(e.mass_kg for e in world.model.entities) * 9.81
    torques, factors = [], 1.0
    for each in (world, blown):
        simulation = Simulation(each)
        for _ in range(40):
            simulation.act(np.array([[weight, 0.0, 0.0, 0.0]]))
            simulation.step()
        if simulation.rotor_air is not None:
            factors = simulation.rotor_air.torque_factors.copy()
        torques.append(simulation.power[0].torque.copy())
    # looked at every 10 ms, while the climb slows down
    np.testing.assert_allclose(torques[1] / torques[0], factors, rtol=2e-3)
    assert (np.abs(factors - 1.0) > 0.015).all()


def free_world(mode, rates):
    """The drone in free space with its propellers as bodies, at rest but for them."""
    wanted = scenario(mode, "environment: {gravity_m_s2: 0.0}")
    system = replace(system_from_scenario(wanted), rotors=(), drags=())
    engine = Engine(system, step=1e-3)
    states = np.zeros((len(system.bodies), 13))
    states[:, 3] = 1.0
    for i in np.flatnonzero(engine.joints.is_driven):
        engine.joints.hold(int(i), 0.0)
    engine.set_state(states, joints=np.zeros((4, 2)))
    if rates is not None:
        engine.joints.turn(0, rates, 0.0)
    return engine


def test_dd_b5_a_propeller_that_speeds_up_turns_the_frame_back():
    engine = free_world("propellers", None)
    engine.joints.turn(0, np.array([OMEGA, 0.0, 0.0, 0.0]), lag=0.05)
    engine.run(2000)
    rate = engine.update_kinematics()[0, 10:13]
    assert rate[2] == pytest.approx(-I_ZZ * OMEGA / J_Z, rel=2e-6)
    assert rate[2] == pytest.approx(-0.664960, abs=1e-6)
    np.testing.assert_allclose(rate[:2], 0.0, atol=1e-12)
    engine = free_world("propellers", None)
    engine.joints.turn(0, OMEGA * np.array([1.0, -1.0, 1.0, -1.0]), lag=0.05)
    engine.run(2000)
    np.testing.assert_allclose(engine.update_kinematics()[0, 10:13], 0.0, atol=1e-12)


def test_dd_b6_equal_spins_precess():
    """Period 2 pi sqrt(Jx Jy) / h, amplitudes sqrt(Jx/Jy); +w_x makes +w_y."""
    engine = free_world("propellers", np.full(4, OMEGA))
    states = engine.update_kinematics()[:, :13].copy()
    states[:2, 10] = 1e-3
    engine.set_state(states)
    J_x, J_y, h = 0.274511, 0.264511, 4.0 * I_ZZ * OMEGA
    rates = []
    for _ in range(1484):
        engine.run(1)
        rates.append(engine.update_kinematics()[0, 10:12].copy())
    rates = np.array(rates)
    period = 2.0 * np.pi * np.sqrt(J_x * J_y) / h
    assert period == pytest.approx(1.48384, abs=1e-5)
    crossing = np.flatnonzero((rates[:-1, 0] > 0.0) & (rates[1:, 0] <= 0.0))[0]
    when = (
        crossing + 1 + rates[crossing, 0] / (rates[crossing, 0] - rates[crossing + 1, 0])
    ) * 1e-3
    assert 4.0 * when == pytest.approx(period, rel=1e-5)
    assert rates[:400, 1].max() / 1e-3 == pytest.approx(np.sqrt(J_x / J_y), rel=1e-4)
    np.testing.assert_allclose(rates[-1], [1e-3, 0.0], atol=1e-6)  # a whole period


def test_dd_b3_and_b7_stored_momentum_and_bodies_move_alike():
    """The reduced form (rotors with stored momentum) and propellers as bodies, 1 s of different speeds that change.

    Both are given the same lag; what differs is the model alone. The reduced form has the parallel axes of the
    propellers in its inertia, so they are the same system: agreement to the error of RK4.
    """
    start = np.array([300.0, 280.0, 310.0, 290.0])
    end = np.array([330.0, 320.0, 300.0, 280.0])
    found = []
    for mode in ("rotors", "propellers"):
        engine = Engine(system_from_scenario(scenario(mode)), step=1e-3)
        n = len(engine.system.bodies)
        states = np.zeros((n, 13))
        states[:, 3:7] = np.array([0.9, 0.2, -0.3, 0.24]) / np.linalg.norm([0.9, 0.2, -0.3, 0.24])
        states[:2, 7:] = (0.3, -0.2, 0.1, 0.7, -0.5, 0.9)
        if mode == "rotors":
            engine.set_state(states)
            engine.rotors.start(start)
            engine.rotors.act(end)
        else:
            for i in range(4):
                engine.joints.hold(i, 0.0)
            engine.set_state(states, joints=np.zeros((4, 2)))
            spins = np.array([1.0, -1.0, 1.0, -1.0])
            engine.joints.turn(0, spins * start, 0.0)
            engine.joints.turn(0, spins * end, lag=0.005)
        engine.run(1000)
        found.append(engine.update_kinematics()[0, :13].copy())
    np.testing.assert_allclose(found[1][:3], found[0][:3], atol=1e-9)
    np.testing.assert_allclose(found[1][3:], found[0][3:], atol=1e-9)


def test_dd_b4_motor_torques_return_the_driven_motion():
    """Hover takes the drag torque of the air; the same torques on free joints keep the propellers turning."""
    weight = np.array([[10.0224 * 9.81, 0.0, 0.0, 0.0]])
    driven = Simulation(scenario("propellers"))
    driven.step(weight)
    np.testing.assert_allclose(
        driven.engine.joints.driving_efforts, 0.93676 * np.array([1, -1, 1, -1]), rtol=1e-5
    )
    motors = Simulation(scenario("motors"))
    for _ in range(200):
        driven.step(weight)
        motors.step(weight)
    np.testing.assert_allclose(motors.motion[0, :3], driven.motion[0, :3], atol=1e-6)
    np.testing.assert_allclose(motors.rotor_speeds()[0], OMEGA, rtol=1e-5)
    np.testing.assert_allclose(driven.rotor_speeds()[0], OMEGA, rtol=1e-5)
    assert not len(driven.joint_states)  # joints of propellers are not those of an arm


def test_a_motor_comes_to_its_speed_with_its_lag():
    """Torque-driven propellers follow the exponential of the lag as far as a control period of 1 ms lets them: 10 %."""
    simulation = Simulation(scenario("motors", "time: {control_s: 0.001}"))
    light = np.array([[8.0 * 9.81, 0.0, 0.0, 0.0]])
    heavy = np.array([[10.0 * 9.81, 0.0, 0.0, 0.0]])
    simulation.step(light)
    low = simulation.rotor_speeds()[0].mean()
    high = low * np.sqrt(10.0 / 8.0)
    for _ in range(5):
        simulation.step(heavy)
    share = (simulation.rotor_speeds()[0].mean() - low) / (high - low)
    assert share == pytest.approx(1.0 - np.exp(-1.0), rel=0.1)


def test_faults_weaken_one_rotor_and_are_forgotten_at_a_reset():
    faulty = scenario(
        "rotors", "changes: [{at_s: 0.05, motor: {vehicle: drone, rotor: 2, thrust_gain: 0.7}}]\n"
    )
    simulation = Simulation(faulty)
    weight = np.array([[10.0224 * 9.81, 0.0, 0.0, 0.0]])
    for _ in range(20):
        simulation.step(weight)
    speeds = simulation.rotor_speeds()[0]
    np.testing.assert_allclose(speeds[[0, 2, 3]], OMEGA, rtol=1e-4)
    assert speeds[1] == pytest.approx(OMEGA * np.sqrt(0.7), rel=1e-4)
    simulation.reset()
    simulation.act(weight)
    np.testing.assert_allclose(simulation.rotor_speeds()[0], OMEGA, rtol=1e-4)


def test_a_reset_gives_fresh_batteries_and_repeats_the_run():
    """Also the first look: rotors that are found at speed have not been spun up."""
    simulation = Simulation(scenario("rotors"))
    weight = np.array([[10.0224 * 9.81, 0.0, 0.0, 0.0]])

    def run():
        for _ in range(100):
            simulation.step(weight)
        train = simulation.power[0]
        return train.energy, train.charge, train.fastest

    first = run()
    assert first[0] == pytest.approx(0.5 * 4 * 354.5, rel=0.05)  # W of hover, half a second
    simulation.reset()
    assert simulation.power[0].energy == 0.0
    assert run() == first


def test_motors_follow_in_long_control_periods():
    """20 ms with a lag of 5 ms: the held torque brings them to their speed, not beyond."""
    simulation = Simulation(scenario("motors", "time: {control_s: 0.02}"))
    simulation.step(np.array([[8.0 * 9.81, 0.0, 0.0, 0.0]]))
    for _ in range(40):
        simulation.step(np.array([[10.0224 * 9.81, 0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(simulation.rotor_speeds()[0], OMEGA, rtol=1e-3)


def test_rotors_without_thrust_have_no_largest_power():
    simulation = Simulation(scenario("rotors", "plant: [{entity: drone, thrust_gain: 0.0}]"))
    simulation.step(np.array([[98.0, 0.0, 0.0, 0.0]]))
    assert np.isfinite(simulation.motion).all()


@pytest.mark.parametrize("step", [0.001, 0.02])
def test_a_vehicle_stands_whatever_the_step(step):
    """Default stiffness follows the step; cargo under the vehicle carries it and hardly sinks in."""
    text = f"""
schema: 1
model:
  vehicles: [{{use: dragonfly, name: quad}}]
  payloads: [{{name: parcel, mass_kg: 0.02, inertia_kg_m2: [8.3e-5, 8.3e-5, 1.3e-4], shape: {{type: box, size_m: [0.2, 0.2, 0.1]}}}}]
  attachments: [{{type: rigid_link, parent: quad, child: parcel, position_m: [0, 0, -0.1]}}]
initial: [{{entity: quad, position_m: [0, 0, 0.16]}}]
environment: {{contact: {{}}}}
controller: {{use: quadrotor}}
time: {{step_s: {step}, control_s: {step}}}
"""
    simulation = Simulation(scenario_from_tree(parse_tree(text, "test")))
    for _ in range(round(3.0 / step)):
        simulation.step(np.zeros((1, 4)))
    assert np.linalg.norm(simulation.motion[0, 7:13]) < 1e-6
    if step < 0.01:  # with long steps only soft contacts are stable
        assert simulation.motion[1, 2] > 0.05 - 0.003


def test_propellers_as_bodies_spin_up_with_their_own_inertia():
    """The inertia of rotors that are no bodies does not count then (R.16); it was 0, and so was the torque."""
    vehicle = load_vehicle("delivery_drone")
    own = vehicle.rotors.propeller.inertia_kg_m2[2]
    bodies = replace(vehicle, rotors=replace(vehicle.rotors, inertia_kg_m2=0.0))
    speeds, faster = np.full(4, 300.0), np.full(4, 310.0)
    torques = []
    for has_propellers in (True, False):
        supply = PowerSupply({0: bodies}, {0: 1.0}, has_propellers=has_propellers)
        train = supply.trains[0]
        train.run(speeds, 0.0)
        train.run(faster, 0.01)
        torques.append(train.torque.copy())
    np.testing.assert_allclose(torques[0] - torques[1], own * 10.0 / 0.01, rtol=1e-9)
