"""The checks that contract values share."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any

import pytest

from spakky.agent.contracts.construction import (
    require_aware,
    require_count,
    require_member,
    store_objects,
    store_texts,
    store_tuples,
    to_utc_text,
)
from spakky.agent.error import AgentDefinitionError, AgentValueError


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Box:
    # Any: the tests put wrong types in.
    items: Any = ()
    extra: Any = None

    def __post_init__(self) -> None:
        store_tuples(self, "items")
        store_objects(self, "extra")


def test_objects_are_copied_and_cannot_be_changed_through_the_value() -> None:
    given = {"a": 1}
    box = Box(extra=given)
    given["a"] = 2
    assert box.extra == {"a": 1}
    with pytest.raises(TypeError, match="read-only"):
        box.extra["a"] = 3


@pytest.mark.parametrize("wrong", ["text", [1], 5, object()])
def test_a_field_that_is_no_mapping_is_refused_by_name(wrong: object) -> None:
    with pytest.raises(AgentValueError, match=r"Box\.extra must be a mapping"):
        Box(extra=wrong)


def test_a_list_is_stored_as_a_tuple_and_a_tuple_as_it_is() -> None:
    given = (1, 2)
    assert Box(items=[1, 2]).items == (1, 2)
    assert Box(items=given).items is given


@pytest.mark.parametrize("wrong", ["text", b"text", {1, 2}, 5, None])
def test_a_field_that_is_no_sequence_is_refused_by_name(wrong: object) -> None:
    with pytest.raises(AgentValueError, match=r"Box\.items must be a tuple or list"):
        Box(items=wrong)


def test_a_text_with_the_value_of_a_member_is_no_member() -> None:
    require_member(Colour.RED, Colour, "Box.colour")
    with pytest.raises(AgentValueError, match=r"Box\.colour .* Colour \(RED, BLUE\), not 'red'"):
        require_member("red", Colour, "Box.colour")


@pytest.mark.parametrize("wrong", [-1, 1.0, True, "1"])
def test_a_count_is_a_whole_number_that_is_not_too_small(wrong: Any) -> None:
    require_count(None, "Box.n")
    require_count(0, "Box.n")
    with pytest.raises(AgentValueError, match=r"Box\.n must be a whole number of at least 0"):
        require_count(wrong, "Box.n")


def test_a_count_has_the_lower_bound_and_error_that_the_caller_names() -> None:
    require_count(3, "Box.n", least=3)
    with pytest.raises(AgentDefinitionError, match="at least 3, not 2"):
        require_count(2, "Box.n", least=3, error=AgentDefinitionError)


# A naive time is what the check is about.
@pytest.mark.parametrize("wrong", [datetime(2026, 1, 1), "2026-01-01T00:00:00Z"])  # noqa: DTZ001
def test_a_point_in_time_needs_a_zone(wrong: Any) -> None:
    require_aware(None, "Box.at")
    require_aware(datetime(2026, 1, 1, tzinfo=UTC), "Box.at")
    with pytest.raises(AgentValueError, match=r"Box\.at must be a datetime with a time zone"):
        require_aware(wrong, "Box.at")


def test_a_point_in_time_is_written_in_utc() -> None:
    seoul = timezone(timedelta(hours=9))
    assert to_utc_text(datetime(2026, 1, 1, 12, tzinfo=seoul)) == "2026-01-01T03:00:00Z"
    assert to_utc_text(datetime(2026, 1, 1, 0, 0, 0, 5, UTC)) == "2026-01-01T00:00:00.000005Z"


def test_texts_are_stored_as_a_tuple_without_blank_entries() -> None:
    box = Box(items=["a", "b"])
    store_texts(box, "items")
    assert box.items == ("a", "b")
    for wrong in (["a", " "], ["a", 5]):
        with pytest.raises(AgentValueError, match=r"Box\.items must"):
            store_texts(Box(items=wrong), "items")
