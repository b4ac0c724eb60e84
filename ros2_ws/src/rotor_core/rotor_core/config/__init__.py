"""Scenarios: schema, loading, and what follows from them (teams, initial states)."""

from rotor_core.config.loader import dump_scenario, load_scenario
from rotor_core.config.schema import Scenario

__all__ = ["Scenario", "dump_scenario", "load_scenario"]
