"""The language of a text. Needs the extra `odradek[language]` (py3langid)."""

from functools import cache
from typing import Any

from odradek.verifiers.instructions.registry import instruction
from odradek.verifiers.libraries import needed

_CODES = "en es pt ar hi fr ru de ja it bn uk th ur ta te bg ko pl he fa vi ne sw kn mr gu pa ml fi"
LANGUAGES = _CODES.split()
"""The ISO 639-1 codes that are told apart: those that IFEval asks for."""


@instruction("language:response_language")
def response_language(text: str, language: str) -> bool:
    return detect(text) == language


def detect(text: str) -> str:
    """The code in `LANGUAGES` of the language that `text` is most probably in; a guess, where it is a few words.

    Raises:
        MissingLibrary: py3langid is not installed.
    """
    return str(_identifier().classify(text)[0])


def load() -> None:
    """Load the model, which takes a second: for `Environment.warm_up`.

    Raises:
        MissingLibrary: py3langid is not installed.
    """
    _identifier()


def is_english(text: str) -> bool:
    """Whether a text is in English; its case does not matter."""
    return detect(text.lower()) == "en"


@cache
def _identifier() -> Any:
    module = needed("py3langid.langid", "language")
    identifier = module.LanguageIdentifier.from_model_file(module.MODEL_FILE)
    identifier.set_languages(LANGUAGES)
    return identifier
