"""The program in a model's reply, by the rules of NeMo Gym 0.7's competitive_coding_challenges server."""

import re

_BLOCK = re.compile(r"```cpp\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_ALL_HEADERS = "#include <bits/stdc++.h>\n"
_NAMESPACE = "using namespace std;"


def program(text: str) -> str:
    """The last block of C++, else the whole text."""
    blocks = _BLOCK.findall(text)
    return str(blocks[-1]) if blocks else text


def with_headers(source: str) -> str:
    """The source with all headers of the standard library before it, and their names where it has not taken them."""
    names = "" if _NAMESPACE in source or "std::" in source else f"\n{_NAMESPACE}\n\n"
    return _ALL_HEADERS + names + source
