"""State of laws and sensors of other packages: saved with what they are part of, or refused."""

from __future__ import annotations

import numpy as np
import pytest

from rotor_core import registry
from rotor_core.errors import ConfigError
from rotor_core.saved.capture import Capture


class Gains:
    def __init__(self):
        self.position = 2.0


class Integral:
    """A law of somebody's, with a memory."""

    def __init__(self, **more):
        self.error = np.zeros(3)
        self.calls, self.past, self.gains = 0, [], Gains()
        self.random = np.random.default_rng(1)
        self.function = np.sin
        vars(self).update(more)

    def step(self):
        self.error += self.random.standard_normal(3)
        self.calls += 1
        self.past.append(self.calls)
        self.gains.position += 1.0
        return self.error.copy()


@pytest.fixture(autouse=True)
def guest(monkeypatch):
    monkeypatch.setattr(registry, "guests", lambda: frozenset({__name__.partition(".")[0]}))


def test_a_law_of_others_goes_on_where_it_was():
    law, other, arrays = Integral(), Integral(), {}
    law.step()
    kept = Capture("rotor_", {}).take_parts({"laws": [law]}, arrays)
    arrays = {name: array.copy() for name, array in arrays.items()}
    wanted = [law.step() for _ in range(3)]
    Capture("rotor_", {}).put_parts({"laws": [other]}, kept, arrays)
    np.testing.assert_array_equal([other.step() for _ in range(3)], wanted)
    assert (other.calls, other.past, other.gains.position) == (4, [1, 2, 3, 4], 6.0)


def test_what_nobody_can_keep_is_refused():
    with pytest.raises(ConfigError, match="Integral cannot be saved: its 'file' is of"):
        Capture("rotor_", {}).take(Integral(file=open(__file__)), {})


def test_what_adds_nothing_to_the_suite_is_no_state(monkeypatch):
    monkeypatch.setattr(registry, "guests", frozenset)
    assert Capture("rotor_", {}).take_parts({"law": Integral()}, {}) == {"law": None}
