"""Autopilots in the loop (software in the loop): what PX4, ArduPilot and Betaflight share."""
