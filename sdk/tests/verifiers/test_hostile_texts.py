"""Long texts made to cost much: each is judged at once, where a careless pattern would take hours."""

import pytest

from odradek.verifiers import documents, instructions, numbers, verdicts
from odradek.verifiers.documents import Format

LONG = 100_000
TEXTS = {
    "dots": "." * LONG + "a",
    "brackets": "[" * LONG,
    "angles": "<<" * LONG,
    "stars": "*" * LONG + "a",
    "lines": "\n" * LONG + "a",
    "spaces": "a" + " " * LONG + "b",
    "fences": "```a\n" * LONG,
    "digits": "1" * LONG + ".1.1a",
    "words": "the house " * (LONG // 10),
    "hyphens": "a-" * LONG,
    "scores": "score: " * (LONG // 5) + "1" * LONG + ".1.1",
}
ARGUMENTS = {
    "combination:repeat_prompt": {"prompt_to_repeat": "Who?"},
    "copy:repeat_phrase": {"phrase": "the old car", "small_n": 2},
    "count:counting_composition": {"n_sent": 2, "n_words": 2},
    "detectable_content:number_placeholders": {"num_placeholders": 2},
    "detectable_content:postscript": {"postscript_marker": "P.S."},
    "detectable_format:bigram_wrapping": {},
    "detectable_format:json_format": {},
    "detectable_format:multiple_sections": {"section_spliter": "the", "num_sections": 2},
    "detectable_format:number_bullet_lists": {"num_bullets": 2},
    "detectable_format:number_highlighted_sections": {"num_highlights": 2},
    "detectable_format:sentence_hyphens": {},
    "detectable_format:title": {},
    "first_word:first_word_sent": {"first_word": "a"},
    "keywords:no_adjacent_consecutive": {},
    "keywords:start_end": {},
    "length_constraints:number_paragraphs": {"num_paragraphs": 2},
    "length_constraints:number_sentences": {"num_sentences": 2, "relation": "at least"},
    "paragraphs:paragraphs2": {},
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_instructions(text):
    for name, arguments in ARGUMENTS.items():
        assert instructions.follows(text, name, arguments) in (True, False), name


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_readers(text):
    assert documents.fenced(text)
    assert numbers.last_number(text) is None or "1" in text
    with pytest.raises(verdicts.UnreadableVerdict):
        verdicts.scored(0, 10)(text)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("form", Format)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_documents(text, form):
    checked = documents.check(text, form, {"type": "array"})
    assert not checked.valid
