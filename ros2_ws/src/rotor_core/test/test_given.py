"""Numbers of users are taken as they are, or refused with their place."""

import numpy as np
import pytest

from rotor_core.errors import ContractError
from rotor_core.given import increasing, numbers


@pytest.mark.parametrize(
    "value, shape",
    [(1, ()), (np.float32(0.5), ()), ([1, 2, 3], (3,)), ([[1, 2]], (None, 2)), (np.zeros((0, 3)), (None, 3))],
)  # fmt: skip
def test_what_fits_is_taken(value, shape):
    array = numbers("there", value, *shape)
    assert array.dtype == float and array.shape == np.shape(value)
    np.testing.assert_array_equal(array, np.asarray(value))


@pytest.mark.parametrize(
    "value, shape, words",
    [
        ([1, 2], (3,), r"there: must have the shape \(3,\), got \(2,\)"),
        (1.0, (3,), r"there: must have the shape \(3,\), got \(\)"),
        ([[1, 2, 3]], (3,), r"there: must have the shape \(3,\), got \(1, 3\)"),
        ([[1, 2]], (None, 3), r"there: must have the shape \(n, 3\), got \(1, 2\)"),
        ([[1, 2, 3], [1, np.inf, 3]], (None, 3), r"there\[1\]\[1\]: must be finite, got inf"),
        (np.nan, (), "there: must be finite, got nan"),
        ("up", (), "there: must be numbers, got 'up'"),
        ([[1, 2], [3]], (None, 2), "there: must be numbers"),
        (None, (), "there: must be finite, got nan"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(value, shape, words):
    with pytest.raises(ContractError, match=words):
        numbers("there", value, *shape)


def test_times_increase():
    np.testing.assert_array_equal(increasing("times", [0, 1, 3]), [0.0, 1.0, 3.0])
    with pytest.raises(ContractError, match=r"times\[2\]: times must increase, got 1 s after 1 s"):
        increasing("times", [0, 1, 1])
    with pytest.raises(ContractError, match=r"times\[1\]: must be finite"):
        increasing("times", [0, np.nan, 1])
