"""The program in a model's reply, by the rules of NeMo Gym 0.7's competitive_coding_challenges server."""

import re

_BLOCK = re.compile(r"```cpp\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_ALL_HEADERS = "#include <bits/stdc++.h>\n"
_NAMESPACE = "using namespace std;"


def program(text: str) -> str:
    """The last block of C++, else the whole text; with all headers of the standard library, and its names if need be."""
    blocks = _BLOCK.findall(text)
    source = str(blocks[-1]) if blocks else text
    names = "" if _NAMESPACE in source or "std::" in source else f"\n{_NAMESPACE}\n\n"
    return _ALL_HEADERS + names + source
