"""What a client of `GET /v1/rewards/stream` may ask for."""

from collections.abc import Iterable
from typing import Any, Self

from pydantic import Field, ValidationError

from odradek_schemas.base import Model
from odradek_schemas.codec import explain
from odradek_schemas.events.results import PRIMARY_SCORING
from odradek_training.settings import IDLE_SECONDS


class StreamQuery(Model):
    """The parameters of `RewardStream`, as text; `run` may be given several times."""

    run: list[str] = Field(default_factory=list)
    environment: str | None = None
    model: str | None = None
    group_size: int | None = None
    incomplete: str = "drop"
    group_deadline: float | None = None
    max_staleness: int | None = None
    include_masked: bool = False
    scoring: str = PRIMARY_SCORING
    rank: int = 0
    ranks: int = 1
    ahead: int | None = None
    idle_timeout: float = IDLE_SECONDS
    last_event_id: str | None = None

    @classmethod
    def read(cls, parameters: Iterable[tuple[str, str]]) -> Self:
        """The query of some parameters.

        Raises:
            ValueError: one is unknown, given twice, or no such value.
        """
        found: dict[str, Any] = {}
        for name, value in parameters:
            if name == "run":
                found.setdefault("run", []).append(value)
            elif name in found:
                raise ValueError(f"{name}: given twice")
            else:
                found[name] = value
        try:
            return cls.model_validate(found)
        except ValidationError as error:
            raise ValueError(explain(error)) from error

    @property
    def parameters(self) -> dict[str, Any]:
        """For `RewardStream`."""
        return {"runs": self.run} | self.model_dump(exclude={"run", "last_event_id"})
