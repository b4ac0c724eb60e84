"""Cables that run through rings, stretch and wind, against closed forms and MuJoCo's tendons."""
