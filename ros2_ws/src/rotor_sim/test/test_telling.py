"""What the simulator says in its log."""

from types import SimpleNamespace

import rclpy.logging

from rotor_sim.judging.verdict import Verdict
from rotor_sim.ros.session import Session


def test_a_verdict_may_turn_bad_after_a_good_one(capfd):
    """And good again, after a reset: rclpy wants one severity for each line of code."""
    session = SimpleNamespace(_logger=rclpy.logging.get_logger("simulator"))
    for verdict in (
        Verdict("flown"),
        Verdict("lost", "quad1 hit the ground", 2.0),
        Verdict("landed"),
    ):
        session._verdict = SimpleNamespace(now=verdict)
        Session._tell_verdict(session)
    text = capfd.readouterr()
    assert (text.out + text.err).count("verdict: ") == 3
