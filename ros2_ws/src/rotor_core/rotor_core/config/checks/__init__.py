"""Checks of what spans several parts of a scenario: names that point to other parts, and missions that can be flown."""
