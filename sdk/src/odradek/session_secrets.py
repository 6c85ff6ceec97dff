"""What a session may not show in the log: the answer, evidence that was gathered with it, a state that is secret."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel
from pydantic_core import to_json

from odradek.environment import Environment
from odradek.tools import WorldFailed
from odradek_schemas.base import JsonObject
from odradek_schemas.events import SessionRequested
from odradek_schemas.failures import FailureKind

_Model = TypeVar("_Model", bound=BaseModel)

_SEALED = "sealed"
"""Where a sealed state lies in what is remembered."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """`open_box` opens what is sealed, `seal` closes it; None: this worker has no such key.

    All methods raise WorldFailed (`answer_unreadable`) where the environment needs a key that is not there.
    """

    open_box: Callable[[str], JsonObject] | None
    seal: Callable[[JsonObject], str] | None

    def answer(self, environment: Environment, request: SessionRequested) -> BaseModel | None:
        """The answer, for environments whose worlds need it; else None."""
        if not environment.evidence_needs_answer:
            return None
        self._sealing(environment)
        if request.sealed_answer is None or environment.Answer is None:
            return None
        try:
            return read(environment.Answer, self._opening(environment)(request.sealed_answer))
        except WorldFailed:
            raise
        except Exception as error:
            raise WorldFailed(FailureKind.ANSWER_UNREADABLE, f"{type(error).__name__}: {error}") from error

    def evidence(
        self, environment: Environment, evidence: JsonObject | None
    ) -> tuple[JsonObject | None, str | None]:
        """The evidence as (open, sealed): what was gathered with the answer at hand might give it away."""
        if evidence is None or not environment.evidence_needs_answer:
            return evidence, None
        return None, self._sealing(environment)(evidence)

    def write(self, environment: Environment, state: BaseModel) -> JsonObject:
        """A state as it stands in the log."""
        written = state.model_dump(mode="json")
        return {_SEALED: self._sealing(environment)(written)} if environment.state_is_secret else written

    def read(self, environment: Environment, written: JsonObject) -> BaseModel:
        """A state as it was written."""
        assert environment.State is not None, "sessions are opened for environments with a State only"
        if environment.state_is_secret:
            written = self._opening(environment)(str(written[_SEALED]))
        return read(environment.State, written)

    def _opening(self, environment: Environment) -> Callable[[str], JsonObject]:
        if self.open_box is None:
            raise _keyless(environment)
        return self.open_box

    def _sealing(self, environment: Environment) -> Callable[[JsonObject], str]:
        if self.seal is None:
            raise _keyless(environment)
        return self.seal


def read(model: type[_Model], content: JsonObject) -> _Model:
    """Read a user's model as from the log, so that strict models accept what JSON makes of their values."""
    return model.model_validate_json(to_json(content))


def _keyless(environment: Environment) -> WorldFailed:
    return WorldFailed(
        FailureKind.ANSWER_UNREADABLE,
        f"sessions of {environment.name!r} need the answer, and there are no keys to open and seal it",
    )
