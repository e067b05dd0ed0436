"""Decoding is strict, gives the declared types, and tells what is wrong without telling the value."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Literal, NotRequired, TypedDict
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from spakky.agent.declare.decode import decode_value
from spakky.agent.declare.schema import schema_for_type
from spakky.agent.error import AgentDefinitionError, AgentToolBindingError
from spakky.agent.json_value import FrozenObject, JsonValue


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1


class Many(Enum):
    locals().update({f"m{number}": number for number in range(25)})


class Mixed(Enum):
    YES = True
    TWO = 2
    HALF = 0.5


@dataclass
class Pt:
    x: int
    y: int = 0
    total: int = field(init=False, default=0)


@dataclass
class Positive:
    n: int

    def __post_init__(self) -> None:
        if self.n <= 0:
            message = f"secret-value {self.n}"
            raise KeyError(message)


@dataclass
class Node:
    name: str
    children: "list[Node]" = field(default_factory=list)


@dataclass
class A:
    b: "B | None" = None


@dataclass
class B:
    a: A


@dataclass
class Cat:
    kind: Literal["cat"]
    lives: int


@dataclass
class Dog:
    kind: Literal["dog"]
    name: str


class Row(TypedDict):
    a: int
    b: NotRequired[str]


class Invoice(BaseModel):
    lines: list[int]
    note: str = ""


class Quiet:
    @classmethod
    def model_json_schema(cls) -> Mapping[str, JsonValue]:
        return {"type": "string"}

    @classmethod
    def model_validate(cls, obj: object) -> "Quiet":
        message = f"secret-value {obj}"
        raise ValueError(message)


class Listing:
    """Its errors are listed in another form than expected."""

    @classmethod
    def model_json_schema(cls) -> Mapping[str, JsonValue]:
        return {"type": "string"}

    @classmethod
    def model_validate(cls, obj: object) -> "Listing":
        raise ListingError


class ListingError(Exception):
    def errors(self) -> list[object]:
        return ["text", {"type": 3}, {"type": "too_odd"}]


type Tree = dict[str, Tree] | int

EQUAL_TYPES = [
    (str, "a", "a"),
    (str, Color.RED, "red"),
    (int, 3, 3),
    (int, 3.0, 3),
    (int, -0.0, 0),
    (int, Level.LOW, 1),
    (float, 3, 3.0),
    (float, 3.5, 3.5),
    (bool, True, True),
    (None, None, None),
    (Color, "red", Color.RED),
    (Level, 1, Level.LOW),
    (Level, 1.0, Level.LOW),
    (Mixed, True, Mixed.YES),
    (Mixed, 2, Mixed.TWO),
    (Mixed, 0.5, Mixed.HALF),
    (Literal["a", Color.RED, 3], "red", Color.RED),
    (Literal["a", None], None, None),  # noqa: PYI061  # the spelling is the point
    (list[int], [1, 2.0], [1, 2]),
    (list[int], (1, 2), [1, 2]),
    (Sequence[str], ["a"], ["a"]),
    (tuple[int, ...], [1], (1,)),
    (tuple[int, Color], [1, "blue"], (1, Color.BLUE)),
    (tuple[()], [], ()),
    (dict[str, Pt], {"k": {"x": 1}}, {"k": Pt(1)}),
    (Mapping[str, int], FrozenObject({"k": 1}), {"k": 1}),
    (Pt, {"x": 1}, Pt(1, 0)),
    (list[Pt], [{"x": 2, "y": 3}], [Pt(2, 3)]),
    (Pt | None, None, None),
    (Pt | None, {"x": 1}, Pt(1)),
    (None | Pt, {"x": 1}, Pt(1)),
    (Annotated[Pt, "x"] | None, {"x": 1}, Pt(1)),
    (int | float, 3, 3),
    (float | int, 3, 3),
    (float | int, 3.5, 3.5),
    (int | float, 3.0, 3.0),
    (float | Annotated[int, "n"], 3, 3),
    (str | int, 10**400, 10**400),
    (float | str, "a", "a"),
    (Color | str, "red", Color.RED),
    (Color | str, "green", "green"),
    (str | Color, "red", "red"),
    (Cat | Dog, {"kind": "dog", "name": "x"}, Dog("dog", "x")),
    (Row, {"a": 1}, {"a": 1}),
    (Node, {"name": "a", "children": [{"name": "b"}]}, Node("a", [Node("b")])),
    (B, {"a": {"b": {"a": {}}}}, B(A(B(A())))),
    (Tree, {"a": {"b": 1}}, {"a": {"b": 1}}),
    (JsonValue, {"a": [1, 2.5, None, "x", True]}, {"a": [1, 2.5, None, "x", True]}),
    (Invoice, {"lines": [1]}, Invoice(lines=[1])),
    (date, "2026-01-31", date(2026, 1, 31)),
    (datetime, "2026-01-31T09:30:00Z", datetime(2026, 1, 31, 9, 30, tzinfo=UTC)),
    (datetime, "2026-01-31t09:30:00.5z", datetime(2026, 1, 31, 9, 30, 0, 500000, tzinfo=UTC)),
    (
        datetime,
        "2026-01-31T09:30:00.1234567891+09:00",
        datetime(2026, 1, 31, 9, 30, 0, 123456, tzinfo=timezone(timedelta(hours=9))),
    ),
    (UUID, "12345678-1234-5678-1234-56781234567A", UUID("12345678-1234-5678-1234-56781234567a")),
]


@pytest.mark.requirement("TOOL-17", "SCHEMA-3")
@pytest.mark.parametrize(("hint", "value", "expected"), EQUAL_TYPES)
def test_a_fitting_value_arrives_as_the_declared_type(
    hint: object, value: object, expected: object
) -> None:
    decoded = decode_value(hint, value, "value")

    assert decoded == expected
    assert type(decoded) is type(expected) or isinstance(value, Color)


MISFITS = [
    (str, 1, "value: expected a string, got an integer."),
    (int, True, "value: expected an integer, got a boolean."),
    (int, 3.5, "value: expected an integer, got a number."),
    (int, "3", "value: expected an integer, got a string."),
    (int, "1e1000000000", "value: expected an integer, got a string."),
    (int, float("inf"), "value: expected an integer, got a number."),
    (int, None, "value: expected an integer, got null."),
    (float, "3", "value: expected a finite number, got a string."),
    (float, True, "value: expected a finite number, got a boolean."),
    (float, float("nan"), "value: expected a finite number, got a number."),
    (float, 10**400, "value: expected a finite number, got an integer."),
    (bool, "false", "value: expected a boolean, got a string."),
    (bool, 0, "value: expected a boolean, got an integer."),
    (None, 0, "value: expected null, got an integer."),
    (Color, "green", "value: expected one of 'red', 'blue', got a string."),
    (Level, True, "value: expected one of 1, got a boolean."),
    (Mixed, 1, "value: expected one of True, 2, 0.5, got an integer."),
    (Color, ["red"], "value: expected one of 'red', 'blue', got an array."),
    (list[int], "12", "value: expected an array, got a string."),
    (list[int], [1, "x"], "value[1]: expected an integer, got a string."),
    (list[int], {"a": 1}, "value: expected an array, got an object."),
    (tuple[int, str], [1], "value: expected an array of 2 items, got 1."),
    (tuple[int, str], [1, 2], "value[1]: expected a string, got an integer."),
    (tuple[int, str], 1, "value: expected an array, got an integer."),
    (dict[str, int], [1], "value: expected an object, got an array."),
    (dict[str, int], {"a b": "x"}, 'value["a b"]: expected an integer, got a string.'),
    (dict[str, int], {1: 1}, "value: expected an object whose keys are all strings."),
    (dict[str, int], set(), "value: expected an object, got set."),
    (Pt, {"x": "one"}, "value.x: expected an integer, got a string."),
    (Pt, {"x": 1, "z": 9}, 'value: unknown "z" (allowed: "x", "y").'),
    (Pt, {"x": 1, "total": 9}, 'value: unknown "total" (allowed: "x", "y").'),
    (Pt, {"y": 1}, 'value: missing "x" (allowed: "x", "y").'),
    (Pt, [1], "value: expected an object, got an array."),
    (Positive, {"n": 0}, "value: Positive refused these values (KeyError)."),
    (Pt | None, 3, "value: expected an object or null, got an integer."),
    (Pt | None, {"x": "a"}, "value.x: expected an integer, got a string."),
    (Pt | None, {}, 'value: missing "x" (allowed: "x", "y").'),
    (int | str, [], "value: expected an integer or a string, got an array."),
    (int | float, "x", "value: expected an integer or a finite number, got a string."),
    (float | bool, float("inf"), "value: expected a finite number or a boolean, got a number."),
    (Cat | Dog, {"kind": "dog", "name": 3}, "value.name: expected a string, got an integer."),
    (Cat | Dog, 3, "value: expected an object, got an integer."),
    (
        Cat | Dog | None,
        {"kind": "cat"},
        'value: missing "lives" (allowed: "kind", "lives").',
    ),
    (Node, {"name": "a", "children": [{}]}, 'value.children[0]: missing "name"'),
    (Row, {"b": "x"}, 'value: missing "a" (allowed: "a", "b").'),
    (date, "20260131", "value: expected a date such as 2026-01-31, got a string."),
    (date, "2026-02-30", "value: expected a date such as 2026-01-31, got a string."),
    (date, 20260131, "value: expected a date such as 2026-01-31, got an integer."),
    (datetime, "2026-01-31T09:30:00", "value: expected a date-time with an offset"),
    (datetime, "2026-01-31T25:30:00Z", "value: expected a date-time with an offset"),
    (datetime, "2026-01-31T09:30:00123Z", "value: expected a date-time with an offset"),
    (UUID, "12345678123456781234567812345678", "value: expected a UUID, got a string."),
    (Invoice, {"lines": ["secret-value"]}, "value: Invoice refused the value (lines.0: int_pars"),
    (Invoice, 3, "value: Invoice refused the value (model_type)."),
    (Quiet, "x", "value: Quiet refused the value (ValueError)."),
    (Listing, "x", "value: Listing refused the value (too_odd)."),
]


@pytest.mark.requirement("TOOL-17")
@pytest.mark.parametrize(("hint", "value", "message"), MISFITS)
def test_a_misfit_is_told_by_path_expectation_and_type(
    hint: object, value: object, message: str
) -> None:
    with pytest.raises(AgentToolBindingError) as caught:
        decode_value(hint, value, "value")

    assert str(caught.value).startswith(message)
    assert "secret-value" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_huge_exponent_is_decided_at_once() -> None:
    started = time.process_time()
    for value in ("1e1000000000", json.loads("1e1000000000"), 1e308):
        try:
            decode_value(int, value, "n")
        except AgentToolBindingError:
            continue

    assert time.process_time() - started < 0.05


def test_long_lists_of_choices_and_long_keys_are_cut() -> None:
    with pytest.raises(AgentToolBindingError, match="and 5 more, got"):
        decode_value(Many, "x", "value")
    with pytest.raises(AgentToolBindingError, match=r'value\["a{64}\.\.\."\]: expected'):
        decode_value(dict[str, int], {"a" * 100: "x"}, "value")


def test_a_value_that_is_nested_without_end_is_refused() -> None:
    value: dict[str, object] = {}
    value["a"] = value

    with pytest.raises(AgentToolBindingError, match="nested too deeply"):
        decode_value(Tree, value, "value")


def test_a_type_that_json_cannot_express_cannot_be_decoded() -> None:
    with pytest.raises(AgentDefinitionError):
        decode_value(set[int], [1], "value")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["x", "y", "z", "name", "children"]), inner, max_size=3)
    ),
    max_leaves=8,
)
HINTS: list[object] = [
    int,
    bool,
    str,
    int | str | None,
    list[int],
    tuple[int, str],
    dict[str, bool],
    Pt,
    Pt | None,
    Node,
    Color,
    Literal[1, "x", True],
    Cat | Dog,
    Row,
]


@pytest.mark.requirement("TOOL-17", "SCHEMA-1")
@given(value=JSON, hint=st.sampled_from(HINTS))
def test_what_the_schema_takes_is_what_the_decoder_takes(value: JsonValue, hint: object) -> None:
    fits = Draft202012Validator(schema_for_type(hint)).is_valid(value)

    if fits:
        decode_value(hint, value, "value")
    else:
        with pytest.raises(AgentToolBindingError):
            decode_value(hint, value, "value")
