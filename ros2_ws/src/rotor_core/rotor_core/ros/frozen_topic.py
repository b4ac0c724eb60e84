"""Topics whose messages have a header and keep their shape: publishers, bytes, and where the numbers go.

What nobody has subscribed to is neither filled nor sent. These topics are volatile: who comes later would not get it,
and to hand a message to the middleware costs three times as much as to ask who listens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.publisher import Publisher

from rotor_core.messages.cdr import FrozenMessage
from rotor_core.messages.layout import ENCAPSULATION

WORD = 8
"""Bytes of a number, to which messages are aligned."""


class Sender:
    """Publishes serialized messages of one topic; what rclpy itself asks each time is asked once.

    Args:
        publisher: of the topic.

    Attributes:
        send: publishes bytes.
        listeners: counts who has subscribed.
    """

    def __init__(self, publisher: Publisher) -> None:
        self.send: Callable[[bytes], None] = publisher.handle.publish_raw
        self.listeners: Callable[[], int] = publisher.handle.get_subscription_count


class FrozenTopic:
    """Publishes one message again and again with other numbers, to whoever listens.

    Args:
        publisher: of the topic.
        message: of the final shape, with all that never changes.
        paths: fields that :meth:`send` writes, in this order.
    """

    def __init__(self, publisher: Publisher, message: object, paths: Sequence[str]) -> None:
        self.sender = Sender(publisher)
        self.frozen = FrozenMessage(message)
        self._paths = paths
        self.at = self.frozen.index(*paths) if self.frozen.are_doubles(*paths) else None
        """Places of the numbers among the float64 words; None where some are of another type."""

    def send(self, stamp: Time, numbers: np.ndarray) -> None:
        """Publish ``numbers`` under ``stamp``."""
        if not self.sender.listeners():
            return
        self.frozen.put_stamp(stamp)
        if self.at is not None:
            self.frozen.doubles[self.at] = numbers
        else:
            for path, number in zip(self._paths, numbers, strict=True):
                self.frozen.put(path, float(number))
        self.sender.send(self.frozen.data())


class FrozenTopics:
    """Topics that are published together: one assignment writes the numbers of all.

    Messages with numbers of other types (the range of `sensor_msgs/Range` is a float32) are filled one by one.
    """

    def __init__(self, topics: Sequence[FrozenTopic]) -> None:
        self._senders = [topic.sender for topic in topics]
        self._others = [] if all(t.at is not None for t in topics) else list(topics)
        topics = [] if self._others else topics
        spans, at, stamps, end = [], [], [], 0
        for topic in topics:
            assert topic.at is not None
            data = topic.frozen.data()
            first = (
                end + WORD - ENCAPSULATION
            )  # so that the data behind the encapsulation is aligned
            spans.append(slice(first, first + len(data)))
            at.append(topic.at + (first + ENCAPSULATION) // WORD)
            stamps.append((first + topic.frozen.offset("header.stamp.sec")) // 4)
            end = -(-(first + len(data)) // WORD) * WORD
        self._bytes = bytearray(end)
        for span, topic in zip(spans, topics, strict=True):
            self._bytes[span] = topic.frozen.data()
        view = memoryview(self._bytes)
        self._messages = [
            (topic.sender, view[span]) for topic, span in zip(topics, spans, strict=True)
        ]
        self._doubles = np.frombuffer(self._bytes, "<f8")
        self._words = np.frombuffer(self._bytes, "<u4")
        self._at = np.concatenate(at) if at else np.zeros(0, int)
        self._seconds = np.array(stamps, int)

    def are_heard(self) -> bool:
        """True if somebody listens to one of them."""
        return any(sender.listeners() for sender in self._senders)

    def send(self, stamp: Time, numbers: np.ndarray) -> None:
        """Publish ``numbers``, a row per topic, under one stamp."""
        if self._others:
            for topic, row in zip(self._others, numbers, strict=True):
                topic.send(stamp, row)
            return
        heard = [(sender.send, data) for sender, data in self._messages if sender.listeners()]
        if not heard:
            return
        self._words[self._seconds] = stamp.sec
        self._words[self._seconds + 1] = stamp.nanosec
        self._doubles[self._at] = numbers.ravel()
        for send, data in heard:
            send(bytes(data))
