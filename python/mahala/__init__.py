"""Metric learning in closed form."""
