"""The real workers and the real client over Kafka's rules in memory: exactly once under every interleaving tried.

`make test` tries the same few hundred each time; `make fuzz` some thousands, new ones each time.
"""

import os

import pytest
from fuzz_machine import Fuzz, storm
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))
"""Of each kind of processor; 0: the fixed selection."""
STORMS = EXAMPLES // 2 or 10
SEED = int(os.environ.get("FUZZ_SEED", "0"))

KINDS = pytest.mark.parametrize("kind", ["journal", "table", "loose", "ordered"])
CHOICE = settings(
    max_examples=EXAMPLES or 28,
    derandomize=not EXAMPLES,
    phases=tuple(Phase) if EXAMPLES else (Phase.generate,),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    report_multiple_bugs=False,
    database=None,
)

pytestmark = pytest.mark.timeout(0 if EXAMPLES else 300)


@KINDS
def test_whatever_goes_wrong_every_input_is_accounted_for_exactly_once(kind: str) -> None:
    run_state_machine_as_test(type("Fuzz", (Fuzz,), {"kind": kind}), settings=CHOICE)


@KINDS
def test_under_load_too(kind: str) -> None:
    for seed in range(SEED, SEED + STORMS):
        try:
            storm(type("Fuzz", (Fuzz,), {"kind": kind})(), seed)
        except BaseException as error:
            error.add_note(f"storm {seed} of {kind}")
            raise
