"""The verifier-worker: finished rollouts in, rewards out."""
