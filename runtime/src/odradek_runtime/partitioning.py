"""Which partition a key belongs to, as the Java client's default partitioner has it."""

from aiokafka.partitioner import murmur2


def partition_of(key: str, partitions: int) -> int:
    """The partition, of `partitions`, of a record with this key."""
    return int(murmur2(key.encode()) & 0x7FFFFFFF) % partitions
