"""The fuzz can fail: each known way to break the runtime is found, within so many storms. Run by `make fuzz`."""

import pytest
from fuzz_machine import Fuzz, storm
from fuzz_mutations import MUTATIONS
from fuzz_verdict import Violation
from test_fuzz import EXAMPLES
from virtual_time import Stuck

MOST_STORMS = 300

CASES = [(name, kind) for name, mutation in MUTATIONS.items() for kind in mutation.kinds]
SAMPLE = [("offsets_without_outputs", "loose")]
"""What `make test` tries, to know that the fuzz is awake."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "kind"), CASES if EXAMPLES else SAMPLE)
def test_a_broken_runtime_is_found(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTATIONS[name].apply(monkeypatch.setattr)
    for seed in range(MOST_STORMS):
        try:
            storm(type("Fuzz", (Fuzz,), {"kind": kind})(), seed)
        except (Violation, Stuck):
            return
    pytest.fail(f"{MOST_STORMS} storms did not show that {MUTATIONS[name].what}")
