import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.guards.exposure import EvidenceExposurePolicy
from spakky.agent.guards.field_paths import path_reaches_value
from spakky.agent.guards.redact import redact_fields, redact_text, sensitive_values
from spakky.agent.guards.sensitive import (
    PII,
    REDACTED_TEXT,
    DataSensitivity,
    MaskingPolicy,
    RedactionPolicy,
    SecretField,
    SensitiveField,
    SensitiveFieldDescriptor,
)
from spakky.agent.json_value import JsonValue

NOTHING = EvidenceExposurePolicy().can_expose_value
REDACT = SecretField(RedactionPolicy.REDACT)
DROP = SecretField(RedactionPolicy.DROP)


def at(*path: str, field: SecretField | SensitiveField = REDACT) -> SensitiveFieldDescriptor:
    return SensitiveFieldDescriptor(path, field)


@pytest.mark.parametrize(
    ("value", "path", "guarded"),
    [
        ("raw", (), REDACTED_TEXT),
        ({"token": "raw", "x": 1}, ("token",), {"token": REDACTED_TEXT, "x": 1}),
        ({"a": {"b": "raw"}}, ("a", "b"), {"a": {"b": REDACTED_TEXT}}),
        ({"keys": ["raw", "raw2"]}, ("keys", "*"), {"keys": [REDACTED_TEXT] * 2}),
        ({"env": {"A": "raw"}}, ("env", "*"), {"env": {"A": REDACTED_TEXT}}),
        ([{"t": "raw"}, {"u": "x"}], ("*", "t"), [{"t": REDACTED_TEXT}, {"u": "x"}]),
        ({"pin": 1234}, ("pin",), {"pin": REDACTED_TEXT}),
        ({"pin": True}, ("pin",), {"pin": REDACTED_TEXT}),
        ({"pin": ["raw"]}, ("pin",), {"pin": REDACTED_TEXT}),
        ({"*": "raw", "x": "raw"}, ("*",), {"*": REDACTED_TEXT, "x": REDACTED_TEXT}),
    ],
)
@pytest.mark.requirement("SAFE-4", "SAFE-8")
def test_the_value_at_a_path_is_replaced(
    value: JsonValue, path: tuple[str, ...], guarded: JsonValue
) -> None:
    assert redact_fields(value, [at(*path)], NOTHING) == guarded


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"x": 1}, ("token",)),
        ({"token": None}, ("token",)),
        ({"a": None}, ("a", "b")),
        ({"keys": []}, ("keys", "*")),
        (None, ()),
    ],
)
def test_a_missing_or_null_value_changes_nothing(value: JsonValue, path: tuple[str, ...]) -> None:
    assert redact_fields(value, [at(*path)], NOTHING) is value


@pytest.mark.parametrize(
    ("value", "path", "guarded"),
    [
        ({"user": "raw"}, ("user", "token"), {"user": REDACTED_TEXT}),
        ({"user": 12}, ("user", "token"), {"user": REDACTED_TEXT}),
        ({"users": [{"token": "raw"}]}, ("users", "token"), {"users": [{"token": REDACTED_TEXT}]}),
        ({"users": ["raw"]}, ("users", "token"), {"users": [REDACTED_TEXT]}),
        ("raw", ("*",), REDACTED_TEXT),
        ("raw", ("token",), REDACTED_TEXT),
    ],
)
@pytest.mark.requirement("SAFE-4", "SAFE-8")
def test_a_value_of_another_shape_is_hidden_rather_than_shown(
    value: JsonValue, path: tuple[str, ...], guarded: JsonValue
) -> None:
    assert redact_fields(value, [at(*path)], NOTHING) == guarded


def test_lists_in_the_place_of_an_object_are_hidden_whole_below_a_depth() -> None:
    value: JsonValue = "raw"
    for _ in range(500):
        value = [value]

    assert "raw" not in repr(redact_fields(value, [at("token")], NOTHING))
    assert sensitive_values(value, [at("token")]) == ("raw",)


def test_a_dropped_value_is_taken_out_of_its_object_or_list() -> None:
    value: JsonValue = {"token": "raw", "keys": ["raw", None, "raw"], "x": 1}

    assert redact_fields(
        value, [at("token", field=DROP), at("keys", "*", field=DROP)], NOTHING
    ) == {
        "keys": [None],
        "x": 1,
    }
    assert redact_fields("raw", [at(field=DROP)], NOTHING) is None
    assert redact_fields({"user": "raw"}, [at("user", "token", field=DROP)], NOTHING) == {}


