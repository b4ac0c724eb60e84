"""Rotors with hinged blades: blades, their stations and sections, and the disc with its inflow."""

from __future__ import annotations

from rotor_core.kernels.jit import constants
from rotor_core.rows import Row

blade = Row("blade", "A blade: a force element on a link, which spans the link along x.")
BLADE_PHASE = blade("rad", "ahead of the azimuth of the rotor")
LINK_STIFFNESS = blade("N m/rad", "of the pitch link")
LINK_DAMPING = blade("N m s/rad", "of the pitch link")
FEATHER_INERTIA = blade("kg m^2", "about the pitch axis")
BLADE = blade.width

blade_int = Row("blade_int", "Integers of a blade; ends are exclusive.")
BLADE_ROW = blade_int("", "row of its link")
BLADE_DISC = blade_int("", "its disc")
PITCH_JOINT = blade_int("", "its pitch joint, or -1")
FIRST_STATION = blade_int("", "first of its stations")
END_STATION = blade_int("", "end of its stations")
FIRST_POINT = blade_int("", "first point of the table of its section")
END_POINT = blade_int("", "end of that table; none: lift and drag are linear")
BLADE_INT = blade_int.width

station = Row("station", "A station along a blade.")
STATION_X = station("m", "place along the blade")
STATION_LOAD = station("kg/m", "half the air density times length times chord")
TWIST = station("rad", "twist")
LIFT_SLOPE = station("1/rad", "slope of the lift coefficient")
DRAG_COEFFICIENT = station("", "drag coefficient")
STATION = station.width

section = Row("section", "A point of the table of a section.")
SECTION_ANGLE = section("rad", "angle of attack")
SECTION_LIFT = section("", "lift coefficient")
SECTION_DRAG = section("", "drag coefficient")
SECTION = section.width

disc = Row("disc", "A rotor disc: its inflow and its swashplate.")
disc.group("constants")
TWICE_MASS_FLOW = disc("kg/m", "twice the air density times the area")
INFLOW_LAG = disc("s", "time constant of the inflow")
INFLOW_DELAY = disc("s", "delay of the filtered law")
FILTER_FREQUENCY = disc("rad/s", "of the filtered law")
FILTER_DAMPING = disc("", "of the filtered law")
disc.group("swashplate: bias + offset exp(-(t - since) rate)")
SWASH = disc("rad", "collective, cosine and sine", shape=(3,))
SWASH_OFFSET = disc("rad", "what is left of the lag at SWASH_SINCE", shape=(3,))
SWASH_SINCE = disc("s", "time of the last command")
SWASH_LAG_RATE = disc("1/s", "inverse time constant")
disc.group("work")
INFLOW = disc("m/s", "induced velocity")
THRUST = disc("N", "thrust")
AIR_TORQUE = disc("N m", "torque of the air against the rotation")
AIR_POWER = disc("W", "power that the air gives to the blades")
INFLOW_TARGET = disc("m/s", "induced velocity that momentum theory asks for")
TURNS = disc("", "+1 where it pushes along the axis of its joint, -1 against it")
DISC = disc.width

disc_int = Row("disc_int", "Integers of a disc.")
AZIMUTH_JOINT = disc_int("", "joint that it turns on")
INFLOW_LAW = disc_int("", "HELD, RELAXED or FILTERED")
NEWEST = disc_int("", "newest sample of its history")
SAMPLES = disc_int("", "samples in its history")
DISC_INT = disc_int.width

sample = Row("sample", "A sample of the history of a disc.")
SAMPLE_TIME = sample("s", "time")
SAMPLE_INFLOW = sample("m/s", "induced velocity that momentum theory asked for")
SAMPLE = sample.width

HELD, RELAXED, FILTERED = constants(0, 1, 2)
"""Laws of the inflow: constant; first-order towards momentum theory; delayed and filtered."""
INFLOW_COLUMN = 1
"""The row of the azimuth joint carries the inflow beside angle and rate: relaxed or held in the second column
of V, filtered in that of P with its rate in that of V. Integrators move all three columns alike."""
SAMPLES_PER_DELAY = 256
"""Accepted steps that a delayed inflow keeps are at least this share of the delay apart."""
HISTORY = 2 * SAMPLES_PER_DELAY
"""Room for them."""
