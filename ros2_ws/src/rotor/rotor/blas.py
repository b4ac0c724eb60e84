"""Number of threads of the linear algebra of NumPy and SciPy."""

from __future__ import annotations

from collections.abc import MutableMapping

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def take_one_thread(env: MutableMapping[str, str]) -> None:
    """Let it take one, unless the user says otherwise; before NumPy is imported.

    Matrices are small here: threads wait for each other longer than they work, and take the cores of other processes.
    """
    for name in VARIABLES:
        env.setdefault(name, "1")
