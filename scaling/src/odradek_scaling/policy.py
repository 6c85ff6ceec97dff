"""How a pool is to be scaled: what an operator chooses for each."""

from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from odradek_scaling.load import POOLS
from odradek_schemas.topics import AGENT, ENV, GATEWAY, PRODUCER, VERIFIER

NEVER_NONE = (PRODUCER, AGENT)
"""Deadlines, timers and admission are theirs: without one of them a run stands still though nothing waits for them."""


class Policy(BaseModel):
    """Of one pool. `target` is in the unit of its load: records that wait, open sessions, or calls."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    target: float = Field(gt=0, description="Load that one worker is to have.")
    min: int = Field(default=1, ge=0, description="Fewest workers.")
    max: int = Field(default=4, ge=1, description="Most workers; more than partitions would be idle.")
    grow_seconds: float = Field(
        default=3.0, ge=0, description="For so long the load must ask for more before the pool grows."
    )
    shrink_seconds: float = Field(
        default=30.0, ge=0, description="For so long the load must ask for fewer before the pool shrinks."
    )
    tolerance: float = Field(
        default=0.1,
        ge=0,
        lt=1,
        description="Share of the target by which a load may be off without a change.",
    )

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.min > self.max:
            raise ValueError(f"min is {self.min}, max is {self.max}: min must not be more")
        return self


class Policies(BaseModel):
    """Of all pools that are to be scaled; a pool that is left out stays as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pools: Mapping[str, Policy]

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        for pool, policy in self.pools.items():
            if pool not in POOLS:
                raise ValueError(f"there is no pool {pool!r}; there are {', '.join(POOLS)}")
            if pool in NEVER_NONE and policy.min == 0:
                raise ValueError(
                    f"{pool}: min must be at least 1: without it, deadlines pass unseen and runs stand still"
                )
        return self


DEFAULTS = Policies(
    pools={
        PRODUCER: Policy(target=2000, max=1),
        AGENT: Policy(target=200),
        ENV: Policy(target=50),
        VERIFIER: Policy(target=50),
        GATEWAY: Policy(target=100),
    }
)
"""For one machine. What one worker bears: docs/scaling.md."""
