"""Load on the model gateway, each generator a process of its own: its CPU is not the gateway's."""
