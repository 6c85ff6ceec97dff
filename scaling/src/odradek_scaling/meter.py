"""What measures: a deployment's loads, told to whoever asks."""

from typing import Protocol

from odradek_scaling.load import PoolLoad


class Meter(Protocol):
    """Measures pools, or says that it can't."""

    async def load(self, pool: str) -> PoolLoad:
        """A pool's load now, or as it was a moment ago.

        Raises:
            LoadUnknownError: Kafka or the pool's workers don't answer.
        """
