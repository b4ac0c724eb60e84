"""Spinning rotors: what each gives per squared speed, and its speed as a function of time."""

from __future__ import annotations

from rotor_core.rows import Row

rotor = Row(
    "rotor",
    "A rotor. Its speed is bias + amplitude sin(frequency t + phase) + offset exp(-(t - since) lag_rate).",
)
AXIS = rotor("", "axis of thrust, body axes", shape=(3,))
HUB = rotor("m", "hub from the centre of mass, body axes", shape=(3,))
PER_SPEED2 = rotor("N s^2, N m s^2", "force and moment per squared speed, body axes", shape=(6,))
AXIAL_INERTIA = rotor("kg m^2", "about its axis, with the sign of its turning sense")
ROTOR_DRAG = rotor("N s^2/m", "force across the axis over airspeed and speed")
RADIUS = rotor("m", "where the ground is felt; 0: it is not")
SPEED_BIAS = rotor("rad/s", "commanded or mean speed")
SPEED_AMPLITUDE = rotor("rad/s", "of the sinusoid")
SPEED_FREQUENCY = rotor("rad/s", "of the sinusoid")
SPEED_PHASE = rotor("rad", "of the sinusoid")
SPEED_OFFSET = rotor("rad/s", "what is left of the lag at SINCE")
SINCE = rotor("s", "time of the last command")
LAG_RATE = rotor("1/s", "inverse time constant")
rotor.group("work")
SPEED = rotor("rad/s", "speed at the latest evaluation")
SPEED_DOT = rotor("rad/s^2", "its rate")
ROTOR = rotor.width

rotor_int = Row("rotor_int", "Integers of a rotor.")
ROTOR_BODY = rotor_int("", "row of its body")
SAME_LAG = rotor_int("", "1 where its lag is that of the row before")
FELT = rotor_int("", "1 where its drag or the ground matter")
ROTOR_NUMBER = rotor_int("", "its number as the user counts")
TURNS_WITH = rotor_int("", "joint (from 1, signed with the rotor's sense) that it turns with, or 0")
ROTOR_INT = rotor_int.width
