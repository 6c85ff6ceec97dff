"""What a sampled stack was busy with: the innermost frame that says so decides (pure)."""

from collections import Counter
from collections.abc import Iterable, Mapping

CODEC = "JSON and codec"
KAFKA = "Kafka client"
TRANSACTIONS = "transactions"
HTTP = "HTTP to the model"
SEALING = "sealed answers"
ENGINE = "engine, journal and other work of its own"
USER_CODE = "environment, harness and verifier"
RUNTIME = "worker runtime"
PROBES = "metrics and probes"
LOOP = "event loop"
OTHER = "other"

CAUSES = (CODEC, KAFKA, TRANSACTIONS, HTTP, SEALING, ENGINE, USER_CODE, RUNTIME, PROBES, LOOP, OTHER)

_TRANSACTION_FUNCTIONS = ("txn", "transaction")
_PATHS: tuple[tuple[str, str], ...] = (
    ("odradek_schemas/", CODEC),
    ("pydantic", CODEC),
    ("orjson", CODEC),
    ("json/", CODEC),
    ("pickle", CODEC),
    ("odradek_runtime/intake", CODEC),
    ("odradek_scoring/exchange", CODEC),
    ("transaction_manager", TRANSACTIONS),
    ("odradek_runtime/committer", TRANSACTIONS),
    ("aiokafka/", KAFKA),
    ("odradek_runtime/membership", KAFKA),
    ("kafka/", KAFKA),
    ("aiohttp/", HTTP),
    ("yarl/", HTTP),
    ("multidict/", HTTP),
    ("odradek_model_gateway/", HTTP),
    ("nacl/", SEALING),
    ("sealing", SEALING),
    ("odradek_mcqa", USER_CODE),
    ("odradek_example", USER_CODE),
    ("odradek/harness", USER_CODE),
    ("odradek/environment", USER_CODE),
    ("odradek/engine", ENGINE),
    ("odradek/sessions", ENGINE),
    ("odradek_agent_worker/", ENGINE),
    ("odradek_env_worker/", ENGINE),
    ("odradek_task_producer/", ENGINE),
    ("odradek_scoring/", ENGINE),
    ("odradek_verifier_worker/", ENGINE),
    ("prometheus_client/", PROBES),
    ("uvicorn/", PROBES),
    ("faststream/", PROBES),
    ("structlog/", PROBES),
    ("odradek_runtime/", RUNTIME),
    ("odradek/", ENGINE),
)
_LOOP_PATHS = ("asyncio/", "uvloop/", "selectors.py", "concurrent/futures")

_BROKER: tuple[tuple[str, str], ...] = (
    ("request-handler", "broker: requests"),
    ("network-thread", "broker: network"),
    ("compiler", "broker: compiling itself"),
    ("vm thread", "broker: garbage collection"),
    ("gc", "broker: garbage collection"),
    ("txn", "broker: transactions"),
    ("transaction", "broker: transactions"),
    ("group-coordinator", "broker: groups"),
    ("raft", "broker: controller"),
    ("quorum", "broker: controller"),
    ("controller", "broker: controller"),
    ("metadata", "broker: controller"),
    ("cleaner", "broker: log cleaner"),
)
BROKER_OTHER = "broker: other"


Stacks = list[tuple[list[str], int]]
"""Different stacks, each with its frames `function (path:line)`, the innermost last, and how often it was seen."""


def cause_of(stack: list[str]) -> str:
    """The cause of one sample: `stack` is its frames `function (path:line)`, the innermost last."""
    turn = _turn_of_the_loop(stack)
    for frame in reversed(turn):
        function, _, place = frame.rpartition(" (")
        if "aiokafka/producer" in place and any(word in function for word in _TRANSACTION_FUNCTIONS):
            return TRANSACTIONS
        for part, cause in _PATHS:
            if part in place:
                return cause
    return (
        LOOP if turn is not stack or any(part in frame for frame in turn for part in _LOOP_PATHS) else OTHER
    )


def _turn_of_the_loop(stack: list[str]) -> list[str]:
    """The frames that an event loop has called: those below are the same whatever it does."""
    ran = [at for at, frame in enumerate(stack) if frame.startswith("Runner.run (")]
    return stack[ran[-1] + 1 :] if ran else stack


def broker_cause(thread: str) -> str:
    """What a thread of the broker is for, by its name."""
    return next((cause for part, cause in _BROKER if part in thread.lower()), BROKER_OTHER)


def read_raw(lines: Iterable[str]) -> Stacks:
    """Stacks as the sampler writes them: frames from the outermost, separated by semicolons, then the count."""
    parsed = (line.rstrip("\n").rpartition(" ") for line in lines if line.strip())
    return [(frames.split(";"), int(count)) for frames, _, count in parsed]


def shares(counts: Mapping[str, float]) -> dict[str, float]:
    """Each count as a share of all."""
    total = sum(counts.values())
    return {name: count / total for name, count in counts.items()} if total else {}


def by_cause(stacks: Stacks) -> Counter[str]:
    """Samples by cause."""
    found: Counter[str] = Counter()
    for frames, count in stacks:
        found[cause_of(frames)] += count
    return found


def by_function(stacks: Stacks) -> Counter[str]:
    """Samples by the innermost frame."""
    found: Counter[str] = Counter()
    for frames, count in stacks:
        found[frames[-1]] += count
    return found
