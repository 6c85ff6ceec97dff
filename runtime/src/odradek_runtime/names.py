"""Names of topics, groups and transactional ids in one deployment."""

from dataclasses import dataclass

from odradek_schemas.topics import positions_topic


@dataclass(frozen=True)
class Names:
    """All names of a deployment begin with its prefix."""

    prefix: str

    def topic(self, name: str) -> str:
        return f"{self.prefix}{name}"

    def logical(self, topic: str) -> str:
        """The topic's name in the topic table."""
        return topic.removeprefix(self.prefix)

    def positions(self, worker: str) -> str:
        """The topic in which `worker` keeps how far it has read."""
        return self.topic(positions_topic(worker))

    def group(self, worker: str) -> str:
        return f"{self.prefix}{worker}"

    def transactional_id(self, worker: str, partition: int) -> str:
        """The id that belongs to partition number `partition`: whoever starts it last fences all before."""
        return f"{self.prefix}{worker}-{partition}"
