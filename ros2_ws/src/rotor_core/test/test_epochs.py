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
