"""Estimators on board of vehicles: what their controllers believe."""
