"""Names that Python programs may use without importing them, as in NeMo Gym's code_gen server and LiveCodeBench."""

import builtins
import importlib
import re
from collections.abc import Iterator, Mapping
from functools import cache

_MODULES = (
    *("string", "re", "datetime", "collections", "heapq", "bisect", "copy", "math", "random", "statistics"),
    *("itertools", "functools", "operator", "io", "sys", "json"),
)
"""The modules that are there, and whose names are: where two have the same name, the later one's counts."""

_ALSO_NAMES_OF = ("typing",)
"""Built-in names are left alone."""

_WORD = re.compile(r"[^\W\d]\w*")


def imports(source: str) -> str:
    """Lines that import those of the names that the source mentions.

    A name that the source defines itself is defined anew by it, so one too many does no harm.
    """
    mentioned = set(_WORD.findall(source))
    wanted = [(name, module) for name, module in _known().items() if name in mentioned]
    return "".join(
        f"from {module} import {name}\n" if module else f"import {name}\n" for name, module in wanted
    )


@cache
def _known() -> Mapping[str, str]:
    """Each name with the module that it comes from; a module's own name with an empty text."""
    known: dict[str, str] = {}
    for module in (*_MODULES, *_ALSO_NAMES_OF):
        known |= {name: module for name in _public(module) if not hasattr(builtins, name)}
    return known | dict.fromkeys(_MODULES, "")


def _public(module: str) -> Iterator[str]:
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None)
    yield from names if names is not None else (name for name in vars(loaded) if not name.startswith("_"))
