"""Joints that a reach moves, and how far."""

from dataclasses import replace

import numpy as np

from rotor_core.config.loader import load_vehicle
from rotor_core.config.vehicles.arm import Link, RevoluteJoint
from rotor_planning.arms.inverse_kinematics import InverseKinematics

HAND = np.array([0.44, 0.0, 0.0])


def test_a_reach_leaves_other_arms_alone():
    vehicle = load_vehicle("kremer_v2")
    other = RevoluteJoint("other", "base_link", "other_link", axis=(0.0, 0.0, 1.0), initial_rad=0.3)
    both = replace(
        vehicle,
        links=(*vehicle.links, Link("other_link", 0.1, inertia_kg_m2=(1e-3, 1e-3, 1e-3))),
        joints=(*vehicle.joints, other),
    )
    reach = InverseKinematics(both, "link2", HAND)
    random = np.random.default_rng(0)
    for _ in range(100):
        posture = np.array([*random.uniform(-np.pi, np.pi, 2), 0.3])
        found = reach.joints(reach.place(posture).copy(), np.array([0.5, -0.5, 0.3]))
        assert found[2] == 0.3


def test_a_joint_without_stops_does_not_turn_back():
    """It may have turned more than once: staying put moves nothing."""
    reach = InverseKinematics(load_vehicle("kremer_v2"), "link2", HAND)
    start = np.array([4.2, -0.7])
    np.testing.assert_array_equal(reach.joints(reach.place(start).copy(), start), start)
