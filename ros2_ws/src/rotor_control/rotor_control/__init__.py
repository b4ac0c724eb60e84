"""Control laws for multirotors and teams that carry payloads."""

from rotor_control.controller import make_controller

__all__ = ["make_controller"]