def test_a_reference_names_the_field_and_not_the_value() -> None:
    fields = [
        at("a", field=SecretField()),
        at(
            "b",
            field=SensitiveField(PII.EMAIL, redaction=RedactionPolicy.REFERENCE_ONLY, label="mail"),
        ),
    ]

    assert redact_fields({"a": "raw", "b": "raw"}, fields, NOTHING) == {
        "a": {"$ref": "secret"},
        "b": {"$ref": "mail"},
    }


def test_masks_show_parts_of_texts_only() -> None:
    last = SensitiveField(PII.PHONE, MaskingPolicy.LAST_FOUR)

    assert redact_fields({"p": "0123456789"}, [at("p", field=last)], NOTHING) == {"p": "****6789"}
    assert redact_fields({"p": 123456789}, [at("p", field=last)], NOTHING) == {"p": REDACTED_TEXT}
    assert redact_fields({"p": ["0123456789"]}, [at("p", field=last)], NOTHING) == {
        "p": REDACTED_TEXT
    }


def test_the_hash_of_an_object_does_not_depend_on_the_order_of_its_keys() -> None:
    hashed = at(field=SensitiveField(PII.NAME, MaskingPolicy.HASH))
    one = redact_fields({"a": 1, "b": {"c": 2}}, [hashed], NOTHING)
    other = redact_fields(
        MappingProxyType({"b": MappingProxyType({"c": 2}), "a": 1}), [hashed], NOTHING
    )

    assert one == other
    assert isinstance(one, str)
    assert one.startswith("sha256:")


def test_the_outer_descriptor_wins_over_an_inner_one_in_any_order() -> None:
    fields = [at("user", "name", field=SensitiveField(PII.NAME)), at("user")]

    for order in (fields, fields[::-1]):
        assert redact_fields({"user": {"name": "raw"}}, order, NOTHING) == {"user": REDACTED_TEXT}


def test_of_two_descriptors_with_one_path_the_secret_one_wins_then_the_first() -> None:
    mail = at("a", field=SensitiveField(PII.EMAIL, MaskingPolicy.LAST_FOUR))
    name = at("a", field=SensitiveField(PII.NAME))

    assert redact_fields({"a": "12345678"}, [mail, at("a")], NOTHING) == {"a": REDACTED_TEXT}
    assert redact_fields({"a": "12345678"}, [mail, name], NOTHING) == {"a": "****5678"}
    assert redact_fields({"a": "12345678"}, [mail, at("*", field=SecretField())], NOTHING) == {
        "a": {"$ref": "secret"}
    }


def test_only_what_the_policy_exposes_stays() -> None:
    fields = [
        at("mail", field=SensitiveField(PII.EMAIL)),
        at("note", field=SensitiveField(DataSensitivity.CONFIDENTIAL)),
        at("key"),
    ]
    value = {"mail": "m", "note": "n", "key": "k"}
    policy = EvidenceExposurePolicy(include_pii_values=True)

    assert redact_fields(value, fields, policy.can_expose_value) == {
        "mail": "m",
        "note": REDACTED_TEXT,
        "key": REDACTED_TEXT,
    }
    assert redact_fields(value, fields[:1], policy.can_expose_value) is value
    assert redact_fields(value, [], NOTHING) is value


def test_the_given_value_is_not_changed_and_untouched_parts_are_shared() -> None:
    other: JsonValue = {"deep": [1]}
    value: JsonValue = {"keys": [{"t": "raw"}], "other": other}
    before = json.dumps(value)

    guarded = redact_fields(value, [at("keys", "*", "t")], NOTHING)

    assert json.dumps(value) == before
    assert isinstance(guarded, dict)
    assert guarded["other"] is other


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just("harmless"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)


def plant(value: JsonValue, path: tuple[str, ...], raw: str) -> JsonValue:
    """Give the value with the raw text where the path leads."""
    if not path:
        return raw
    if path[0] == "*":
        return [plant(value, path[1:], raw), plant(None, path[1:], raw)]
    kept = dict(value) if isinstance(value, dict) else {}
    return {**kept, path[0]: plant(kept.get(path[0]), path[1:], raw)}


