"""What a server said of a rollout, kept as evidence, and the reward that it means."""

import math
from typing import Any

from pydantic import ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator
from pydantic_core import from_json

from odradek import JsonObject, Reward, Unscored
from odradek_schemas.base import Model
from odradek_schemas.codec import explain
from odradek_schemas.failures import FailureKind

_LONGEST = 4000
"""Characters kept of a refusal."""

_KINDS = {
    "judge_failed": FailureKind.UPSTREAM_UNAVAILABLE,
    "judge_unparseable": FailureKind.JUDGE_UNREADABLE,
    "judge_invalid": FailureKind.JUDGE_UNREADABLE,
    "verifier_error": FailureKind.VERIFIER_ERROR,
    "session_lost": FailureKind.SESSION_LOST,
    "session_expired": FailureKind.SESSION_LOST,
    "transport_unreachable": FailureKind.UPSTREAM_UNAVAILABLE,
    "transport_peer_drop": FailureKind.UPSTREAM_UNAVAILABLE,
    "transport_timeout": FailureKind.VERIFIER_DEADLINE,
    "provider_unavailable": FailureKind.UPSTREAM_UNAVAILABLE,
    "provider_quota_exhausted": FailureKind.QUOTA_EXHAUSTED,
    "provider_oom_killed": FailureKind.ENVIRONMENT_KILLED,
}
"""NeMo Gym's shared names of failures (0.7) among ours; others are `unscored`. The name itself is in the message."""


class VerdictError(ValueError):
    """A server's verdict can't be read."""


class Verdict(Model):
    """The fields of `/verify`'s answer that decide; those of the server's own are beside them."""

    model_config = ConfigDict(extra="allow")

    reward: float | None = None
    mask_sample: bool = False
    failure_kind: str | None = None
    failure_reason: str | None = None
    reward_components: dict[str, float] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _sidelined(cls, fields: Any) -> Any:
        """Before 0.7 a failed judge was marked by a class of its own."""
        if isinstance(fields, dict) and (kind := fields.get("_ng_failure_class")):
            return {**fields, "mask_sample": True, "failure_kind": fields.get("failure_kind") or kind}
        return fields

    @field_validator("reward_components", mode="before")
    @classmethod
    def _none_given(cls, components: Any) -> Any:
        return {} if components is None else components

    @model_validator(mode="after")
    def _has_a_reward(self) -> "Verdict":
        if not self.mask_sample and self.reward is None:
            raise ValueError("reward: is missing")
        for name, value in {"reward": self.reward or 0.0, **self.reward_components}.items():
            if not math.isfinite(value):
                raise ValueError(f"{name}: is {value}, which is no finite number")
        return self


class Evidence(Model):
    """What is kept of the closing of a session: the verdict, or the refusal that came in its place.

    `verdict` lacks what was sent and came back as it was. `released`: whether the server said that it closed the session.
    """

    verdict: JsonObject | None = None
    refused: int | None = Field(default=None, description="The HTTP status in the verdict's place.")
    refusal: str | None = Field(default=None, description="And what the server said.")
    reverify_mode: str
    released: bool = False


def read_verdict(text: str, sent: JsonObject) -> JsonObject:
    """The verdict in an answer of `/verify`, less what was `sent`.

    Raises:
        VerdictError: it is not JSON, no object, or has no reward that is a number.
    """
    try:
        answered = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise VerdictError(f"is not JSON: {error}") from error
    if not isinstance(answered, dict):
        raise VerdictError(f"is no object but {type(answered).__name__}")
    try:
        Verdict.model_validate(answered)
    except ValidationError as error:
        raise VerdictError(explain(error)) from error
    apart = {"response", "responses_create_params"}
    return {
        name: value
        for name, value in answered.items()
        if name not in apart and (name not in sent or sent[name] != value)
    }


def refused(status: int, text: str, mode: str) -> Evidence:
    return Evidence(refused=status, refusal=text[:_LONGEST], reverify_mode=mode)


def reward(evidence: Evidence, components: list[str], details: list[str]) -> Reward:
    """The reward that the server gave.

    Raises:
        Unscored: it masked the sample, or refused to score it.
    """
    if evidence.verdict is None:
        message = f"the NeMo Gym server answered /verify with HTTP {evidence.refused}: its words are in the evidence"
        raise Unscored.because(message, FailureKind.VERIFIER_ERROR)
    verdict = Verdict.model_validate(evidence.verdict)
    if verdict.mask_sample or verdict.reward is None:
        kind = verdict.failure_kind or "no kind given"
        raise Unscored.because(
            f"masked by the NeMo Gym server: {kind}", _KINDS.get(kind, FailureKind.UNSCORED)
        )
    shown: JsonObject = {name: evidence.verdict[name] for name in details if name in evidence.verdict}
    if verdict.failure_kind is not None:
        shown["failure_kind"] = verdict.failure_kind
    return Reward(
        reward=verdict.reward,
        components=verdict.reward_components | _numbers(evidence.verdict, components),
        details=shown,
    )


def _numbers(verdict: JsonObject, names: list[str]) -> dict[str, float]:
    found: dict[str, JsonValue] = {name: verdict.get(name) for name in names}
    return {name: float(value) for name, value in found.items() if isinstance(value, bool | int | float)}
