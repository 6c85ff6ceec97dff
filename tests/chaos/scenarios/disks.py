"""Disks that fill, and have space again."""

from functools import partial

from odradek_schemas.rollouts import Limits
from tests.chaos.faults import FillDisk, FillDiskForGood
from tests.chaos.scenario import Expected, Ground, Load, Recovery, Scenario
from tests.chaos.scenarios.code import WORLD, row
from tests.chaos.strikes import Progress

BLOBS, LOG = "data/blobs", "data/kafka/log"
SMALL_BLOBS = Ground(WORLD.environment, "small-blobs", {BLOBS: 256})
SMALL_LOG = Ground(WORLD.environment, "small-log", {LOG: 128})

RECITING = partial(list, [row(("recite", {"kib": 400}), ("recite", {"kib": 400}))])
LARGE = Load(
    "chaos",
    "planned",
    RECITING,
    samples=16,
    concurrency=4,
    limits=Limits(rollout_seconds=600, model_seconds=300, tool_seconds=300, max_attempts=5),
)
SMALL = Load(samples=40, limits=Limits(rollout_seconds=600, model_seconds=300, tool_seconds=300))
EARLY = Progress("rewards", 2, 6)

SCENARIOS = (
    Scenario(
        "disk/blobs/while",
        "the blob store's disk",
        "any",
        "full for 4 s",
        (FillDisk(BLOBS, 4.0, EARLY),),
        load=LARGE,
        expected=Expected(repeats_each=3),
        ground=SMALL_BLOBS,
        recovery=Recovery.NONE,
    ),
    Scenario(
        "disk/blobs/long",
        "the blob store's disk",
        "any",
        "full until workers give up; then freed, and the stack started again",
        (FillDiskForGood(BLOBS, "No space left on device", EARLY),),
        load=LARGE,
        expected=Expected(repeats_each=20),
        ground=SMALL_BLOBS,
        recovery=Recovery.NONE,
        deadline_seconds=400,
    ),
    Scenario(
        "disk/log/long",
        "the broker's disk",
        "any",
        "full until workers give up; then freed, and the stack started again",
        (FillDiskForGood(LOG, "No space left on device", EARLY),),
        load=SMALL,
        expected=Expected(repeats_each=20),
        ground=SMALL_LOG,
        recovery=Recovery.NONE,
        deadline_seconds=400,
    ),
)
