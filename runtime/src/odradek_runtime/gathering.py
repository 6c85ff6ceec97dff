"""How long a cycle gathers before it commits (pure).

A transaction costs its three requests whatever it carries: about a millisecond of CPU here and as much at the broker.
Under load longer cycles cost less CPU and so raise the throughput; at low load they would only add latency. So the
wait grows with what the last cycle held.
"""

LEAST_SECONDS = 0.0005
MOST_SECONDS = 0.040
SECONDS_PER_RECORD = 0.001
MOST_PAUSE_SECONDS = 0.020
PAUSE_PER_RECORD = 0.0002


def gather_seconds(last_records: int) -> float:
    """The wait before the next cycle, given how many records the last one held.

    At a rate of r records a second and a commit time of c, cycles settle at r * c / (1 - r * SECONDS_PER_RECORD)
    records, and at MOST_SECONDS beyond 1,000 records a second in one partition.
    """
    return min(MOST_SECONDS, max(LEAST_SECONDS, last_records * SECONDS_PER_RECORD))


def pause_seconds(fetched_records: int) -> float:
    """The wait before the next fetch, given how many records the last one brought.

    Each commit of a writer wakes its readers' fetches: under load an eager reader asks the broker for every handful
    of records, which costs both more than the records do.
    """
    return min(MOST_PAUSE_SECONDS, fetched_records * PAUSE_PER_RECORD)
