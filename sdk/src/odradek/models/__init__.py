"""Which models there are, and how each is reached: what `odradek.toml` says of them."""

from odradek.models.config import ConfigError, read_config
from odradek.models.groups import unlike
from odradek.models.price import Price, cost
from odradek.models.settings import ModelSettings, Replica

__all__ = ["ConfigError", "ModelSettings", "Price", "Replica", "cost", "read_config", "unlike"]
