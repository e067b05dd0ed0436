"""Results of tools become plain JSON, or an error says where they cannot."""

import json
from collections import UserDict, UserList
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import Enum, IntEnum, StrEnum
from uuid import UUID

import pytest
from pydantic import BaseModel

from spakky.agent.declare.encode import encode_value
from spakky.agent.error import AgentValueError
from spakky.agent.json_value import FrozenObject


class Color(StrEnum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Pair(Enum):
    BOTH = (1, "a")


@dataclass
class Pt:
    x: int
    color: Color
    more: "tuple[Pt, ...]" = ()


class Invoice(BaseModel):
    day: date
    points: list[int]


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (2.5, 2.5),
        ("a", "a"),
        (Color.RED, "red"),
        (Level.LOW, 1),
        (Pair.BOTH, [1, "a"]),
        ([1, (2,)], [1, [2]]),
        ({"a": Pt(1, Color.RED)}, {"a": {"x": 1, "color": "red", "more": []}}),
        ({Color.RED: 1}, {"red": 1}),
        (FrozenObject({"a": 1}), {"a": 1}),
        (UserDict({"a": 1}), {"a": 1}),
        (UserList([1]), [1]),
        (date(2026, 1, 31), "2026-01-31"),
        (datetime(2026, 1, 31, 9, 30, tzinfo=UTC), "2026-01-31T09:30:00+00:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (
            [Invoice(day=date(2026, 1, 31), points=[1])],
            [{"day": "2026-01-31", "points": [1]}],
        ),
    ],
)
def test_a_result_becomes_plain_json(value: object, encoded: object) -> None:
    result = encode_value(value)

    assert result == encoded
    assert json.loads(json.dumps(result)) == encoded


def test_subclasses_of_scalars_become_scalars() -> None:
    encoded = encode_value({Color.RED: [Color.RED, Level.LOW, type("F", (float,), {})(1.5)]})

    assert isinstance(encoded, dict)
    assert [type(key) for key in encoded] == [str]
    assert [type(item) for item in encoded["red"]] == [str, int, float]


def _cycle() -> object:
    items: list[object] = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: {"a": {1}}, r"result\.a: set has no JSON form"),
        (lambda: [b"secret"], r"result\[0\]: bytes has no JSON form"),
        (lambda: bytearray(b"secret"), "bytearray"),
        (lambda: {1: "a"}, "a key of type int"),
        (lambda: [float("nan")], r"result\[0\]: a number that is not finite"),
        (lambda: Pt, "type has no JSON form"),
        (lambda: Invoice, "has no JSON form"),
        (object, "object has no JSON form"),
        (_cycle, "nested too deeply"),
    ],
)
def test_what_has_no_json_form_is_refused_by_path_and_type(
    make: Callable[[], object], says: str
) -> None:
    with pytest.raises(AgentValueError, match=says) as caught:
        encode_value(make())

    assert "secret" not in str(caught.value)
