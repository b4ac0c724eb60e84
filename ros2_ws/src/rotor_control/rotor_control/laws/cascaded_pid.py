"""Cascaded PID control of one vehicle by shares of force that every rotor is asked for.

Position errors become tilts, tilts and the errors of height and heading become forces per rotor.
Source: Pappalardo et al., Machines 11(4) 464, 2023, section 5 and Table 6, with the signs and the
turn by the heading of docs/theory/pappalardo_errata.md. Equations (C.27)-(C.31), docs/theory/control.md.
"""

from __future__ import annotations

from math import asin, atan2, cos, pi, sin

import numpy as np

from rotor_control.laws.cargo import carried_mass
from rotor_core.config.controllers import CascadedPidControl, Pid
from rotor_core.config.schema import Scenario
from rotor_core.config.teams import Team
from rotor_core.config.yaml.units import rad_from_deg
from rotor_core.errors import ConfigError
from rotor_core.kernels.jit import constants, inlined, kernel
from rotor_core.math import so3
from rotor_core.reference import POSITION, YAW_ANGLE
from rotor_core.state import P, Q
from rotor_core.vehicles.rotors import rotor_set

LOOPS = ("lift", "yaw", "inner_roll", "inner_pitch", "outer_x", "outer_y")
LIFT, YAW_LOOP, ROLL_LOOP, PITCH_LOOP, X_LOOP, Y_LOOP = constants(*range(6))

PROPORTIONAL, INTEGRAL, DERIVATIVE = constants(0, 1, 2)
"""Columns of the gains of a loop."""

ERROR_BEFORE, ERROR_SUM, RATE, STARTED = constants(0, 1, 2, 3)
"""Columns of the memory of a loop."""

PERIOD, FILTER, SMALLEST, LARGEST, MAX_TILT, TURNED, FEEDFORWARD, HOLDS_SUMS = constants(*range(8))
"""Entries of the common parameters; forces are those of one rotor, N."""
SETTINGS = 8

ASIDE, AHEAD, SPIN = constants(0, 1, 2)
"""Columns of the signs of a rotor: left is +1, ahead is +1, counter-clockwise is +1."""


@inlined
def cardan_angles(q):
    """Cardan angles X-Y-Z of an attitude, R = Rx(phi) Ry(theta) Rz(psi): tilts about axes fixed to the earth (C.27)."""
    R = so3.matrix(q)
    theta = asin(min(max(R[2], -1.0), 1.0))
    return atan2(-R[5], R[8]), theta, atan2(-R[1], R[0])


@inlined
def wrapped(angle):
    """The same angle within -pi..pi."""
    return angle - 2.0 * pi * round(angle / (2.0 * pi))


@inlined
def change(memory, i, error):
    """Change of the error of loop i since the last period; for the heading, the shorter way round."""
    step = error - memory[i, ERROR_BEFORE]
    return wrapped(step) if i == YAW_LOOP else step


@inlined
def loop(gains, memory, settings, i, error):
    """Output of PID loop i; the sum of errors is not changed here (C.28)."""
    h, n = settings[PERIOD], settings[FILTER]
    if memory[i, STARTED] == 0.0:  # a loop that begins knows no rate
        memory[i, STARTED], memory[i, ERROR_BEFORE] = 1.0, error
    step = change(memory, i, error)
    memory[i, RATE] = (2.0 * n * step + (2.0 - n * h) * memory[i, RATE]) / (2.0 + n * h)
    total = memory[i, ERROR_SUM] + h * (error - 0.5 * step)
    g = gains[i]
    return g[PROPORTIONAL] * error + g[INTEGRAL] * total + g[DERIVATIVE] * memory[i, RATE]


@inlined
def remember(memory, settings, i, error, grows):
    """Take up the error of this period, and add it up unless that would push further into a limit (C.31)."""
    if grows:
        memory[i, ERROR_SUM] += settings[PERIOD] * (error - 0.5 * change(memory, i, error))
    memory[i, ERROR_BEFORE] = error


