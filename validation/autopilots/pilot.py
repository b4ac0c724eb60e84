"""A small flight controller in the axes of autopilots (north-east-down, forward-right-down), for scripted peers.

Written from the frames' definitions alone: a sign that is wrong on either side of a link does not fly.
"""

import math


def turn(q, v):
    """A vector from the body to the world, quaternion w first."""
    w, x, y, z = q
    tx, ty, tz = 2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])
    return (
        v[0] + w * tx + y * tz - z * ty,
        v[1] + w * ty + z * tx - x * tz,
        v[2] + w * tz + x * ty - y * tx,
    )


def turn_back(q, v):
    """A vector from the world to the body."""
    return turn((q[0], -q[1], -q[2], -q[3]), v)


class Pilot:
    """Holds a place and heading; gives throttles of motors FR, RL (counter-clockwise), FL, RR (clockwise)."""

    def __init__(self, vehicle, place, north=0.0):
        self.mass, self.inertia = vehicle["mass"], vehicle["inertia"]
        self.arm, self.torque = vehicle["arm"] / math.sqrt(2), vehicle["torque"]
        self.per_speed2, self.low, self.high = vehicle["per_speed2"], *vehicle["speeds"]
        self.kp, self.kd = vehicle.get("gains", (4.0, 2.8))
        self.place, self.north = list(place), north
        self.sum = [0.0, 0.0, 0.0]

    def throttles(self, p, v, q, gyro, dt, ki=0.0):
        """From place and velocity (NED), attitude, body rate (FRD); the heading that is held is north."""
        a = []
        for i in range(3):
            e = self.place[i] - p[i]
            self.sum[i] = max(-0.5, min(0.5, self.sum[i] + dt * e))
            a.append(max(-3.0, min(3.0, self.kp * e - self.kd * v[i] + ki * self.sum[i])))
        f = (-a[0], -a[1], 9.81 - a[2])  # down, against which the rotors push
        size = math.sqrt(sum(x * x for x in f))
        down = turn_back(q, [x / size for x in f])  # wanted body z, in the body
        thrust = self.mass * size * max(0.2, down[2])
        heading = turn_back(q, (1.0, 0.0, 0.0))
        yaw_error = -math.atan2(heading[1], heading[0])  # of the nose, clockwise from north
        # z must turn onto `down`: about z x down
        error = (-down[1], down[0], -yaw_error)
        gains = ((140.0, 20.0), (140.0, 20.0), (9.0, 6.0))
        M = [
            J * (k * e - d * w)
            for J, (k, d), e, w in zip(self.inertia, gains, error, gyro, strict=True)
        ]
        # M_x = sum -y f, M_y = sum x f, M_z = sum spin c f (a rotor that turns counter-clockwise drags clockwise)
        l, c = 4.0 * self.arm, 4.0 * self.torque
        out = []
        for x, y, spin in ((1, 1, 1), (-1, -1, 1), (1, -1, -1), (-1, 1, -1)):
            force = thrust / 4.0 - y * M[0] / l + x * M[1] / l + spin * M[2] / c
            speed = math.sqrt(max(0.0, force) / self.per_speed2)
            out.append(max(0.0, min(1.0, (speed - self.low) / (self.high - self.low))))
        return out
