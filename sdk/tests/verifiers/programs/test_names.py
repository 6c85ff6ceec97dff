"""The names that programs may use without importing them."""

import ast

from hypothesis import given
from hypothesis import strategies as st

from odradek.verifiers.programs.names import imports


def test_names_that_are_mentioned_are_imported():
    lines = imports("q = deque(); heapq.heappush(q, gcd(4, 6)); x: List = []").splitlines()
    assert set(lines) == {
        "from collections import deque",
        "import heapq",
        "from heapq import heappush",
        "from math import gcd",
        "from typing import List",
    }


def test_a_module_s_own_name_wins_and_built_ins_stay():
    assert imports("datetime random pow open print") == "import datetime\nimport random\n"


@given(st.text())
def test_any_source_gives_lines_that_parse(source):
    ast.parse(imports(source))