@kernel
def cascaded_pid_command(state, reference, gains, settings, signs, mixing, memory, told, out):
    """Thrust and moment of one vehicle.

    Args:
        state: of the vehicle, (>= 13,).
        reference: (28,).
        gains: (6, 3); settings: (SETTINGS,); signs: (n_rotors, 3); mixing: (4, n_rotors).
        memory: of the loops, (6, 4), updated.
        told: thrusts of the rotors, N, and the wanted phi and theta, rad, (n_rotors + 2,), written.
        out: (1, 4), written: N, N m.
    """
    phi, theta, psi = cardan_angles(so3.get4(state, Q))
    most = settings[MAX_TILT]
    e_x = reference[POSITION] - state[P]
    e_y = reference[POSITION + 1] - state[P + 1]
    wanted_pitch = loop(gains, memory, settings, X_LOOP, e_x)
    wanted_roll = -loop(gains, memory, settings, Y_LOOP, e_y)
    theta_ref = min(max(wanted_pitch, -most), most)  # (C.29)
    phi_ref = min(max(wanted_roll, -most), most)
    n = signs.shape[0]
    told[n], told[n + 1] = phi_ref, theta_ref
    e_z = reference[POSITION + 2] - state[P + 2]
    e_psi = wrapped(reference[YAW_ANGLE] - psi)
    lift = loop(gains, memory, settings, LIFT, e_z) + settings[FEEDFORWARD]
    turn = loop(gains, memory, settings, YAW_LOOP, e_psi)
    roll = loop(gains, memory, settings, ROLL_LOOP, phi_ref - phi)
    pitch = loop(gains, memory, settings, PITCH_LOOP, theta_ref - theta)
    roll_B, pitch_B = roll, pitch
    if settings[TURNED] != 0.0:
        c, s = cos(psi), sin(psi)
        roll_B, pitch_B = c * roll + s * pitch, c * pitch - s * roll
    over, under = False, False
    for i in range(4):
        out[0, i] = 0.0
    for k in range(n):  # (C.30)
        force = lift + signs[k, ASIDE] * roll_B - signs[k, AHEAD] * pitch_B - signs[k, SPIN] * turn
        over = over or force > settings[LARGEST]
        under = under or force < settings[SMALLEST]
        told[k] = min(max(force, settings[SMALLEST]), settings[LARGEST])
        for i in range(4):
            out[0, i] += mixing[i, k] * told[k]
    if settings[HOLDS_SUMS] == 0.0:
        over, under = False, False
    limited = over or under
    remember(memory, settings, X_LOOP, e_x, theta_ref == wanted_pitch or e_x * wanted_pitch < 0.0)
    remember(memory, settings, Y_LOOP, e_y, phi_ref == wanted_roll or -e_y * wanted_roll < 0.0)
    remember(memory, settings, LIFT, e_z, not ((over and e_z > 0.0) or (under and e_z < 0.0)))
    remember(memory, settings, YAW_LOOP, e_psi, not limited or e_psi * turn < 0.0)
    e_phi, e_theta = phi_ref - phi, theta_ref - theta
    remember(memory, settings, ROLL_LOOP, e_phi, not limited or e_phi * roll < 0.0)
    remember(memory, settings, PITCH_LOOP, e_theta, not limited or e_theta * pitch < 0.0)


class CascadedPidLaw:
    """The law of one free vehicle, with cargo or without.

    Attributes:
        team: whose law it is.
        gains: of the loops of :data:`LOOPS`, (6, 3).
        row: of the vehicle among all entities.
        settings, signs, mixing: of :func:`cascaded_pid_command`.
        memory: (6, 4).
        told: by the last command: thrusts of the rotors, N, and the wanted phi and theta, rad, (6,).
    """

    def __init__(self, scenario: Scenario, team: Team) -> None:
        control = scenario.controller
        assert isinstance(control, CascadedPidControl)
        if team.payload is not None:
            raise ConfigError(
                f"controller.type: cascaded_pid flies single vehicles, with cargo or without, but {team.payload!r} "
                "hangs on cables or on several vehicles. Write `controller: {use: cable_team}` or another."
            )
        self.team = team
        self.row = scenario.model.index(team.vehicles[0])
        vehicle = scenario.model.vehicles[self.row]
        rotors = rotor_set(vehicle.rotors)
        hubs, spins = vehicle.rotors.positions, vehicle.rotors.spins
        sides = np.stack([np.sign(hubs[:, 1]), np.sign(hubs[:, 0]), spins], axis=1)
        if not (sides != 0.0).all() or rotors.count != 4:
            raise ConfigError(
                f"controller.type: cascaded_pid needs 4 rotors: front left, front right, rear left and rear right; "
                f"vehicle {vehicle.name!r} has others. Use layout x, or another law."
            )
        self.signs, self.mixing = sides, np.ascontiguousarray(rotors.mixing)
        self.gains = np.array([_gains(getattr(control, name)) for name in LOOPS])
        self.memory = np.zeros((len(LOOPS), 4))
        self.told = np.zeros(rotors.count + 2)
        settings = np.zeros(SETTINGS)
        settings[PERIOD], settings[FILTER] = scenario.time.control_s, control.filter_per_s
        settings[SMALLEST], settings[LARGEST] = rotors.thrust_limits
        settings[MAX_TILT] = rad_from_deg(control.max_tilt_deg)
        settings[TURNED], settings[HOLDS_SUMS] = control.turned, control.anti_windup
        if control.gravity_feedforward:
            weight = carried_mass(scenario.model, vehicle) * scenario.environment.gravity_m_s2
            settings[FEEDFORWARD] = weight / rotors.count
        self.settings = settings

    def __call__(self, states: np.ndarray, reference: np.ndarray, out: np.ndarray) -> None:
        """Write the command (1, 4) of the vehicle for ``states`` (N, >= 13) and ``reference`` (28,)."""
        cascaded_pid_command(
            states[self.row], reference, self.gains, self.settings, self.signs, self.mixing, self.memory, self.told,
            out,
        )  # fmt: skip

    @property
    def thrusts(self) -> np.ndarray:
        """Of the rotors, as of the last command, (4,) N."""
        return self.told[:-2]

    @property
    def tilts(self) -> np.ndarray:
        """Wanted phi and theta, as of the last command, (2,) rad."""
        return self.told[-2:]

    def reset(self) -> None:
        """Forget integrals and rates."""
        self.memory[:] = 0.0


def _gains(pid: Pid) -> tuple[float, float, float]:
    return pid.p, pid.i, pid.d
