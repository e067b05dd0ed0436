"""The read-only JSON object: equal copies through every way in which Python copies."""

import copy
import pickle
from typing import Any

import pytest

from spakky.agent.json_value import EMPTY_OBJECT, FrozenObject


def test_an_object_that_does_not_change_is_its_own_copy() -> None:
    value = FrozenObject({"a": [1, 2]})
    assert copy.copy(value) is value
    assert copy.deepcopy(value) is value


def test_an_object_travels_to_another_process() -> None:
    value = FrozenObject({"a": {"b": None}})
    travelled = pickle.loads(pickle.dumps(value))  # noqa: S301 - written in the same line
    assert travelled == value
    assert type(travelled) is FrozenObject


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.update(a=1),
        lambda value: value.pop("a"),
        lambda value: value.clear(),
        lambda value: value.setdefault("b", 1),
        lambda value: value.__setitem__("a", 2),
        lambda value: value.__delitem__("a"),
        lambda value: value.popitem(),
    ],
)
def test_every_way_to_change_it_is_refused(change: Any) -> None:
    value = FrozenObject({"a": 1})
    with pytest.raises(TypeError):
        change(value)
    assert value == {"a": 1}
    assert EMPTY_OBJECT == {}
