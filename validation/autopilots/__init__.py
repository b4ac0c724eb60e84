"""Scripted autopilots, written from the published protocols: what tests and benchmarks fly against."""
