"""How a choice is read out of text, mode by mode."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.verifiers.boxes import last_box, without_text_command
from odradek.verifiers.choices import GradingMode, extract
from odradek.verifiers.options import Options

STRICT, BOXED, COLON, MARKDOWN = GradingMode
SHAPES = [{"A": "Circle"}, {"B": "Square"}, {"C": "Red square"}, {"D": "Blue  Triangle"}]


def read(mode, text, options=SHAPES, output_regex=(), answer_prefix=None):
    patterns = [output_regex] if isinstance(output_regex, str) else output_regex
    return extract(text, mode, Options.read(options), patterns, answer_prefix)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (r"\boxed{B}", "B"),
        (r"It is \boxed{A}. No: \boxed{C}", "C"),
        (r"\boxed{ [C] }", "C"),
        (r"\boxed{\text{B}}", "B"),
        (r"\boxed{\text{ \text{B} }}", "B"),
        (r"\boxed{\text{B: Square}}", "B"),
        (r"\boxed{B: Square}", "B"),
        (r"\boxed{B) Square}", "B"),
        (r"\boxed{B. Square}", "B"),
        (r"\boxed{B - Square}", "B"),
        (r"\boxed{(B) Square}", None),
        (r"\boxed{b}", None),
        (r"\boxed{E}", None),
        (r"\boxed{A or B}", None),
        (r"\boxed{Square}", None),
        (r"\boxed{A circle}", None),
        (r"\boxed{1}", None),
        (r"\boxed{}", None),
        (r"\boxed{B", None),
        (r"\boxed{A} then \boxed{B", None),
        (r"B", None),
        (r"Answer: B", None),
        (r"\boxed{\boxed{A}}", "A"),
        (r"\boxed{\mathrm{B}}", None),
    ],
)
def test_strict_single_letter_boxed(text, letter):
    assert read(STRICT, text) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        (r"\boxed{B}", "B"),
        (r"\boxed{circle}", "A"),
        (r"\boxed{the   CIRCLE, I think}", "A"),
        (r"\boxed{\text{blue triangle}}", "D"),
        (r"\boxed{red square}", None),  # "square" is in it too: two options
        (r"\boxed{circle or blue triangle}", None),
        (r"circle \boxed{hexagon}", None),
        (r"circle", None),
    ],
)
def test_lenient_boxed(text, letter):
    assert read(BOXED, text) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Answer: B", "B"),
        ("the ANSWER :b", "B"),
        ("Answer:\nC", "C"),
        (r"Answer: \text{B}", "B"),
        ("Answer: red   Square", "C"),
        ("Answer: Square.", None),
        ("Answer: B.", None),
        ("Answer: E", None),
        ("Answer: let me see. Answer: B", None),
        ("Answer:", None),
        (r"\boxed{B}", None),
    ],
)
def test_lenient_answer_colon(text, letter):
    assert read(COLON, text) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("**Answer:** B", "B"),
        ("**Answer: B**", "B"),
        ("_Answer_: `b`", "B"),
        ("Answer: A\nAnswer: **C**.", "C"),
        ("Answer: B because it has four sides", "B"),
        ("Answer: the right one is C", "C"),
        ("Answer: C\nAnswer: unclear", "C"),
        ("Answer: A, B", None),
        ("Answer: A or B", None),
        ("Answer: A / B", None),
        ("Answer: A and A", "A"),
        ("Answer: E", None),
        ("Answer: Bee", None),
        ("Answer: Ｂ", "B"),
        ("Answer: ب", "B"),
        ("Answer: ড", "C"),
        ("Final: B", None),
        (r"\boxed{B}", None),
    ],
)
def test_lenient_answer_colon_md(text, letter):
    assert read(MARKDOWN, text) == letter


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("final choice: c", "C"),
        ("Final Choice:\nC", "C"),
        ("Final Choice: A\nAnswer: B", "B"),
        ("Answer: B\nFinal Choice: A", "A"),
        (r"so \boxed{D}", "D"),
        ("C", None),
    ],
)
def test_answer_prefix_in_markdown(text, letter):
    assert read(MARKDOWN, text, answer_prefix="Final Choice:") == letter


def test_answer_prefix_serves_no_other_mode():
    assert read(COLON, "Final Choice: B", answer_prefix="Final Choice:") is None


@pytest.mark.parametrize(
    ("regex", "text", "letter"),
    [
        (r"ANSWER IS\s*([A-Z])", "answer is a, no: Answer is b", "B"),
        (r"ANSWER IS\s*(.+)", "Answer is red  SQUARE", "C"),
        (r"ANSWER IS\s*(.+)", "Answer is hexagon", None),
        (r"pick ([A-Z])", "pick Z", "Z"),  # a row's own pattern is trusted with letters
        (r"[A-D](?=!)", "A! b!", "B"),
        (r"(?:x(A)|y(B))", "xA yB", "B"),
        (["first (.)", "second (.)"], "second b", "B"),
        (["(", "second (.)"], "second b", "B"),
    ],
)
def test_output_regex(regex, text, letter):
    assert read(STRICT, text, output_regex=regex) == letter


@pytest.mark.parametrize("regex", ["never", "(", "a{99999999999}", ["(", "never"]])
def test_output_regex_that_yields_nothing_leaves_the_mode(regex):
    assert read(STRICT, r"\boxed{B}", output_regex=regex) == "B"


def test_output_regex_goes_before_the_mode():
    assert read(STRICT, r"pick A, \boxed{B}", output_regex="pick (.)") == "A"


def test_output_regex_does_without_options():
    assert read(STRICT, "pick A", options=[], output_regex="pick (.)") == "A"


def test_options_without_a_text_can_not_be_chosen():
    options = [{"A": "Circle"}, {"B": None}]
    assert read(STRICT, r"\boxed{B}", options) is None
    assert read(STRICT, r"\boxed{A}", options) == "A"


def test_letters_are_those_of_the_options():
    assert read(STRICT, r"\boxed{J}", [{"i": "one", "j": "two"}]) == "J"


@given(st.text(alphabet=r"\boxed{}text ABab:", max_size=60))
def test_the_last_box_is_balanced_text_of_the_input(text):
    box = last_box(text)
    if box is not None:
        assert "\\boxed{" + box + "}" in text
        assert box.count("{") == box.count("}")


@given(st.text(alphabet=r"\text{} AB", max_size=40))
def test_a_text_command_is_taken_off_as_a_whole(text):
    wrapped = "\\text{" + text.strip() + "}"
    assert without_text_command(wrapped) == without_text_command(text.strip())


FRAGMENTS = st.sampled_from(
    [
        "\\boxed{",
        "}",
        "\\text{",
        "A",
        "b",
        "C",
        "Answer",
        ":",
        "**",
        " ",
        "\n",
        "Circle",
        "red square",
        "or",
        ",",
        "Ｂ",
        "أ",
    ]
)


@given(
    st.one_of(st.text(max_size=80), st.lists(FRAGMENTS, max_size=16).map("".join)),
    st.sampled_from(GradingMode),
    st.sampled_from([None, "Final:", "A"]),
)
def test_any_text_gives_an_option_or_nothing(text, mode, prefix):
    letter = read(mode, text, **({"answer_prefix": prefix} if prefix else {}))
    assert letter is None or letter in Options.read(SHAPES)


@given(st.text(max_size=40), st.text(max_size=20))
def test_any_pattern_gives_a_letter_or_nothing(text, pattern):
    letter = read(STRICT, text, output_regex=pattern)
    assert letter is None or (len(letter) == 1 and letter.isalpha())


@given(st.sampled_from("ABCD"), st.sampled_from(GradingMode))
def test_the_form_that_a_mode_asks_for_is_read(letter, mode):
    form = f"\\boxed{{{letter}}}" if "boxed" in mode else f"Answer: {letter}"
    assert read(mode, form) == letter
