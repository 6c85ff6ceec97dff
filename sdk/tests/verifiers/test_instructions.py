"""What each instruction asks for: a text that follows it, one that does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.verifiers.instructions import InvalidInstruction, UnknownInstruction, find, follows, names, parts

LESS, LEAST = "less than", "at least"
PHRASE = {"phrase": "the old red house", "small_n": 2}

CASES = [
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": LEAST},
        "THE END is NEAR",
        "The END",
    ),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 1, "capital_relation": LESS},
        "The end",
        "The END",
    ),
    ("change_case:english_capital", {}, "THIS IS PLAIN ENGLISH.", "THIS IS plain ENGLISH."),
    ("change_case:english_capital", {}, "THIS IS PLAIN ENGLISH.", "DAS IST EIN DEUTSCHER SATZ."),
    ("change_case:english_lowercase", {}, "this is plain english.", "This is plain english."),
    (
        "combination:repeat_prompt",
        {"prompt_to_repeat": "Who am I?"},
        "who am I? You are.",
        "You ask: Who am I?",
    ),
    ("combination:two_responses", {}, "One.\n******\nTwo.", "One.\n******\none.\n******\nTwo."),
    ("combination:two_responses", {}, "One.******Two.******", "One.******One."),
    ("combination:two_responses", {}, "One.******Two.", "One.************Two."),
    ("copy:copy", {"prompt_to_repeat": "Say it"}, " say it\n", "I say it"),
    ("copy:copying_simple", {"prompt_to_repeat": "Say it"}, "Say it", "Say it!"),
    ("copy:copying_multiple", {"prompt_to_repeat": "Hi", "N": 2}, "Hi ****** hi", "Hi ****** Hi ****** Hi"),
    (
        "copy:repeat_phrase",
        PHRASE,
        "the old blue house and the new red house",
        "the old red house, the old red house",
    ),
    ("copy:repeat_phrase", PHRASE, "the old blue house and the new red house", "the old blue house"),
    ("count:count_increment_word", {"keyword1": "sun", "keyword2": "moon"}, "sun moon Moon", "sun moon"),
    ("count:count_unique", {}, "Every word differs here.", "The cat saw the dog."),
    (
        "count:counting_composition",
        {"n_sent": 2, "n_words": 2},
        "We go. You stay.\n***\nShe runs. He sits.\n* * *\nAll end. None begin.",
        "We go. You stay.",
    ),
    ("count:counting_composition", {"n_sent": 1, "n_words": 2}, "A b.***C d.***E f.", "A b.***C d.***E f g."),
    ("count:lowercase_counting", {"N": 2}, "Only two small WORDS", "here are three"),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name] at [address]", "[name]"),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye.\np. s. more", "Bye. PS more"),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "Bye.\nP.P.S more", "Bye. P.S. more"),
    ("detectable_content:postscript", {"postscript_marker": "NB (!)"}, "Bye. nb (!) so", "Bye. NB so"),
    ("detectable_format:bigram_wrapping", {}, "<<I am>> <<at home>> now", "<<I am>> at home"),
    ("detectable_format:constrained_response", {}, "My answer is maybe.", "Maybe."),
    ("detectable_format:json_format", {}, '```json\n{"a": [1]}\n```', "{'a': 1}"),
    ("detectable_format:json_format", {}, " [1, 2] ", "Here: [1, 2]"),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "Part", "num_sections": 2},
        "Part 1\na\nPart 2\nb",
        "Part one",
    ),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* a\n- b", "* a\n* b\n* c"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 1}, "* a\n**bold**", "**bold**"),
    (
        "detectable_format:number_highlighted_sections",
        {"num_highlights": 2},
        "*a b* and **c**",
        "*a b* and ** **",
    ),
    ("detectable_format:sentence_hyphens", {}, "It is late.-Let us go.", "It is late. Let us go."),
    ("detectable_format:sentence_hyphens", {}, "It is late!-Let us go.", "It is late!- Let us go."),
    ("detectable_format:square_brackets", {}, "[all] [of] [it]", "[all] of [it]"),
    ("detectable_format:title", {}, "<<Ode>>\nText", "<< >> and <Ode>"),
    ("first_word:first_word_answer", {"first_word": "Well"}, "well then", "Very well"),
    ("first_word:first_word_sent", {"first_word": "we"}, "We go. We stay.", "We go. They stay."),
    ("keywords:exclude_word_harder", {"keyword": "cat", "instruction": "x"}, "Concatenate.", "The cat."),
    ("keywords:existence", {"keywords": ["sun", "C++"]}, "Sunny c++", "Sunny c"),
    ("keywords:forbidden_words", {"forbidden_words": ["cat", "c++"]}, "Concatenate", "I like C++."),
    ("keywords:frequency", {"keyword": "go", "frequency": 2, "relation": LEAST}, "go, Gone", "go"),
    ("keywords:frequency", {"keyword": "go", "frequency": 2, "relation": LESS}, "go", "go, go"),
    (
        "keywords:keyword_specific_position",
        {"keyword": "red", "n": 2, "m": 1},
        "Here. red now.",
        "red. Here red.",
    ),
    ("keywords:keyword_specific_position", {"keyword": "red", "n": 1, "m": 2}, "a red", "one"),
    (
        "keywords:letter_frequency",
        {"letter": "E", "let_frequency": 3, "let_relation": LEAST},
        "Eleven",
        "seven",
    ),
    ("keywords:no_adjacent_consecutive", {}, "apple cat egg", "apple boat"),
    ("keywords:palindrome", {}, "A racecar!", "I saw a car"),
    ("keywords:start_end", {}, "Home is home", "Home is home."),
    ("keywords:start_end", {}, "Home is home", "home"),
    ("keywords:word_count_different_numbers", {"keyword": "a", "frequency": 1, "relation": LESS}, "b", "a"),
    ("keywords:word_once", {"keyword": "once"}, "only once", "once, once"),
    (
        "language:response_language",
        {"language": "de"},
        "Das ist ein ganz einfacher Satz.",
        "This is a plain sentence.",
    ),
    ("last_word:last_word_answer", {"last_word": "contest"}, "I won the contest!", "The contest was won."),
    ("last_word:last_word_sent", {"last_word": "so"}, "I say so. You say so!", "I say so. You do not."),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "crash"},
        "One.\n\nCrash! Two.",
        "Crash.\n\nTwo.",
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "crash"},
        'One.\n\n"Crash"',
        "One.\n\nCrash\n\nThree",
    ),
    (
        "length_constraints:number_paragraphs",
        {"num_paragraphs": 3},
        "a\n***\nb\n***\nc\n***",
        "a\n***\n***\nc",
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": LEAST},
        "Dr. Who came. Really?",
        "Dr. Who came.",
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": LESS},
        "It costs 3.50 here.",
        "One. Two.",
    ),
    ("length_constraints:number_words", {"num_words": 3, "relation": LESS}, "two words", "it's two"),
    ("letters:letter_counting", {"N": 4, "relation": LEAST}, "ab 12 cd", "ab 1234"),
    ("letters:letter_counting2", {"letter": "a", "let_frequency": 2, "let_relation": LESS}, "A", "Aa"),
    ("new:copy_span_idx", {"prompt_to_repeat": "Hello world", "n_start": 6, "n_end": 11}, "World", "Hello"),
    ("paragraphs:paragraphs", {}, "one\n***\ntwo", "one\n\ntwo"),
    ("paragraphs:paragraphs2", {}, "one\n\ntwo", "one\n***\ntwo"),
    ("punctuation:no_comma", {}, "No. Commas!", "No, none"),
    ("punctuation:punctuation_dot", {}, "No dots!", "A dot."),
    ("punctuation:punctuation_exclamation", {}, "Calm.", "Loud!"),
    ("startend:end_checker", {"end_phrase": "Is that all?"}, '"Well, is that all?"', "Is that all? No."),
    ("startend:quotation", {}, '"All of it."', '"Half" of it'),
]


@pytest.mark.parametrize(
    ("name", "arguments", "good", "bad"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_follows_and_what_does_not(name, arguments, good, bad):
    assert follows(good, name, arguments) is True
    assert follows(bad, name, arguments) is False


def test_each_instruction_has_a_case():
    assert {case[0] for case in CASES} == set(names())
    assert len(names()) == 54


@pytest.mark.parametrize("name", [case[0] for case in CASES])
def test_an_empty_text_follows_nothing(name):
    arguments = next(case[1] for case in CASES if case[0] == name)
    assert follows(" \n", name, arguments) is False


def test_arguments_that_are_null_are_not_there():
    assert follows(
        "a b", "length_constraints:number_words", {"num_words": 2, "relation": LEAST, "keywords": None}
    )


@pytest.mark.parametrize(
    ("name", "arguments", "field"),
    [
        ("length_constraints:number_words", {"num_words": 2}, "relation"),
        ("length_constraints:number_words", {"num_words": -1, "relation": LEAST}, "num_words"),
        ("length_constraints:number_words", {"num_words": 2, "relation": "exactly"}, "relation"),
        ("punctuation:no_comma", {"num_words": 2}, "num_words"),
        ("keywords:existence", {"keywords": [""]}, "keywords.0"),
    ],
)
def test_arguments_that_do_not_fit_are_named(name, arguments, field):
    with pytest.raises(InvalidInstruction, match=f"{name}: {field}"):
        find(name).read(arguments)


def test_an_unknown_instruction_is_named():
    with pytest.raises(UnknownInstruction, match="'length:word'"):
        find("length:word")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ('He said "Go." Then left.', ['He said "Go."', "Then left."]),
        ("Mr. Smith met J. Doe, e.g. at 3.50. Fine", ["Mr. Smith met J. Doe, e.g. at 3.50.", "Fine"]),
        ("1. First\n2. Second. Third", ["1. First 2. Second.", "Third"]),
        ("Wait... what?!", ["Wait...", "what?!"]),
        ("**Bold.** Then.", ["**Bold.**", "Then."]),
        ("So am I. You too.", ["So am I.", "You too."]),
        ("Visit example.com now.", ["Visit example.com now."]),
        ("这是。那是！", ["这是。", "那是！"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences(text, sentences):
    assert parts.sentences(text) == sentences


def test_words():
    assert parts.words("Don't stop, well-kept café 3x!") == ["Don't", "stop", "well-kept", "café", "3x"]


@given(st.text())
def test_sentences_lose_nothing_but_white_space(text):
    assert "".join("".join(parts.sentences(text)).split()) == "".join(text.split())


@given(st.text(), st.sampled_from(CASES))
def test_any_text_follows_or_does_not(text, case):
    name, arguments, _, _ = case
    assert follows(text, name, arguments) in (True, False)


@given(st.text(min_size=1), st.integers(0, 20))
def test_less_than_and_at_least_are_opposites(text, number):
    for name, count in (("number_words", "num_words"), ("number_sentences", "num_sentences")):
        found = [
            follows(text, f"length_constraints:{name}", {count: number, "relation": how})
            for how in (LESS, LEAST)
        ]
        assert sum(found) == bool(text.strip())


@given(st.lists(st.sampled_from(["One here.", "Two now!", "Is it?"]), max_size=8))
def test_sentences_are_counted(sentences):
    assert parts.sentences(" ".join(sentences)) == sentences
