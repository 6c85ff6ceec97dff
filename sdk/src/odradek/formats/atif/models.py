"""ATIF's documents, as far as a trajectory of ours has counterparts. What else stands in one is read past."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

VERSION = "ATIF-v1.7"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, ser_json_inf_nan="constants")


class AtifCall(_Part):
    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]
    extra: dict[str, Any] | None = None


class AtifResult(_Part):
    source_call_id: str | None = None
    content: str | list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class AtifObservation(_Part):
    results: list[AtifResult]


class AtifMetrics(_Part):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: dict[str, Any] | None = None


class AtifStep(_Part):
    step_id: int = Field(ge=1)
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    message: str | list[dict[str, Any]]
    reasoning_content: str | None = None
    tool_calls: list[AtifCall] | None = None
    observation: AtifObservation | None = None
    metrics: AtifMetrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: int | None = None
    extra: dict[str, Any] | None = None


class AtifAgent(_Part):
    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None
    extra: dict[str, Any] | None = None


class AtifTotals(_Part):
    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: dict[str, Any] | None = None


class AtifDocument(_Part):
    schema_version: str = Field(pattern=r"^ATIF-v1\.[0-8]$")
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: AtifAgent
    steps: list[AtifStep] = Field(min_length=1)
    final_metrics: AtifTotals | None = None
    extra: dict[str, Any] | None = None
