"""Whole flights in one compiled call: sense, plan, control, limit, step, record."""
