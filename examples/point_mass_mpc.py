"""Nonlinear model predictive control of a point mass on a cable: the optimisation, without ROS. Needs CasADi.

The vehicle is a force that follows its command with the lag of the attitude loop; the load follows the
closed form of the taut cable (RotorTM eqs 10, 11).
"""

import casadi as ca
import numpy as np

G, MASS, LOAD, LENGTH = 9.81, 0.25, 0.07, 0.5
LAG = 0.1  # of the attitude loop, s
STEPS, DT = 20, 0.05  # horizon of one second
PERIOD = 0.02  # between two optimisations, s
TRACK, SPEED, SWING, EFFORT = 40.0, 4.0, 0.2, 0.05  # weights
SIDEWAYS, LIFT = 1.5, (1.0, 4.2)  # limits of the force, N


def motion(z, w):
    """Slope of load position, load velocity, cable direction, its rate, and the force that acts."""
    xi, omega, u = z[6:9], z[9:12], z[12:15]
    pull = (ca.dot(xi, u) - MASS * LENGTH * ca.dot(omega, omega)) / (MASS + LOAD)
    return ca.vertcat(
        z[3:6],
        pull * xi - ca.vertcat(0, 0, G),
        ca.cross(omega, xi),
        -ca.cross(xi, u) / (MASS * LENGTH),
        (w - u) / LAG,
    )


class Optimiser:
    """Solve it from where the last solution ended: a few iterations of an interior-point method."""

    def __init__(self):
        self.opti = opti = ca.Opti()
        z, w = [], []
        for _ in range(STEPS):  # in the order of time, which the solver makes use of
            z.append(opti.variable(15))
            w.append(opti.variable(3))
        z.append(opti.variable(15))
        self.start, self.wanted = opti.parameter(15), opti.parameter(6, STEPS + 1)
        opti.subject_to(z[0] == self.start)
        for k in range(STEPS):
            k1 = motion(z[k], w[k])
            k2 = motion(z[k] + DT / 2 * k1, w[k])
            k3 = motion(z[k] + DT / 2 * k2, w[k])
            k4 = motion(z[k] + DT * k3, w[k])
            opti.subject_to(z[k + 1] == z[k] + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
            opti.subject_to(opti.bounded(-SIDEWAYS, w[k][:2], SIDEWAYS))
            opti.subject_to(opti.bounded(LIFT[0], w[k][2], LIFT[1]))
        weight, cost = ca.vertcat(0, 0, (MASS + LOAD) * G), 0
        for k in range(STEPS + 1):
            e = z[k][:6] - self.wanted[:, k]
            cost += TRACK * ca.sumsqr(e[:3]) + SPEED * ca.sumsqr(e[3:])
            cost += SWING * ca.sumsqr(z[k][9:12])
            if k < STEPS:
                cost += EFFORT * ca.sumsqr(w[k] - weight)
        opti.minimize(cost)
        options = {"structure_detection": "auto", "expand": True, "print_time": False}
        opti.solver("fatrop", options, {"print_level": 0, "tol": 1e-4, "max_iter": 30})
        self.w = w
        self.reset()

    def reset(self):
        self.asked = self.force = np.array([0.0, 0.0, (MASS + LOAD) * G])

    def __call__(self, start, wanted):
        """Force in W (3,) N from load, cable and wanted positions and velocities, (STEPS + 1, 6)."""
        opti = self.opti
        opti.set_value(self.start, np.append(start, self.force))
        opti.set_value(self.wanted, np.asarray(wanted).T)
        try:
            solution = opti.solve()
            opti.set_initial(solution.value_variables())
            self.asked = solution.value(self.w[0])
        except RuntimeError:
            pass  # no solution: what was asked before
        self.force = self.force + (self.asked - self.force) * (1.0 - np.exp(-PERIOD / LAG))
        return self.asked
