"""Converters between other APIs' messages and ours. Pure functions."""
