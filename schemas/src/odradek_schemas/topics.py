"""The topic table: what each topic carries, how it is keyed and kept, who writes and who reads it.

Topics are declared by their logical name; a deployment puts its prefix in front. All but `control` have the same
number of partitions, so that partition *p* of each carries the same rollouts.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from odradek_schemas import events as e


class Kept(StrEnum):
    """How long records stay. `days` and `long` are bounds after every reader is done with them."""

    DAYS = "days"
    LONG = "long"
    COMPACTED = "compacted"


@dataclass(frozen=True)
class Topic:
    """One topic. `key` says in words what its records are keyed by; `single` topics have one partition."""

    name: str
    events: tuple[type[e.Event], ...]
    key: str
    kept: Kept
    written_by: tuple[str, ...]
    read_by: tuple[str, ...]
    purpose: str
    single: bool = False

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """Reads any event of this topic from JSON."""
        if len(self.events) == 1:
            return TypeAdapter(self.events[0])
        union: Any = self.events[0]
        for event in self.events[1:]:
            union = union | event
        return TypeAdapter(Annotated[union, Field(discriminator="type")])

    @cached_property
    def types(self) -> frozenset[str]:
        return frozenset(event.model_fields["type"].default for event in self.events)

    @property
    def purged(self) -> bool:
        """Whether workers read it and the purger shortens it (the broker must not)."""
        return self.kept is Kept.DAYS

    @property
    def retention(self) -> str:
        """How long the blobs that its records refer to are kept: `days` or `long`."""
        return "days" if self.kept is Kept.DAYS else "long"


PRODUCER, AGENT, ENV, VERIFIER, GATEWAY = (
    "task-producer",
    "agent-worker",
    "env-worker",
    "verifier-worker",
    "model-gateway",
)
WORKERS = (PRODUCER, AGENT, ENV, VERIFIER, GATEWAY)

RUNS = Topic(
    "runs",
    (e.RunRequested, e.RunImported, e.RunCancelRequested, e.RunDemandRaised, e.RunFinished),
    "run id",
    Kept.LONG,
    ("cli", "trainers", PRODUCER),
    (PRODUCER, "trainers", "cli"),
    "What is asked of runs, and how they ended.",
)
RUN_PROGRESS = Topic(
    "run-progress",
    (e.RunCountChanged, e.RunCountReleased, e.RunProgressed),
    "run id",
    Kept.DAYS,
    (PRODUCER,),
    (PRODUCER, "cli"),
    "How far each run is: counts from each partition to the run's owner, and their sums.",
)
LEDGER = Topic(
    "ledger",
    (e.RunPlanRecorded, e.RunCountRecorded, e.RunSumRecorded),
    "run id/plan, run id/count, run id/sum/partition",
    Kept.COMPACTED,
    (PRODUCER,),
    (PRODUCER,),
    "The task-producer's changelog.",
)
CONTROL = Topic(
    "control",
    (e.RunCancelled, e.PolicyUpdated, e.PartitionsAdded),
    "run id, the model's name, or `partitions`",
    Kept.COMPACTED,
    (PRODUCER, "trainers", "cli"),
    (*WORKERS, "trainers", "cli"),
    "What every worker must know, read from the start.",
    single=True,
)
TASKS = Topic(
    "tasks",
    (e.RolloutRequested,),
    "rollout id",
    Kept.DAYS,
    (PRODUCER,),
    (AGENT,),
    "The rollouts to play.",
)
MODEL_CALLS = Topic(
    "model-calls",
    (e.ModelCallRequested,),
    "rollout id",
    Kept.DAYS,
    (AGENT, VERIFIER),
    (GATEWAY,),
    "Questions for models.",
)
MODEL_RESULTS = Topic(
    "model-results",
    (e.ModelCallCompleted, e.ModelCallFailed, e.ProgramFinished, e.ProgramFailed),
    "rollout id",
    Kept.DAYS,
    (GATEWAY, ENV),
    (AGENT,),
    "The models' answers, and the ends of the programs that asked, behind them.",
)
JUDGE_RESULTS = Topic(
    "judge-results",
    (e.ModelCallCompleted, e.ModelCallFailed),
    "rollout id",
    Kept.DAYS,
    (GATEWAY,),
    (VERIFIER,),
    "The models' answers to verifiers: agents' and judges' results don't hold each other up.",
)
JUDGING = Topic(
    "judging",
    (e.JudgingChanged,),
    "scoring of a rollout",
    Kept.COMPACTED,
    (VERIFIER,),
    (VERIFIER,),
    "Scorings that wait for judges: the verifier-worker's changelog.",
)
MODEL_ACCESS = Topic(
    "model-access",
    (e.ModelAccessEnded,),
    "rollout id",
    Kept.LONG,
    (AGENT,),
    (GATEWAY,),
    "Which attempts' tokens count for nothing any more.",
)
TOOL_ACTIONS = Topic(
    "tool-actions",
    (e.SessionRequested, e.ToolCallRequested, e.ProgramRequested, e.SessionCloseRequested),
    "rollout id",
    Kept.DAYS,
    (AGENT,),
    (ENV,),
    "What agents want done in their worlds.",
)
OBSERVATIONS = Topic(
    "observations",
    (e.SessionReady, e.ToolCallCompleted, e.ToolCallFailed, e.SessionClosed, e.SessionFailed),
    "rollout id",
    Kept.DAYS,
    (ENV,),
    (AGENT,),
    "What the worlds answered.",
)
JOURNAL = Topic(
    "journal",
    (e.JournalAppended, e.RolloutSnapshot, e.RolloutEnded, e.HarnessStuck),
    "rollout id",
    Kept.DAYS,
    (AGENT,),
    (AGENT, "cli"),
    "What each rollout has accepted, in order: the agent-worker's changelog and the live view.",
)
SESSIONS = Topic(
    "sessions",
    (e.SessionStateChanged,),
    "session id",
    Kept.COMPACTED,
    (ENV,),
    (ENV,),
    "The state of open sessions: the env-worker's changelog.",
)
TRAJECTORIES = Topic(
    "trajectories",
    (e.TrajectoryFinished,),
    "rollout id",
    Kept.LONG,
    (AGENT, "imports"),
    (VERIFIER, "replays", "exports"),
    "One self-contained record per rollout.",
)
REWARDS = Topic(
    "rewards",
    (e.RewardAssigned,),
    "rollout id",
    Kept.LONG,
    (VERIFIER, "imports"),
    (PRODUCER, "trainers", "cli"),
    "One reward per rollout and scoring.",
)
RESCORES = Topic(
    "rescores",
    (e.RescoreRequested, e.RescoreFinished),
    "re-score id",
    Kept.LONG,
    ("cli", VERIFIER),
    (VERIFIER, "cli"),
    "Which trajectories are to be scored again, piece by piece.",
)
DEAD_LETTERS = Topic(
    "dead-letters",
    (e.RecordRejected,),
    "the record's coordinates",
    Kept.LONG,
    WORKERS,
    ("cli",),
    "Records that could not be read, with the reason.",
)


def positions_topic(worker: str) -> str:
    """Where `worker` keeps how far it has read. One topic each: a transaction of another worker hides nothing there."""
    return f"{worker}-positions"


POSITIONS = tuple(
    Topic(
        positions_topic(worker),
        (e.PositionsCommitted,),
        "worker",
        Kept.COMPACTED,
        (worker,),
        (worker,),
        f"How far the {worker} has read each of its inputs.",
    )
    for worker in WORKERS
)

TOPICS = (
    RUNS,
    RUN_PROGRESS,
    LEDGER,
    CONTROL,
    TASKS,
    MODEL_CALLS,
    MODEL_RESULTS,
    JUDGE_RESULTS,
    JUDGING,
    MODEL_ACCESS,
    TOOL_ACTIONS,
    OBSERVATIONS,
    JOURNAL,
    SESSIONS,
    TRAJECTORIES,
    REWARDS,
    RESCORES,
    DEAD_LETTERS,
    *POSITIONS,
)

BY_NAME = {topic.name: topic for topic in TOPICS}
