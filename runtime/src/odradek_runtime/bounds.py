"""Bounds of settings. Nothing is imported here: the local stack reads its settings before its broker starts."""

MOST_PORT = 65535

MOST_PARTITIONS = 1024
"""Of each topic. A broker bears some 4,000 replicas of all topics; one 0 too many could never be taken back."""
