"""Types and signatures that JSON cannot express are refused, with the place and the reason."""

from collections.abc import Callable, Mapping
from dataclasses import InitVar, dataclass
from decimal import Decimal
from enum import Enum, Flag, StrEnum
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    TypeVar,
)

import pytest

from spakky.agent.declare.schema import (
    schema_for_type,
)
from spakky.agent.declare.signature import ToolReceiver, read_signature
from spakky.agent.error import AgentDefinitionError
from spakky.agent.guards.sensitive import (
    SecretField,
    SensitiveField,
)

T = TypeVar("T")


class Color(StrEnum):
    RED = "red"


class Bits(Flag):
    A = 1


class Raw(Enum):
    A = b"a"


class Empty(Enum):
    pass


class Plain:
    pass


@dataclass
class WithInitVar:
    x: int
    seed: InitVar[int]


@dataclass(init=False)
class OwnInit:
    x: int

    def __init__(self, text: str) -> None:
        self.x = len(text)


@dataclass
class Inner:
    bad: set[int]


class Box(Generic[T]):
    pass


type Missing = list[Nowhere]  # type: ignore[name-defined]  # noqa: F821  # resolved never


@pytest.mark.requirement("SCHEMA-4")
@pytest.mark.parametrize(
    ("hint", "says"),
    [
        (Any, "shape"),
        (object, "shape"),
        (list, "type arguments"),
        (dict, "type arguments"),
        (Mapping, "type arguments"),
        (tuple, "type arguments"),
        (dict[str, Any], "shape"),
        (dict[int, str], "keys"),
        (Mapping[Color, str], "keys"),
        (set[int], "a list"),
        (frozenset[int], "a list"),
        (set, "a list"),
        (bytes, "JSON schema"),
        (Decimal, "JSON schema"),
        (complex, "JSON schema"),
        (Plain, "JSON schema"),
        (Callable[[], int], "generic"),
        (Box[int], "generic"),
        (T, "generic"),
        (tuple[int, set[int]], "position 1"),
        (Bits, "JSON schema"),
        (Raw, "text or numbers"),
        (Empty, "no members"),
        (Literal[b"x"], "text or numbers"),
        (WithInitVar, "seed"),
        (OwnInit, "constructor"),
        (Inner, "field 'bad' of Inner"),
        (Annotated[str, SecretField], "SecretField"),
        (Annotated[str, SensitiveField], "SensitiveField"),
        (Missing, "Nowhere"),
    ],
)
def test_a_type_that_json_cannot_express_is_refused(hint: object, says: str) -> None:
    with pytest.raises(AgentDefinitionError, match=says):
        schema_for_type(hint)


def untyped_parameter(x) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001  # the point
    return str(x)


def untyped_result(x: int):  # type: ignore[no-untyped-def]  # noqa: ANN201  # the point
    return x


def positional_only(x: int, /) -> int:
    return x


def any_arguments(*args: int) -> int:
    return len(args)


def any_keywords(**kwargs: int) -> int:
    return len(kwargs)


def anything(x: Any) -> int:
    return int(x)


def any_result(x: int) -> Any:
    return x


@pytest.mark.requirement("SCHEMA-4", "SPEC-18")
@pytest.mark.parametrize(
    ("function", "says"),
    [
        (untyped_parameter, "parameter 'x'"),
        (untyped_result, "result of"),
        (positional_only, "positional-only"),
        (any_arguments, "'args'"),
        (any_keywords, "'kwargs'"),
        (anything, "parameter 'x'"),
        (any_result, "result of"),
    ],
)
def test_a_signature_that_no_schema_can_show_is_refused(
    function: Callable[..., object], says: str
) -> None:
    with pytest.raises(AgentDefinitionError, match=says):
        read_signature(function, ToolReceiver.NONE)


def test_a_callable_object_has_no_signature_to_read() -> None:
    class Tool:
        def __call__(self) -> str:
            return ""

    with pytest.raises(AgentDefinitionError, match="result of"):
        read_signature(Tool(), ToolReceiver.NONE)