@given(
    JSON,
    st.lists(st.sampled_from(["a", "b", "*"]), max_size=4).map(tuple),
    st.sampled_from(
        [SecretField(), REDACT, DROP]
        + [
            SensitiveField(PII.NAME, masking, redaction)
            for masking in MaskingPolicy
            for redaction in RedactionPolicy
        ]
    ),
)
@pytest.mark.requirement("SAFE-4", "SAFE-8")
def test_the_raw_value_never_occurs_in_the_guarded_output(
    value: JsonValue, path: tuple[str, ...], field: SensitiveField | SecretField
) -> None:
    raw = "hidden-value-0123456789"
    planted = plant(value, path, raw)

    guarded = redact_fields(planted, [SensitiveFieldDescriptor(path, field)], NOTHING)

    assert raw not in json.dumps(guarded)
    assert guarded == redact_fields(planted, [SensitiveFieldDescriptor(path, field)], NOTHING)
    assert raw in sensitive_values(planted, [SensitiveFieldDescriptor(path, field)])


@given(JSON, st.lists(st.sampled_from(["a", "b", "*"]), max_size=4).map(tuple))
def test_what_is_collected_is_what_is_hidden(value: JsonValue, path: tuple[str, ...]) -> None:
    texts = sensitive_values(value, [at(*path)])

    assert (redact_fields(value, [at(*path)], NOTHING) is value) <= (not texts)


def test_sensitive_values_come_once_the_longest_first_without_empty_ones() -> None:
    value: JsonValue = {"a": ["bb", "ccc", "", "bb", None, True], "n": 12, "f": 1.5, "x": "no"}

    assert sensitive_values(value, [at("a", "*"), at("n"), at("f")]) == ("1.5", "ccc", "12", "bb")
    assert sensitive_values({"m": {"key": ["v"]}}, [at("m")]) == ("key", "v")
    assert sensitive_values({"m": "shape"}, [at("m", "t")]) == ("shape",)
    assert sensitive_values(value, []) == ()


@pytest.mark.parametrize(
    ("text", "values", "guarded"),
    [
        ("bad token abc!", ("abc",), "bad token [REDACTED]!"),
        ("no match", ("abc",), "no match"),
        ("abc", ("", "abc"), "[REDACTED]"),
        ("abcd", ("abc", "bcd"), "[REDACTED]"),
        ("abcabc", ("abc",), "[REDACTED][REDACTED]"),
        ("aaa", ("aa",), "[REDACTED]"),
        ("abcdef", ("cd", "abcdef"), "[REDACTED]"),
        ('{"k": "a\\nb\\"c"}', ('a\nb"c',), '{"k": "[REDACTED]"}'),
        ('{"k": "\\u00e9t\\u00e9"}', ("été",), '{"k": "[REDACTED]"}'),
        ("ValueError: 'a\\\\b'", ("a\\b",), "ValueError: '[REDACTED]'"),
    ],
)
@pytest.mark.requirement("SAFE-9")
def test_every_written_form_of_a_value_is_replaced_in_a_text(
    text: str, values: tuple[str, ...], guarded: str
) -> None:
    assert redact_text(text, values) == guarded


def test_the_replacement_is_not_searched_again() -> None:
    assert redact_text("x", ("x", "RE"), "RE-x") == "RE-x"


@pytest.mark.parametrize(
    ("value", "path", "reaches"),
    [
        ({"a": 1}, (), True),
        ({"a": {"b": 1}}, ("a", "b"), True),
        ({"a": 1}, ("b",), False),
        ({"a": None}, ("a", "b"), True),
        ({"a": []}, ("a", "*"), True),
        ({}, ("*",), True),
        ({"a": [{"t": 1}, {}]}, ("a", "*", "t"), True),
        ({"a": [{}, {}]}, ("a", "*", "t"), False),
        ({"a": [{"t": 1}, "x"]}, ("a", "*", "t"), False),
        ({"a": "x"}, ("a", "b"), False),
        ({"a": [{"b": 1}]}, ("a", "b"), False),
    ],
)
def test_a_path_reaches_a_value_only_through_the_shape_that_it_names(
    value: JsonValue, path: tuple[str, ...], reaches: bool
) -> None:
    assert path_reaches_value(value, path) is reaches
