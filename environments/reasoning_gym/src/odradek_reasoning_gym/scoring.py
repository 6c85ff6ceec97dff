"""The library's scorers. It is imported when it is first asked: it takes seconds, and is not always installed."""

import importlib
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from odradek import JsonObject

Scorer = Callable[..., Any]
"""Called with `answer`, a text, and `entry`, an item of a data set; gives a number from 0 to 1."""


class LibraryMissing(RuntimeError):
    """The `reasoning-gym` library can't be imported."""


class UnknownDataset(LookupError):
    """The library has no data set of this name."""


def entry(question: str, answer: str | None, metadata: JsonObject) -> JsonObject:
    """An item of a data set, as the library's scorers take it."""
    return {"question": question, "answer": answer, "metadata": metadata}


@cache
def scorer(dataset: str) -> Scorer:
    """The function that scores answers to the puzzles of `dataset`.

    Raises:
        LibraryMissing: the library is not installed.
        UnknownDataset: it has no such data set.
    """
    if dataset not in _datasets():
        raise UnknownDataset(f"reasoning-gym has no data set {dataset!r}")
    found: Scorer = _library("reasoning_gym").get_score_answer_fn(dataset)
    return found


@cache
def _datasets() -> Mapping[str, object]:
    _library("reasoning_gym")
    known: Mapping[str, object] = _library("reasoning_gym.factory").DATASETS
    return known


def load() -> None:
    """Import the library now, where it is installed."""
    try:
        _datasets()
    except LibraryMissing:
        return  # each trajectory that needs it says so


def _library(module: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of a package that it imports
            return importlib.import_module(module)
    except ImportError as error:
        raise LibraryMissing(
            f"the verifier can't import reasoning-gym ({error}): pip install 'odradek-reasoning-gym[library]'"
        ) from error
