"""One model: where it is served, and how it is asked. No secrets: keys are named, and read by the gateway alone."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from odradek.models.kinds import KINDS, Kind
from odradek.models.presets import PRESETS
from odradek.models.price import Price
from odradek_schemas.base import JsonObject


class Replica(BaseModel):
    """One of several servers of the same model. `weight`: its share of the rollouts, against the others' weights."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    weight: float = Field(default=1.0, gt=0, le=1e6)
    max_concurrency: int | None = Field(
        default=None, ge=1, description="Most requests at once; None: the model's."
    )

    @field_validator("url")
    @classmethod
    def _check(cls, text: str) -> str:
        url = urlsplit(text)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(f"{text!r} is not a URL such as http://127.0.0.1:8000/v1")
        if "@" in url.netloc or url.query or url.fragment:
            raise ValueError(f"{url.hostname}: no user, query or fragment here; name the key in api_key_env")
        return text.rstrip("/")


def _as_replicas(value: Any) -> Any:
    listed = value if isinstance(value, list | tuple) else [value]
    return [{"url": one} if isinstance(one, str) else one for one in listed]


class ModelSettings(BaseModel):
    """One model: where it is served, and how it is asked.

    `base_url` is the API's base (`http://host:port/v1`), or a list of them: replicas of the same model. The calls of one
    rollout then prefer the same replica, whose prefix cache knows them. `preset` names a provider of `presets.py`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    kind: Literal["openai", "vllm", "azure", "responses", "anthropic"] = Field(
        default="openai", description="Whose API the upstream speaks; openai: chat completions, as most do."
    )
    base_url: Annotated[tuple[Replica, ...], BeforeValidator(_as_replicas), Field(min_length=1)]
    model: str = Field(min_length=1, description="The model's name at the upstream.")
    tool_calls: Literal["native", "json_schema"] = Field(
        default="native",
        description="json_schema: for models without tool calls; functions are offered as a reply schema.",
    )
    api_key_env: str | None = Field(default=None, description="The environment variable with the API key.")
    max_concurrency: int = Field(
        default=256,
        ge=1,
        description="Most requests at once to a replica, from all gateways that share limits.",
    )
    requests_per_minute: int | None = Field(default=None, ge=1, description="Most requests in any minute.")
    tokens_per_minute: int | None = Field(
        default=None, ge=1, description="Most tokens in any minute, prompts and replies together."
    )
    limits: str | None = Field(
        default=None,
        min_length=1,
        description="Models that name the same share requests_per_minute and tokens_per_minute; None: its own.",
    )
    price: Price | None = Field(default=None, description="What calls cost, to be told with their results.")
    timeout_seconds: float = Field(default=300.0, gt=0, description="Deadline of one try.")
    tries: int = Field(
        default=8, ge=1, le=20, description="Most tries of one call: some 16 s in which a server may restart."
    )
    token_ids: bool = Field(default=False, description="Ask for token ids and logprobs (vLLM).")
    send_reasoning: bool = Field(
        default=True, description="Send earlier replies' `reasoning_content` back; some providers refuse it."
    )
    tool_pictures: Literal["tool", "user"] = Field(
        default="tool",
        description="Who shows the pictures of a tool's result: OpenAI takes them from the user alone.",
    )
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = Field(
        default="max_tokens",
        description="What the most completion tokens of a call are called (chat completions).",
    )
    max_response_bytes: int = Field(default=16 * 2**20, ge=1024)
    extra_body: JsonObject = Field(
        default_factory=dict, description="Added to each request's body; what the call itself says wins."
    )

    @field_validator("base_url")
    @classmethod
    def _check_replicas(cls, replicas: tuple[Replica, ...]) -> tuple[Replica, ...]:
        if len({replica.url for replica in replicas}) < len(replicas):
            raise ValueError("the same URL twice: give each replica once")
        return replicas

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, value: Any) -> Any:
        """What the preset knows, where the settings leave it out."""
        if not isinstance(value, dict) or "preset" not in value:
            return value
        given = {name: of for name, of in value.items() if name != "preset"}
        preset = PRESETS.get(str(value["preset"]))
        if preset is None:
            raise ValueError(f"preset: {value['preset']!r} is not known; there are: {', '.join(PRESETS)}")
        return {**preset, **given}

    @model_validator(mode="after")
    def _check_kind(self) -> "ModelSettings":
        if self.kind in ("responses", "anthropic"):
            if self.token_ids:
                raise ValueError(f"token_ids: upstreams of kind {self.kind} don't tell them; leave this out")
            if self.max_tokens_field != "max_tokens":
                raise ValueError(f"max_tokens_field: is for chat completions, not for kind {self.kind}")
        return self

    @classmethod
    def at(cls, *urls: str, model: str, **settings: Any) -> Self:
        """A model at these URLs. Raises pydantic's ValidationError."""
        return cls.model_validate({"base_url": list(urls), "model": model, **settings})

    def most_at(self, replica: Replica) -> int:
        """Most requests at once to a replica."""
        return replica.max_concurrency or self.max_concurrency

    @property
    def most_at_once(self) -> int:
        """Most requests at once to all replicas, from one gateway."""
        return sum(map(self.most_at, self.base_url))

    @property
    def asked_as(self) -> Kind:
        """How upstreams of this kind are asked."""
        return KINDS[self.kind]

    def key(self, environment: Mapping[str, str]) -> str | None:
        """The API key; None: the upstream wants none.

        Raises:
            ValueError: the variable that is to hold it is not set, or does not hold a key.
        """
        if self.api_key_env is None:
            return None
        key = environment.get(self.api_key_env, "").strip()
        if not key:
            raise ValueError(
                f"the environment variable {self.api_key_env} is empty or not set: export it, or leave this out"
            )
        if not (key.isascii() and key.isprintable()):
            raise ValueError(
                f"the value of {self.api_key_env} is not a key: it holds other than printable ASCII characters"
            )
        return key
