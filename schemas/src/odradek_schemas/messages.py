"""Messages, tools and sampling, in the shapes of OpenAI chat completions.

Source: the OpenAI API reference, "Chat Completions"; `reasoning_content` as vLLM and DeepSeek return it;
`reasoning_details` as OpenRouter names what a provider wants back as it came (signed or encrypted reasoning).
"""

from typing import Literal

from pydantic import Field, JsonValue

from odradek_schemas.base import JsonObject, Model

Role = Literal["system", "developer", "user", "assistant", "tool"]


class FunctionCall(Model):
    """The function that a model wants called; `arguments` is JSON text as the model wrote it, valid or not."""

    name: str
    arguments: str


class ToolCall(Model):
    id: str
    type: Literal["function"] = "function"
    function: FunctionCall


class Message(Model):
    """One chat message. `content` is text, or a list of content parts kept as they came."""

    role: Role
    content: str | list[JsonObject] | None = None
    name: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None
    reasoning_content: str | None = None
    reasoning_details: list[JsonObject] | None = None
    refusal: str | None = None

    @property
    def text(self) -> str:
        """The text of the message: its content, or its text parts joined; empty where there is none."""
        if self.content is None:
            return ""
        if isinstance(self.content, str):
            return self.content
        return "".join(str(part.get("text") or "") for part in self.content)


class FunctionSpec(Model):
    """A function offered to the model; `parameters` is a JSON Schema of an object."""

    name: str
    description: str | None = None
    parameters: JsonObject = Field(default_factory=dict)
    strict: bool | None = None


class ToolSpec(Model):
    type: Literal["function"] = "function"
    function: FunctionSpec


class Sampling(Model):
    """How a model is asked to sample. What is None is left to the model's server."""

    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, gt=0, le=1)
    top_k: int | None = None
    max_tokens: int | None = Field(default=None, ge=1, description="Most completion tokens of one call.")
    stop: list[str] | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    tool_choice: JsonValue = None
    parallel_tool_calls: bool | None = None
    response_format: JsonObject | None = None
    reasoning_effort: str | None = None


class Usage(Model):
    """Tokens of one call, or of many added up."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class TokenRecord(Model):
    """Exactly what the sampler saw and chose, where the upstream returns it.

    `prompt_token_ids`: [prompt]; `completion_token_ids` and `logprobs`: [completion], in nats.
    """

    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    policy_version: str | None = None

    @property
    def complete(self) -> bool:
        """Whether the call can be trained on: prompt and reply are there, and a logprob for each token of the reply."""
        reply, logprobs = self.completion_token_ids, self.logprobs
        return bool(self.prompt_token_ids and reply and logprobs and len(logprobs) == len(reply))
