"""Tables of scores for property tests."""

from hypothesis import settings
from hypothesis import strategies as st

patient = settings(max_examples=60, deadline=None)
"""No timing decides a test."""

UNIT = st.floats(0, 1)
BITS = st.sampled_from([0.0, 1.0])


def tables(values=BITS, tasks=6, samples=5, least=1):
    """By task, the same number of samples each; any of them may be None."""
    rows = st.integers(1, samples).flatmap(
        lambda n: st.lists(
            st.lists(st.none() | values, min_size=n, max_size=n), min_size=least, max_size=tasks
        )
    )
    return rows.map(lambda found: {str(task): row for task, row in enumerate(found)})
