"""A topic whose message has a header and keeps its shape: a publisher, its bytes, and where the numbers go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.publisher import Publisher

from rotor_core.messages.cdr import FrozenMessage


class FrozenTopic:
    """Publishes one message again and again with other numbers.

    Args:
        publisher: of the topic.
        message: of the final shape, with all that never changes.
        paths: fields that :meth:`send` writes, in this order.
    """

    def __init__(self, publisher: Publisher, message: object, paths: Sequence[str]) -> None:
        self._publisher = publisher
        self._frozen = FrozenMessage(message)
        self._paths = paths
        self._at = self._frozen.index(*paths) if self._frozen.are_doubles(*paths) else None

    def send(self, stamp: Time, numbers: np.ndarray) -> None:
        """Publish ``numbers`` under ``stamp``."""
        self._frozen.put_stamp(stamp)
        if self._at is not None:
            self._frozen.doubles[self._at] = numbers
        else:
            for path, number in zip(self._paths, numbers, strict=True):
                self._frozen.put(path, float(number))
        self._publisher.publish(self._frozen.data())
