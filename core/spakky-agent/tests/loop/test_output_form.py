"""The form of the final answer."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pytest

from spakky.agent.loop.output_form import FreeText, OutputMisfit, TypedOutput, output_form_of


class Mood(StrEnum):
    GOOD = "good"


@dataclass
class Report:
    title: str
    score: float = 0.0
    tags: list[str] = field(default_factory=list)


@dataclass
class Tree:
    name: str
    below: list["Tree"] = field(default_factory=list)


@pytest.mark.requirement("SPEC-24")
def test_without_a_type_the_answer_is_free_text_and_there_is_no_output() -> None:
    form = output_form_of(None)
    assert isinstance(form, FreeText)
    assert form.request_spec() is None
    assert form.read("hello", None) is None
    assert form.decode(None) is None


@pytest.mark.requirement("SPEC-24")
def test_plain_text_is_its_own_output() -> None:
    form = output_form_of(str)
    assert form.request_spec() is None
    assert form.decode(form.read("hello", None)) == "hello"


@pytest.mark.requirement("SPEC-24")
@pytest.mark.parametrize(
    "text",
    [
        '{"title": "a", "score": 1}',
        '  {"title": "a", "score": 1.0}\n',
        '```json\n{"title": "a", "score": 1}\n```',
        '```\n{"title": "a", "score": 1}```',
    ],
)
def test_an_object_is_read_from_text_or_fenced_text(text: str) -> None:
    form = output_form_of(Report)
    output = form.decode(form.read(text, None))
    assert output == Report("a", 1.0)
    spec = form.request_spec()
    assert spec is not None
    assert spec.output_type_name == "Report"


def test_a_value_that_the_adapter_decoded_needs_no_text() -> None:
    form = output_form_of(Report)
    stored = form.read("ignored", {"title": "a", "tags": ("b", "c")})
    assert form.decode(stored) == Report("a", tags=["b", "c"])


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [(int, 3, 3), (bool, False, False), (Mood, "good", Mood.GOOD)],
)
@pytest.mark.requirement("SPEC-24")
def test_anything_but_an_object_is_wrapped(kind: type[object], value: Any, expected: Any) -> None:
    form = output_form_of(kind)
    spec = form.request_spec()
    assert spec is not None
    assert spec.constraint.schema["type"] == "object"
    assert spec.constraint.schema["required"] in (["value"], ("value",))
    assert form.decode(form.read("", {"value": value})) == expected


def test_a_recursive_type_keeps_its_definitions_reachable() -> None:
    form = TypedOutput(Tree)
    spec = form.request_spec()
    assert spec is not None
    schema = spec.constraint.schema
    assert schema["type"] == "object"
    assert "$defs" in schema
    stored = form.read('{"value": {"name": "a", "below": [{"name": "b"}]}}', None)
    assert form.decode(stored) == Tree("a", [Tree("b")])


@pytest.mark.parametrize(
    ("kind", "text", "structured"),
    [
        (Report, "", None),
        (Report, "Here you are: {}", None),
        (Report, "[" * 100_000, None),
        (Report, "{}", None),
        (Report, '{"title": 1}', None),
        (Report, '{"title": "a", "more": 1}', None),
        (Report, '{"title": "a", "score": NaN}', None),
        (Report, "", {"title": "a", "score": float("inf")}),
        (Report, "null", None),
        (int, "3", None),
        (int, '{"value": 3, "more": 1}', None),
        (int, '{"value": "three"}', None),
        (int, "[3]", None),
    ],
)
def test_what_does_not_fit_is_told_in_words_for_the_model(
    kind: type[object], text: str, structured: Any
) -> None:
    with pytest.raises(OutputMisfit) as caught:
        output_form_of(kind).read(text, structured)
    assert str(caught.value)


def test_what_no_store_keeps_is_replaced() -> None:
    assert output_form_of(Report).read('{"title": "a\\u0000"}', None) == {"title": "a\ufffd"}
