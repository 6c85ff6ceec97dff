"""What Odradek's promises cost, measured: `python -m benchmarks --help`; docs/performance.md shows the results."""
