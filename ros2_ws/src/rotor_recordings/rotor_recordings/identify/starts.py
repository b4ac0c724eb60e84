"""First states of windows: unknowns of the fit, held near what was told as far as that is known.

A state is measured with noise, and a prediction that begins there misses by what the noise grows to. Parameters that
are fitted to such predictions are pulled one way (errors in variables). With the first states as unknowns, each with
a residual of its own, they are not (Fuller 1987, *Measurement Error Models*). They enter a window nearly linearly, so
that the best ones are eliminated from its residuals, and found afterwards.
"""

from __future__ import annotations

import numpy as np

from rotor_core.config.schema import Scenario
from rotor_recordings.identify.slopes import start_slopes
from rotor_recordings.identify.windows import Windows

FINEST = 1e-6
"""Noise of told positions, at least, m."""


class Starts:
    """Residuals of windows with their first states eliminated, about the first states as they are.

    With residuals r, their slopes J with changes d of the first states, and noise of positions and changes as their
    units, those of one window are r - J d + J d' + n with unknown d' and n of unit variance: what is left after the
    best d' is (1 + J J^T)^-1/2 (r - J d).

    Args:
        windows: with their changes.
        scenario, latency: about which they are flown.
        like: of the same windows flown almost so, whose slopes are near enough.
    """

    def __init__(
        self, windows: Windows, scenario: Scenario, latency: float, like: Starts | None = None
    ) -> None:
        self.windows = windows
        count, points = len(windows.rows), len(windows.checks)
        noise = np.maximum(windows.noise[:, :3], FINEST)
        self.unit = float(np.sqrt(np.mean(noise**2)))
        self._units = np.tile(noise.ravel(), points)
        if like is not None:
            self._J = like._J
        else:
            slopes = start_slopes(windows, scenario, latency).reshape(count, len(self._units), -1)
            self._J = slopes * windows.noise.ravel() / self._units[:, None]
        known = np.where(windows.noise > 0.0, windows.noise, 1.0)
        self._d = (windows.changes / known).reshape(count, -1)
        self._U, sizes, _ = np.linalg.svd(self._J, full_matrices=False)
        self._shrinks = 1.0 / np.sqrt(1.0 + sizes**2) - 1.0

    def residuals(self, missed: np.ndarray) -> np.ndarray:
        """Of all windows, of unit variance, (R,).

        Args:
            missed: recorded minus predicted positions, (W, POINTS, n, 3) m.
        """
        r = self._over_units(missed) - np.einsum("wri,wi->wr", self._J, self._d)
        return self._whitened(r[..., None]).ravel()

    def slopes(self, slopes: np.ndarray) -> np.ndarray:
        """Of the residuals with parameters, (R, P), from those of what is missed, (W, POINTS, n, 3, P)."""
        wide = slopes.reshape(*self._J.shape[:2], -1) / self._units[:, None]
        return self._whitened(wide).reshape(-1, slopes.shape[-1])

    def best(self, missed: np.ndarray) -> np.ndarray:
        """Changes of the first states that go best with what is missed, (W, n, 12)."""
        J, r = self._J, self._over_units(missed)
        normal = np.eye(J.shape[2]) + J.transpose(0, 2, 1) @ J
        pull = np.einsum("wri,wr->wi", J, r) + self._d
        d = self._d - np.linalg.solve(normal, pull[..., None])[..., 0]
        return d.reshape(self.windows.changes.shape) * self.windows.noise

    def _over_units(self, missed: np.ndarray) -> np.ndarray:
        return missed.reshape(self._J.shape[:2]) / self._units

    def _whitened(self, columns: np.ndarray) -> np.ndarray:
        """(1 + J J^T)^-1/2 times columns, (W, R, c): 1 but in the directions of J."""
        along = self._U.transpose(0, 2, 1) @ columns
        return columns + self._U @ (self._shrinks[..., None] * along)
