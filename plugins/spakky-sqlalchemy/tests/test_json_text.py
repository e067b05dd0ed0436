"""The JSON encoding of every column."""

import math
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.plugins.sqlalchemy.json_text import (
    REPLACEMENT,
    Json,
    clean_text,
    dump_json,
    encode_stored,
    load_json,
)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("a\x00b", f"a{REPLACEMENT}b"),
        ("a\ud800b", f"a{REPLACEMENT}b"),
        ({"k\x00": ["\udfff"]}, {f"k{REPLACEMENT}": [REPLACEMENT]}),
        (math.nan, "NaN"),
        ([math.inf, -math.inf, 0.5], ["Infinity", "-Infinity", 0.5]),
        ({"n": math.nan, "t": "\x00"}, {"n": "NaN", "t": REPLACEMENT}),
        ("\\u0000", "\\u0000"),
        ("🙂 \u2028", "🙂 \u2028"),
    ],
)
def test_what_one_database_would_refuse_is_replaced(value: Json, stored: Json) -> None:
    text, read_back = encode_stored(value)
    assert load_json(text) == stored
    assert read_back == stored


def test_a_value_that_can_be_stored_is_handed_back_itself() -> None:
    value: dict[str, Json] = {"b": [1, None, True], "a": {"ü": "x"}}
    text, stored = encode_stored(value)
    assert stored is value
    assert text == '{"b":[1,null,true],"a":{"ü":"x"}}'


def test_an_encoded_text_is_not_encoded_again() -> None:
    text, _ = encode_stored({"a": 1})
    assert dump_json(text) is text
    assert dump_json(str(text)) == '"{\\"a\\":1}"'


def test_other_mappings_and_sequences_are_encoded_as_objects_and_arrays() -> None:
    value = MappingProxyType({"a": (1, MappingProxyType({"b": range(2)}))})
    assert dump_json(value) == '{"a":[1,{"b":[0,1]}]}'


@pytest.mark.parametrize("value", [b"bytes", object(), {1, 2}])
def test_what_is_no_json_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match=type(value).__name__):
        dump_json([value])  # type: ignore[list-item]  # the point of the test


def test_a_clean_text_is_left_alone() -> None:
    assert clean_text("plain é 🙂") == "plain é 🙂"


_scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
_values = st.recursive(
    _scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner)
)


@given(_values)
def test_reading_gives_what_the_encoder_said_it_would(value: Json) -> None:
    text, stored = encode_stored(value)
    assert load_json(text) == stored
    assert encode_stored(stored)[0] == text
    assert "\x00" not in text
    text.encode()
