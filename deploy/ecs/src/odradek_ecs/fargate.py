"""What Fargate offers: pairs of CPU and memory.

Source: Amazon ECS developer guide, "Task size" (Linux). CPU in units (1,024 are one vCPU), memory in MiB.
"""

_GIB = 1024

MEMORY: dict[int, tuple[int, ...]] = {
    256: (512, 1 * _GIB, 2 * _GIB),
    512: tuple(range(1 * _GIB, 4 * _GIB + 1, _GIB)),
    1024: tuple(range(2 * _GIB, 8 * _GIB + 1, _GIB)),
    2048: tuple(range(4 * _GIB, 16 * _GIB + 1, _GIB)),
    4096: tuple(range(8 * _GIB, 30 * _GIB + 1, _GIB)),
    8192: tuple(range(16 * _GIB, 60 * _GIB + 1, 4 * _GIB)),
    16384: tuple(range(32 * _GIB, 120 * _GIB + 1, 8 * _GIB)),
}
"""The memory that each CPU can have."""

MOST_STOP_SECONDS = 120
"""The longest time between SIGTERM and SIGKILL, on Spot too."""


def check_size(cpu: int, memory: int) -> None:
    """Raises ValueError, with what there is, for a pair that Fargate does not have."""
    if cpu not in MEMORY:
        raise ValueError(f"cpu {cpu}: Fargate has {', '.join(map(str, MEMORY))}")
    if memory not in MEMORY[cpu]:
        sizes = MEMORY[cpu]
        raise ValueError(
            f"memory {memory}: with cpu {cpu} Fargate has {sizes[0]}, {sizes[1]}, … {sizes[-1]} MiB"
        )
