"""Position control of a helicopter, alone or with a load on a cable: swashplate and tail rotor for a wanted force.

The disc is tilted, and the fuselage follows its moment; the rotor damps the fuselage by itself. What holds the
vehicle at rest (collective, tail force, tilt) comes from closed forms. Equations (C.32)-(C.36), docs/theory/control.md.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from rotor_control import gains as g
from rotor_control.laws.attitude import desired_rotation, rotation_error
from rotor_control.laws.cargo import carried_mass
from rotor_control.laws.limits import limit_tilt
from rotor_control.laws.position import acceleration_from_errors
from rotor_core.config.controllers import HelicopterControl
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.errors import ConfigError
from rotor_core.kernels.jit import kernel
from rotor_core.math import so3
from rotor_core.math.vec3 import add, apply, apply_transposed, column, dot, get3, norm, scale, sub
from rotor_core.reference import ACCELERATION, JERK, POSITION, VELOCITY, YAW_ANGLE, YAW_RATE
from rotor_core.rows import Row
from rotor_core.state import OMEGA, P, Q, V
from rotor_core.vehicles.hover import LEAST_GRAVITY, hover

helicopter = Row("helicopter", "Parameters of a helicopter in its control law.")
MASS = helicopter("kg", "of all that it holds rigidly")
WEIGHT = helicopter("N", "of that and of its slung load")
COLLECTIVE = helicopter("rad", "in hover")
THRUST_SLOPE = helicopter("N", "thrust per rad of collective in hover")
TAIL_FORCE = helicopter("N", "in hover")
LATERAL_TILT = helicopter("rad", "of the disc in hover, against the tail")
TAIL_ARM = helicopter("m", "of the tail rotor behind the centre of mass")
SENSE = helicopter("", "of the main rotor: 1 counter-clockwise from above, -1")
TILT_GAIN = helicopter("", "tilt of the disc per rad of attitude, about x and y", shape=(2,))
TILT_RATE_GAIN = helicopter("s", "tilt of the disc per rad/s, about x and y", shape=(2,))
HEADING_GAIN = helicopter("N m", "moment per rad of heading")
HEADING_RATE_GAIN = helicopter("N m s", "moment per rad/s")
HEADING_INTEGRAL = helicopter("N m/s", "moment per rad s")
COUPLING = helicopter("", "of the two axes of the swashplate (C.33)")
TORQUE_SLOPE = helicopter("N m", "torque of the rotor per rad of collective")
COS_MAX_TILT = helicopter("", "cosine of the largest tilt of the thrust")
MOST_TILT = helicopter("rad", "largest tilt of the swashplate")
LEAST_COLLECTIVE = helicopter("rad", "limit")
MOST_COLLECTIVE = helicopter("rad", "limit")
LEAST_TAIL = helicopter("N", "limit of the tail force")
MOST_TAIL = helicopter("N", "limit of the tail force")
HOOK = helicopter("m", "attachment point of its cable, body axes", shape=(3,))
CABLE_LENGTH = helicopter("m", "of the cable of its load")
LOAD_WEIGHT = helicopter("N", "of its slung load")
SWING = helicopter("1/s", "damping of the load's swing (C.36)")
INFLOW = helicopter("m/s", "induced velocity in hover")
TIP_SPEED = helicopter("m/s", "of the blades")
FLAP_TIME = helicopter("s", "by which the disc lags behind the fuselage")
LEAD = helicopter(
    "s^2",
    "length of the cable over gravity: the helicopter leads its load by this times its acceleration",
)
LEANS_BACK = helicopter("rad s/m", "tilt of the disc per speed against the air, away from it")
LEANS_ASIDE = helicopter("rad s/m", "the same across")
CYCLIC_PER_TILT = helicopter("", "of the swashplate per tilt of the disc")
SETTINGS = helicopter.width

SLACK = 0.98
"""A load nearer than this share of its cable length does not pull, nor one that is farther by as much."""

LEAST_COSINE = 0.5
"""Of the angle of a cable whose pull is compensated: beyond 60 degrees it is taken for that."""

SMALLEST_THRUST = 1.0
"""Below this a force has no rate of direction, N."""

HEADING_LIMIT = 1.0
"""Largest integral of a heading error, rad s."""


@kernel
def collective_of_climb(climb, settings):
    """More collective that a climb takes, rad: the air comes from above, and the rotor induces less (C.34)."""
    half = 0.5 * climb
    inflow = sqrt(half * half + settings[INFLOW] * settings[INFLOW]) - half
    return 1.5 * (climb + inflow - settings[INFLOW]) / settings[TIP_SPEED]


@kernel
def pull_of_load(state, hook_W, load, settings):
    """Pull of the load: True if it pulls, its force on the hook if it hung at rest there, and its velocity (C.35).

    The velocity is horizontal and relative to the helicopter.

    Args:
        state: of the helicopter, (>= 13,).
        hook_W: from its base link to the hook, in W.
        load: state of the load, (>= 13,).
        settings: (SETTINGS,).
    """
    apart = sub(sub(get3(load, P), get3(state, P)), hook_W)
    length = sqrt(dot(apart, apart))
    slack = length < SLACK * settings[CABLE_LENGTH]
    gone = length * SLACK > settings[CABLE_LENGTH]  # cut, or let go
    if slack or gone or apart[2] >= 0.0:
        return False, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    below = max(-apart[2], LEAST_COSINE * length)
    force = scale(settings[LOAD_WEIGHT] / below, apart)
    rate = sub(get3(load, V), get3(state, V))
    return True, force, (rate[0], rate[1], 0.0)


@kernel
def ahead_of_load(reference, what, lead):
    """Position, velocity or acceleration of the reference, and ``lead`` times its second derivative horizontally."""
    value, more = get3(reference, what), get3(reference, what + 6)
    return value[0] + lead * more[0], value[1] + lead * more[1], value[2]


@kernel
def helicopter_command(states, reference, gains, settings, who, memory, out):
    """Angles of the swashplate and tail force of one helicopter.

    Args:
        states: of all entities, (n, >= 13).
        reference: (28,), of the load where there is one.
        gains: (LOAD,) of position and velocity, with gravity.
        settings: (SETTINGS,).
        who: row of the helicopter, and of its load or -1, (2,).
        memory: integrals of position errors, of the heading error, last tail force, (5,).
        out: (1, 4), written: collective, lateral and longitudinal tilt of the swashplate rad, tail force N.
    """
    s = states[who[0]]
    R = so3.matrix(so3.get4(s, Q))
    hook_W = apply(R, get3(settings, HOOK))
    place, velocity = get3(s, P), get3(s, V)
    pulls, pull, sway = False, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if who[1] >= 0:
        # the place of the load as it will be when it hangs still
        place = sub(add(place, get3(settings, HOOK)), (0.0, 0.0, settings[CABLE_LENGTH]))
        pulls, pull, sway = pull_of_load(s, hook_W, states[who[1]], settings)
    # ahead of its load, which follows like a pendulum (C.35)
    lead = settings[LEAD]
    e_x = sub(ahead_of_load(reference, POSITION, lead), place)
    e_v = sub(ahead_of_load(reference, VELOCITY, lead), velocity)
    wanted_a = ahead_of_load(reference, ACCELERATION, lead)
    a = acceleration_from_errors(e_x, e_v, wanted_a, gains, memory)
    jerk = get3(reference, JERK)
    planned = (-lead * jerk[0], -lead * jerk[1], 0.0)
    if pulls:
        a = add(a, scale(settings[SWING], sub(sway, planned)))  # (C.36)
    F = sub(scale(settings[MASS], a), pull)  # (C.32)
    side = (0.0, memory[4] - F[2] * settings[LATERAL_TILT], 0.0)  # what pushes to the left at rest
    F = limit_tilt(sub(F, apply(R, side)), settings[COS_MAX_TILT], settings[MASS])
    R_des = desired_rotation(F, reference[YAW_ANGLE])
    error = rotation_error(R, R_des)
    omega = get3(s, OMEGA)
    b1, b2, b3 = column(R_des, 0), column(R_des, 1), column(R_des, 2)
    h = scale(settings[MASS] / max(norm(F), SMALLEST_THRUST), sub(jerk, scale(dot(b3, jerk), b3)))
    turning = (-dot(h, b2), dot(h, b1), reference[YAW_RATE] * b3[2])  # (C.5)
    wanted = apply_transposed(R, apply(R_des, turning))
    right = settings[LATERAL_TILT] + settings[TILT_GAIN] * error[0]
    right += settings[TILT_RATE_GAIN] * (wanted[0] - omega[0]) + settings[FLAP_TIME] * wanted[0]
    ahead = settings[TILT_GAIN + 1] * error[1] + settings[FLAP_TIME] * wanted[1]
    ahead += settings[TILT_RATE_GAIN + 1] * (wanted[1] - omega[1])
    # against the air of the planned speed, in which the disc leans back and to one side
    flow = apply_transposed(R, get3(reference, VELOCITY))
    right -= settings[LEANS_BACK] * flow[1] - settings[LEANS_ASIDE] * flow[0]
    ahead += settings[LEANS_BACK] * flow[0] + settings[LEANS_ASIDE] * flow[1]
    thrust = dot(F, column(R, 2))
    collective = settings[COLLECTIVE] + (thrust - settings[WEIGHT]) / settings[THRUST_SLOPE]
    # of the climb that is planned: that of the real one would take away the damping of the rotor
    collective += collective_of_climb(reference[VELOCITY + 2], settings)
    collective = min(max(collective, settings[LEAST_COLLECTIVE]), settings[MOST_COLLECTIVE])
    memory[3] = min(max(memory[3] + error[2] * gains[g.PERIOD], -HEADING_LIMIT), HEADING_LIMIT)
    moment = settings[HEADING_GAIN] * error[2] + settings[HEADING_INTEGRAL] * memory[3]
    moment += settings[HEADING_RATE_GAIN] * (wanted[2] - omega[2])
    more_torque = settings[TORQUE_SLOPE] * (collective - settings[COLLECTIVE])
    steady = settings[TAIL_FORCE] - settings[SENSE] * more_torque / settings[TAIL_ARM]
    force = steady - moment / settings[TAIL_ARM]  # (C.34)
    memory[4] = min(max(steady, settings[LEAST_TAIL]), settings[MOST_TAIL])
    k, per_tilt = settings[SENSE] * settings[COUPLING], settings[CYCLIC_PER_TILT]  # (C.33)
    lateral, longitudinal = per_tilt * (right - k * ahead), per_tilt * (ahead + k * right)
    tilt = sqrt(lateral * lateral + longitudinal * longitudinal)
    share = settings[MOST_TILT] / tilt if tilt > settings[MOST_TILT] else 1.0
    out[0, 0] = collective
    out[0, 1] = share * lateral
    out[0, 2] = share * longitudinal
    out[0, 3] = min(max(force, settings[LEAST_TAIL]), settings[MOST_TAIL])


class HelicopterLaw:
    """The law of one helicopter, alone or with one load on one cable.

    Attributes:
        team: whose law it is.
        gains: of the position, (LOAD,).
        settings: (SETTINGS,).
        who: row of the helicopter, and of its load or -1, (2,).
        memory: integrals of position errors (3,), of the heading error, last steady tail force.
    """

    def __init__(self, scenario: Scenario, team: Team) -> None:
        control, model = scenario.controller, scenario.model
        row = model.index(team.vehicles[0])
        vehicle = model.vehicles[row]
        assert vehicle.helicopter is not None
        if not isinstance(control, HelicopterControl):
            raise ConfigError(
                f"controller.type: {vehicle.name!r} is a helicopter, but the controller is {control.type}. Write "
                "`controller: {use: helicopter}`."
            )
        if vehicle.helicopter.main_rotor.hinge("flap") is None:
            raise ConfigError(
                f"controller.type: helicopter needs a flap hinge, and the rotor of {vehicle.name!r} has none: its disc "
                "would not tilt. Add {type: flap} to main_rotor.hinges."
            )
        if len(team.vehicles) > 1 or team.rigid:
            raise ConfigError(
                "controller.type: helicopter flies single vehicles, alone or with one load on one cable; "
                f"{team.payload!r} is carried by {len(team.vehicles)} vehicles. Use multirotors, or one helicopter."
            )
        self.team = team
        load = -1 if team.payload is None else model.index(team.payload)
        self.who = np.array([row, load])
        environment = scenario.environment
        gravity, density = environment.gravity_m_s2, environment.air.density
        self.gains = np.zeros(g.LOAD)
        self.gains[g.GRAVITY], self.gains[g.PERIOD] = gravity, scenario.time.control_s
        self.gains[g.ERROR_LIMIT] = control.error_limit_m
        for first, values in (
            (g.LOAD_POSITION_GAIN, control.position_per_s2), (g.LOAD_VELOCITY_GAIN, control.velocity_per_s),
            (g.LOAD_INTEGRAL_GAIN, control.integral_per_s3),
        ):  # fmt: skip
            self.gains[first : first + 3] = values
        rotor, tail = vehicle.helicopter.main_rotor, vehicle.helicopter.tail_rotor
        carried = model.entities[load].mass_kg if load >= 0 else 0.0
        mass = carried_mass(model, vehicle)
        weight = (mass + carried) * max(gravity, LEAST_GRAVITY)
        at_rest = hover(vehicle.helicopter, weight, gravity, density)
        s = np.zeros(SETTINGS)
        s[MASS], s[WEIGHT] = mass, weight
        s[COLLECTIVE], s[THRUST_SLOPE] = at_rest.collective, at_rest.thrust_slope
        s[TAIL_FORCE], s[LATERAL_TILT] = at_rest.tail_force, at_rest.lateral_tilt
        s[TAIL_ARM], s[SENSE] = -tail.position_m[0], rotor.sense
        s[TILT_GAIN : TILT_GAIN + 2], s[TILT_RATE_GAIN : TILT_RATE_GAIN + 2] = (
            control.tilt,
            control.tilt_rate_s,
        )
        s[HEADING_GAIN : HEADING_GAIN + 2] = control.heading_n_m, control.heading_rate_n_m_s
        s[HEADING_INTEGRAL] = control.heading_integral_n_m_per_s
        s[COUPLING], s[CYCLIC_PER_TILT] = at_rest.coupling, at_rest.cyclic_per_tilt
        s[FLAP_TIME] = at_rest.flap_time
        s[LEANS_BACK], s[LEANS_ASIDE] = at_rest.leans_back, -rotor.sense * at_rest.leans_aside
        s[INFLOW], s[TIP_SPEED] = at_rest.inflow, rotor.speed_rad_s * rotor.radius_m
        s[TORQUE_SLOPE] = 1.5 * at_rest.thrust_slope * at_rest.inflow / rotor.speed_rad_s
        s[COS_MAX_TILT] = np.cos(rad_from_deg(control.max_tilt_deg))
        s[MOST_TILT] = rad_from_deg(rotor.cyclic_deg)
        s[LEAST_COLLECTIVE : MOST_COLLECTIVE + 1] = rotor.collective_limits
        s[LEAST_TAIL : MOST_TAIL + 1] = tail.force_n
        if load >= 0:
            cable = model.cables[team.cables[0]]
            s[HOOK : HOOK + 3] = cable.a_point_m if cable.a == vehicle.name else cable.b_point_m
            s[LEAD] = cable.length_m / gravity if gravity > 0.0 else 0.0
            s[CABLE_LENGTH], s[LOAD_WEIGHT], s[SWING] = (
                cable.length_m,
                carried * gravity,
                control.swing_per_s,
            )
        self.settings = s
        self.memory = np.zeros(5)
        self.reset()

    def take_length(self, _: int, length: float) -> None:
        """The cable is ``length`` m long from now on."""
        gravity = self.gains[g.GRAVITY]
        self.settings[LEAD] = length / gravity if gravity > 0.0 else 0.0
        self.settings[CABLE_LENGTH] = length

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the command (1, 4) of the vehicle for ``states`` (N, >= 13) and ``reference`` (28,)."""
        helicopter_command(states, reference, self.gains, self.settings, self.who, self.memory, out)

    def reset(self) -> None:
        """Forget integrals."""
        self.memory[:] = 0.0
        self.memory[4] = self.settings[TAIL_FORCE]
