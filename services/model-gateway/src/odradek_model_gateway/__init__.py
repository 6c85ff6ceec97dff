"""The model gateway: every question for a model goes through it."""
