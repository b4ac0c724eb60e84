"""Control laws for multirotors and teams that carry payloads."""
