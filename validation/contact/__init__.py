"""Rigid contact beside another simulator."""
