"""ArduPilot as counterpart."""
