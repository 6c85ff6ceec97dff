"""What calls cost (pure)."""

from pydantic import BaseModel, ConfigDict, Field

from odradek_schemas.messages import Usage

_TOKENS = 1e6


class Price(BaseModel):
    """US dollars for a million tokens. `cached_input`: of the prompt's tokens that the upstream had in its cache."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0, description="None: as the others.")
    output: float = Field(ge=0)


def cost(usage: Usage, price: Price) -> float:
    """US dollars. Tokens of the prompt's cache and of reasoning are among those of prompt and completion."""
    cached = price.input if price.cached_input is None else price.cached_input
    prompt = (usage.prompt_tokens - usage.cached_tokens) * price.input + usage.cached_tokens * cached
    return (prompt + usage.completion_tokens * price.output) / _TOKENS
