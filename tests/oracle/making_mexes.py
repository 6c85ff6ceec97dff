"""The contest task of the recorded programs, whose tests are not shipped: cases of our own, made by its definition.

The task: for each i from 0 to n, how few of n numbers must change for i to be the smallest number that is missing.
"""

from odradek import JsonObject

CASES = {
    "sample": [2, 2, 2, 0],
    "alone": [0],
    "far": [5, 5, 5, 5, 5],
    "all": [0, 1, 2, 3],
}


def least_changes(numbers: list[int]) -> list[int]:
    """What is below i and absent must come, and each i must go; a number that goes can be one that comes."""
    counts = range(len(numbers) + 1)
    return [max(len(set(range(i)) - set(numbers)), numbers.count(i)) for i in counts]


def hidden_tests() -> JsonObject:
    """The fields that a row needs to be graded."""
    return {
        "all_tests": {
            name: {
                "input": _lines([len(numbers)], numbers),
                "output": "\n".join(map(str, least_changes(numbers))),
            }
            for name, numbers in CASES.items()
        },
        "subtasks": {"all_tests": {"aggregation": "sum_tests", "test_names": list(CASES)}},
    }


def _lines(*rows: list[int]) -> str:
    return "".join(f"{' '.join(map(str, row))}\n" for row in rows)
