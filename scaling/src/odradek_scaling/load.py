"""The load of a pool: one measurement, whoever scales by it."""

from pydantic import BaseModel, ConfigDict, Field

from odradek_schemas.topics import WORKERS

POOLS: tuple[str, ...] = WORKERS
"""The five kinds of worker, by name."""


class LoadUnknownError(Exception):
    """A pool's load can't be told now; the message says why. No number is better than a wrong one: nobody shrinks."""


class PoolLoad(BaseModel):
    """What a pool has to do, at one moment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pool: str = Field(description="The pool's name, such as `env-worker`.")
    backlog: int = Field(ge=0, description="Records on its inputs that no worker has finished.")
    in_flight: int = Field(
        ge=0,
        description="What is worked on or held open: sessions (env-worker), rollouts (agent-worker), calls at "
        "upstreams (model-gateway), records (the others).",
    )
    load: int = Field(ge=0, description="What autoscalers divide by the target per worker.")
    members: int = Field(ge=0, description="Workers that live in its group.")
