"""Control laws for multirotors, helicopters, arms and teams that carry payloads."""
