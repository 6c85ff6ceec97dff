"""The gateway's settings: which models there are and how each is reached (`ODRADEK_MODELS`, JSON)."""

import os
from typing import Annotated, Any, Literal

import orjson
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails
from pydantic_settings import NoDecode, SettingsConfigDict
from yarl import URL

from odradek_model_gateway.kinds import KINDS, Kind
from odradek_model_gateway.presets import PRESETS
from odradek_runtime.settings import WorkerSettings
from odradek_schemas.base import JsonObject

_EXAMPLE = '{"small": {"base_url": "http://127.0.0.1:8000/v1", "model": "the name that the server knows"}}'


class SettingsError(Exception):
    """The settings can't be used. One line: what, where, what to do."""


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class ModelSettings(BaseModel):
    """One model: where it is served, and how it is asked.

    `base_url` is the API's base (`http://host:port/v1`), or a list of them: replicas of the same model. The calls of one
    rollout then prefer the same replica, whose prefix cache knows them. `preset` names a provider of `presets.py`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    kind: Literal["openai", "vllm", "azure", "responses", "anthropic"] = Field(
        default="openai", description="Whose API the upstream speaks; openai: chat completions, as most do."
    )
    base_url: Annotated[tuple[str, ...], BeforeValidator(_as_list), Field(min_length=1)]
    model: str = Field(min_length=1, description="The model's name at the upstream.")
    tool_calls: Literal["native", "json_schema"] = Field(
        default="native",
        description="json_schema: for models without tool calls; functions are offered as a reply schema.",
    )
    api_key_env: str | None = Field(default=None, description="The environment variable with the API key.")
    max_concurrency: int = Field(default=256, ge=1, description="Most requests at once from this process.")
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
    def _check_urls(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        for text in urls:
            url = URL(text)
            if url.scheme not in ("http", "https") or not url.host:
                raise ValueError(f"{text!r} is not a URL such as http://127.0.0.1:8000/v1")
            if url.user or url.password or url.query_string or url.fragment:
                raise ValueError(f"{url.host}: no user, query or fragment here; name the key in api_key_env")
        if len(set(urls)) < len(urls):
            raise ValueError("the same URL twice: give each replica once")
        return tuple(url.rstrip("/") for url in urls)

    @field_validator("api_key_env")
    @classmethod
    def _check_key(cls, name: str | None) -> str | None:
        key = os.environ.get(name, "").strip() if name else None
        if key == "":
            raise ValueError(
                f"the environment variable {name} is empty or not set: export it, or leave this out"
            )
        if key and not (key.isascii() and key.isprintable()):
            raise ValueError(
                f"the value of {name} is not a key: it holds other than printable ASCII characters"
            )
        return name

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, value: Any) -> Any:
        """What the preset knows, where the settings leave it out."""
        if not isinstance(value, dict) or "preset" not in value:
            return value
        given = {name: of for name, of in value.items() if name != "preset"}
        preset = PRESETS.get(value["preset"])
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

    @property
    def asked_as(self) -> Kind:
        """How upstreams of this kind are asked."""
        return KINDS[self.kind]

    @property
    def api_key(self) -> str | None:
        return os.environ[self.api_key_env].strip() if self.api_key_env else None


def _read_models(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error}); an example: {_EXAMPLE}") from error


class GatewaySettings(WorkerSettings):
    """What the gateway needs besides what every worker needs."""

    model_config = SettingsConfigDict(env_prefix="ODRADEK_", extra="ignore")

    models: Annotated[
        dict[str, ModelSettings],
        NoDecode,
        BeforeValidator(_read_models),
        Field(min_length=1, description=f"The models by the name that runs ask for: {_EXAMPLE}"),
    ]
    max_in_flight: int = Field(default=256, ge=1, le=800, description="Most calls at once of one partition.")


def load_settings() -> GatewaySettings:
    """Read the settings from the environment.

    Raises:
        SettingsError: names each variable (`ODRADEK_MODELS.<name>.<field>`) and what is wrong with it.
    """
    try:
        return GatewaySettings()
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        raise SettingsError("; ".join(map(_say, problems))) from error


def _say(problem: ErrorDetails) -> str:
    variable, *rest = map(str, problem["loc"])
    if variable == "models" and problem["type"] in ("missing", "too_short") and not rest:
        return f"ODRADEK_MODELS: no model is named; set it to such as {_EXAMPLE}"
    where = ".".join([f"ODRADEK_{variable.upper()}", *rest])
    return f"{where}: {problem['msg'].removeprefix('Value error, ')}"
