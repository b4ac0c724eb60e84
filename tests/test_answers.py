"""Answers of services whose client cannot hear yet are sent again until it does."""

import time
import warnings

import graph
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from rotor_core.ros import answers


class Deaf:
    """A service whose client hears from the n-th attempt on."""

    srv_name = "/x"

    def __init__(self, hears_at):
        self.sent, self._hears_at = [], hears_at

    def send_response(self, response, header):
        self.sent.append((response, header))
        if len(self.sent) < self._hears_at:
            warnings.warn("failed to send response (timeout): client will not receive response", RuntimeWarning, stacklevel=1)  # fmt: skip


@pytest.mark.parametrize(("hears_at", "attempts"), [(1, 1), (2, 2), (4, 4), (1000, 6)])
def test_an_answer_is_sent_until_it_is_heard(tmp_path, monkeypatch, hears_at, attempts):
    """Once where it is heard at once; and not for ever."""
    monkeypatch.setattr(answers, "EVERY", 0.05)
    monkeypatch.setattr(answers, "ATTEMPTS", 5)
    with graph.bench(tmp_path) as bench:
        service = answers.answer_surely(bench.node, Deaf(hears_at))
        service.send_response("answer", "to whom")
        end = time.monotonic() + 10.0
        while len(service.sent) < attempts and time.monotonic() < end:
            bench.spin(0.05)
        bench.spin(0.3)
    assert service.sent == [("answer", "to whom")] * attempts


def test_an_answer_of_a_service_that_is_gone_is_dropped(tmp_path):
    """Who asked a service that was taken down in the meantime hears nothing; the node lives on."""
    from std_srvs.srv import Trigger

    with graph.bench(tmp_path) as bench:
        service = answers.answer_surely(bench.node, bench.node.create_service(Trigger, "x", print))
        bench.node.destroy_service(service)
        service.send_response(Trigger.Response(), None)
        bench.node.create_service(Trigger, "y", lambda _, response: response)
        assert bench.call(Trigger, "/y", Trigger.Request()) is not None


def test_what_rclpy_warns_of_is_what_is_looked_for():
    """The text of the warning, in the library that gives it."""
    from rclpy.impl.implementation_singleton import rclpy_implementation

    with open(rclpy_implementation.__file__, "rb") as file:
        assert answers.LOST.encode() in file.read()
