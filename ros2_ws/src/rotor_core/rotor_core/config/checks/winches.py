"""Checks of the orders to winches against their limits."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

from rotor_core.config.attachments.cable import CableAttachment
from rotor_core.config.model import Model
from rotor_core.errors import ConfigError

ROUNDING = 1e-6
"""Share by which the slopes of a profile may miss the limit: its pairs are decimal numbers."""


class Winding(Protocol):
    """Order to a winch."""

    @property
    def cable(self) -> int:
        """Number of the cable, from 1."""
        ...

    @property
    def length_m(self) -> float | None:
        """Length to which it goes, m; None: a torque is asked for."""
        ...

    @property
    def rate_m_s(self) -> float | None:
        """Largest rate on the way, m/s; None: that of the winch."""
        ...


def check_length(cable: CableAttachment, length: float, where: str) -> None:
    """Check that a winch leaves so much of its cable, m; cables without one may have any length.

    Raises:
        ConfigError: it does not.
    """
    if cable.winch is None:
        return
    shortest, longest = cable.winch.lengths_m
    if not shortest <= length <= longest:
        raise ConfigError(
            f"{where}: must be {shortest:g} to {longest:g} (lengths_m of the winch), got {length:g}."
        )


def check_winding(model: Model, wanted: Winding, where: str) -> None:
    """The cable has a winch, and its limits allow what is wanted.

    Raises:
        ConfigError: they do not.
    """
    names = [f"{k + 1}" for k, c in enumerate(model.cables) if c.winch is not None]
    if str(wanted.cable) not in names:
        known = ", ".join(names) or "none"
        raise ConfigError(f"{where}.cable: cable {wanted.cable} has no winch. With one: {known}.")
    winch = model.cables[wanted.cable - 1].winch
    assert winch is not None
    if wanted.length_m is not None:
        check_length(model.cables[wanted.cable - 1], wanted.length_m, f"{where}.length_m")
    torque = getattr(wanted, "torque_n_m", None)
    if torque is not None and (winch.drum is None or abs(torque) > winch.drum.torque_n_m):
        limit = (
            "there is no drum"
            if winch.drum is None
            else f"at most {winch.drum.torque_n_m:g} (that of the drum)"
        )
        raise ConfigError(f"{where}.torque_n_m: {limit}, got {torque:g}.")
    profile = getattr(wanted, "profile", ())
    if len(profile) == 1:
        raise ConfigError(f"{where}.profile: needs two pairs of time and rate or more, got one.")
    for i, (a, b) in enumerate(pairwise(profile)):
        fastest, strongest = max(abs(a[1]), abs(b[1])), abs(b[1] - a[1]) / (b[0] - a[0])
        limits = winch.rate_m_s, winch.acceleration_m_s2
        if fastest > limits[0] or strongest > limits[1] * (1.0 + ROUNDING):
            raise ConfigError(
                f"{where}.profile: from pair {i + 1} to {i + 2} the rate is up to {fastest:g} m/s and changes by "
                f"{strongest:g} m/s^2; the winch allows {limits[0]:g} (rate_m_s) and {limits[1]:g} (acceleration_m_s2)."
            )
    if wanted.rate_m_s is not None and wanted.rate_m_s > winch.rate_m_s:
        raise ConfigError(
            f"{where}.rate_m_s: must be at most {winch.rate_m_s:g} (rate_m_s of the winch), got {wanted.rate_m_s:g}."
        )
