import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from odradek.verifiers.documents import DocumentError, Format, check, fenced, read, typed

JSON, YAML, XML, TOML = Format.JSON, Format.YAML, Format.XML, Format.TOML
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (JSON, '{"name": "Ann", "age": 7}'),
        (YAML, "name: Ann\nage: 7\n"),
        (TOML, 'name = "Ann"\nage = 7\n'),
    ],
)
def test_a_document_that_fits(form, text):
    checked = check(text, form, PERSON)
    assert (checked.valid, checked.value) == (True, {"name": "Ann", "age": 7})


def test_xml_is_typed_by_the_schema():
    schema = {"type": "object", "properties": {"person": PERSON}}
    assert check("<person><name>7</name><age>7</age></person>", XML, schema).value == {
        "person": {"name": "7", "age": 7}
    }
    assert not check("<person><name>Ann</name><age>old</age></person>", XML, schema).valid


def test_what_is_wrong_is_named():
    checked = check('{"name": "Ann", "age": -1, "pet": 1}', JSON, PERSON)
    assert len(checked.problems) == 2
    assert any(problem.startswith("age: ") for problem in checked.problems)
    assert any("pet" in problem for problem in checked.problems)


@pytest.mark.parametrize(
    ("form", "text", "reason"),
    [
        (JSON, "{", "json"),
        (JSON, "", "json"),
        (JSON, "[NaN]", "json"),
        (JSON, "[" * 100_000, "json"),
        (YAML, "a: [1", "yaml"),
        (YAML, "a: &x [1]\nb: *x", "aliases"),
        (YAML, "1: a", "the key 1 is no text"),
        (YAML, "a: .nan", "no number"),
        (YAML, "!!python/object/apply:os.getcwd []", "yaml"),
        (YAML, "a: !!binary aGVsbG8=", "bytes has no place"),
        (YAML, "[" * 3000, "deeply"),
        (TOML, "a = " + "[" * 3000, "deeply"),
        (TOML, "a = ", "toml"),
        (TOML, "a = nan", "no number"),
        (XML, "<a>", "xml"),
        (XML, "", "xml"),
        (XML, '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "xml"),
    ],
)
def test_what_is_no_document_is_refused(form, text, reason):
    with pytest.raises(DocumentError, match=reason):
        read(text, form)
    assert not check(text, form, {}).valid


def test_dates_are_texts():
    assert read("at: 2020-02-03\n", YAML) == {"at": "2020-02-03"}
    assert read("at = 2020-02-03T04:05:06Z\nday = 07:08:09", TOML) == {
        "at": "2020-02-03T04:05:06+00:00",
        "day": "07:08:09",
    }


def test_xml_as_a_value():
    text = '<a x="1"><b>2</b><b/><b><c>d</c></b>tail</a>'
    assert read(text, XML) == {"a": {"@x": "1", "b": ["2", None, {"c": "d"}], "#text": "tail"}}


@pytest.mark.parametrize(
    ("value", "schema", "wanted"),
    [
        ("1.5", {"type": "number"}, 1.5),
        ("true", {"type": "boolean"}, True),
        ("null", {"type": "null"}, None),
        ("x", {"type": "integer"}, "x"),
        ('"1"', {"type": "integer"}, '"1"'),
        ("1", {"type": "array", "items": {"type": "integer"}}, [1]),
        (None, {"type": "array"}, []),
        (None, {"type": "string"}, ""),
        ({"a": "1"}, {"additionalProperties": {"type": "integer"}}, {"a": 1}),
        ("1", True, "1"),
    ],
)
def test_typed(value, schema, wanted):
    assert typed(value, schema) == wanted


@pytest.mark.parametrize("schema", [{"type": "strong"}, {"$ref": "#/nowhere"}, {"pattern": "("}])
def test_a_schema_that_is_none_is_refused(schema):
    with pytest.raises(ValueError, match="not a JSON Schema"):
        check("1", JSON, schema)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("no fence", "no fence"),
        ("```json\n{}\n```", "{}"),
        ("first\n```\na\n```\nthen\n```yaml\nb: 1\nc: 2\n```\nbye", "b: 1\nc: 2"),
        ("~~~\na\n~~~", "a"),
        ("````\n```\na\n```\n````", "```\na\n```"),
        ("```\nnever closed", "```\nnever closed"),
        ("```\n```", ""),
    ],
)
def test_fenced(text, inside):
    assert fenced(text) == inside


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_json_and_yaml_are_read_back(value):
    assert read(json.dumps(value), JSON) == value
    assert read(yaml.safe_dump(value), YAML) == value


@given(st.text(), st.sampled_from(Format))
def test_any_text_is_read_or_refused(text, form):
    checked = check(text, form, {})
    assert checked.valid or checked.value is None


@given(VALUES)
def test_what_has_no_texts_is_typed_already(value):
    without = json.loads(json.dumps(value), parse_constant=float)
    assert typed(without, {}) == value
