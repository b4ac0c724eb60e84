"""States that count for a node."""

from rotor_core.ros.epochs import RESTART, Epochs


def heard(epochs, *sequence):
    """Feed states; which were taken."""
    out = []
    for epoch in sequence:
        out.append(epochs.admits(epoch))
        if out[-1] and epoch != epochs.now:
            epochs.begin(epoch)
    return out


def test_older_states_are_void():
    epochs = Epochs()
    assert heard(epochs, 0, 0, 1, 0, 1, 1) == [True, True, True, False, True, True]
    assert epochs.now == 1


def test_a_simulator_that_is_started_anew_is_followed():
    """Nothing of the present epoch comes any more: what comes instead counts."""
    epochs = Epochs()
    assert heard(epochs, 7, *[0] * RESTART) == [True, *[False] * (RESTART - 1), True]
    assert epochs.now == 0 and heard(epochs, 0, 1) == [True, True]


def test_states_of_the_present_epoch_keep_it():
    epochs = Epochs()
    heard(epochs, 2)
    for _ in range(3):
        assert not any(heard(epochs, *[1] * (RESTART - 1)))
        assert heard(epochs, 2) == [True]


def test_an_earlier_step_of_the_present_epoch_starts_it_again():
    """A simulator begins at epoch 0, and so does the next one; states that are shown twice start nothing."""
    epochs = Epochs()
    assert epochs.starts(0, 0)
    epochs.begin(0)
    assert [epochs.starts(0, step) for step in (0, 0, 1, 2, 2, 0, 1)] == [
        False, False, False, False, False, True, False,
    ]  # fmt: skip
    assert epochs.starts(1, 500)
    epochs.begin(1)
    assert not epochs.starts(1, 501)
