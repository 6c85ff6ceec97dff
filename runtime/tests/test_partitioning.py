from hypothesis import given
from hypothesis import strategies as st

from odradek_runtime.partitioning import partition_of


def test_agrees_with_the_java_client() -> None:
    # Hashes of org.apache.kafka.common.utils.Utils.murmur2, from Kafka's own UtilsTest.
    java = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536}
    for key, hashed in java.items():
        assert partition_of(key, 97) == (hashed & 0x7FFFFFFF) % 97


@given(st.text(), st.integers(1, 500))
def test_lies_within_the_topic_and_never_moves(key: str, partitions: int) -> None:
    found = partition_of(key, partitions)
    assert 0 <= found < partitions
    assert partition_of(key, partitions) == found
