"""Betaflight as counterpart."""
