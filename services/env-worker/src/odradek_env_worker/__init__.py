"""The env-worker: tool actions in, observations out."""
