"""The agent-worker: feeds results to harness coroutines and sends the requests they make."""
