"""What a run may set of the bridge."""

from pathlib import Path

from pydantic import AnyHttpUrl, Field, field_validator

from odradek_schemas.base import Model


class BridgeSettings(Model):
    """`server_url` or `server` says which server; the others have defaults that fit."""

    server_url: AnyHttpUrl | None = Field(default=None, description="Where a resources server answers.")
    server: Path | None = Field(
        default=None,
        description="The folder of a resources server, which each env-worker starts for itself and which ends with it.",
    )
    python: Path | None = Field(
        default=None, description="The Python that has NeMo Gym; None: the one in `.venv` of the folder."
    )
    overrides: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="Laid over the configuration of the server that is started."
    )
    connect_seconds: float = Field(
        default=20.0, ge=0, description="How long a server that takes no connections is waited for."
    )
    repeatable: list[str] = Field(
        default_factory=list,
        description="Tools that may be called again when a call was interrupted, since twice does the same as once.",
    )
    public: list[str] = Field(
        default_factory=list,
        description="Fields of the rows that are no secret: they can be read in the log.",
    )
    components: list[str] = Field(
        default_factory=list,
        description="Numbers of the server's verdict that become components of the reward.",
    )
    details: list[str] = Field(
        default_factory=list, description="Fields of the verdict that are shown, unsealed, with the reward."
    )

    @field_validator("server_url")
    @classmethod
    def _is_the_root(cls, url: AnyHttpUrl | None) -> AnyHttpUrl | None:
        if url is not None and (url.query or url.fragment):
            raise ValueError("must be a server's root, without query or fragment")
        return url
