"""The load exporter, put together."""


def main() -> None:
    """Serve the pools' loads until told to stop."""
    raise SystemExit("odradek-load-exporter: not there yet")
