"""Measures what Odradek's promises cost, and prints goal and measured side by side.

    python -m benchmarks            the main figures (`make bench`)
    python -m benchmarks long       100,000 rollouts, 10,000 in flight, scaling (`make bench-long`)
    python -m benchmarks NAME ...   these measurements alone

Each series of measurements is added to `benchmarks/results/history.jsonl` with commit, machine and calibration;
`latest.json` holds the last of each. The tables of docs/performance.md are then written anew.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from benchmarks import (
    audit,
    budget,
    crowd,
    endurance,
    gateway,
    inflight,
    latency,
    report,
    rescoring,
    scaling,
    scoring,
    startup,
    tables,
    throughput,
    volume,
)
from benchmarks.harness.machine import NotQuietError
from benchmarks.harness.measurement import Measurement, Options, add_options, options_from, perform
from benchmarks.harness.results import RESULTS

MAIN = tuple(
    module.MEASUREMENT
    for module in (throughput, latency, budget, inflight, gateway, scoring, rescoring, audit, startup, volume)
)
LONG = tuple(module.MEASUREMENT for module in (endurance, crowd, scaling))
BY_NAME = {measurement.name: measurement for measurement in (*MAIN, *LONG)}
SETS = {"main": MAIN, "long": LONG}


def conclude(measurements: Sequence[Measurement], options: Options) -> None:
    """Measure, print the table, and write the page's tables. Exits with 1 when something could not be measured."""
    try:
        results, problems = perform(measurements, options)
    except NotQuietError as error:
        sys.exit(str(error))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit("interrupted: everything that was started has ended")
    measured = {name: line for name, line in results.latest.items() if name in results.measured}
    print(f"\n{report.of_measurements(results.latest, results.measured)}\n\n{tables.provenance(measured)}")
    if options.results == RESULTS:
        report.write()
    if problems:
        sys.exit("not everything could be measured:\n  " + "\n  ".join(problems))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*SETS, *BY_NAME]
    parser.add_argument("names", nargs="*", metavar="NAME", default=["main"], help=", ".join(names))
    add_options(parser, minutes=60.0)
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in names]
    if unknown:
        parser.error(f"no measurement is called {', '.join(unknown)}; there are {', '.join(names)}")
    chosen = [m for name in given.names for m in (SETS[name] if name in SETS else (BY_NAME[name],))]
    conclude(chosen, options_from(given))


if __name__ == "__main__":
    main()
