"""What a hand-written ``execute()`` may look like."""

import typing
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from typing import Any

import pytest

from spakky.agent.contracts.run_input import RunAgentInput
from spakky.agent.contracts.yields import AgentYield, AgentYieldKind, Final, Token
from spakky.agent.error import AgentDefinitionError, AgentValueError
from spakky.agent.execute_contract import check_execute, require_streaming


class Streaming:
    async def execute(self, run_input: RunAgentInput) -> AsyncGenerator[AgentYield[str], None]:
        yield AgentYield(AgentYieldKind.TOKEN, Token(""))


class StreamingSync:
    def execute(self, run_input: RunAgentInput) -> Generator[AgentYield[Final[str]], None, None]:
        yield AgentYield(AgentYieldKind.TOKEN, Token(""))


class StreamingOfTyping:
    async def execute(self) -> typing.AsyncGenerator[AgentYield[object], None]:
        yield AgentYield(AgentYieldKind.TOKEN, Token(""))


class StreamingShort:
    async def execute(self, run_input: RunAgentInput) -> AsyncGenerator[AgentYield[str]]:
        yield AgentYield(AgentYieldKind.TOKEN, Token(""))


class StreamingPlain:
    async def execute(self) -> AsyncIterator[AgentYield[object]]:
        yield AgentYield(AgentYieldKind.TOKEN, Token(""))


class StreamingBare:
    def execute(self) -> "Iterator[AgentYield]":  # type: ignore[type-arg]  # the bare class counts too
        yield AgentYield(AgentYieldKind.TOKEN, Token(""))


class Direct:
    async def execute(self, number: int) -> int:
        return number


class DirectSync:
    def execute(self) -> list[int]:
        return [1]


class Unannotated:
    def execute(self):  # type: ignore[no-untyped-def]  # noqa: ANN201 - authors may leave hints out
        return 1


class Inherited(Direct):
    pass


ACCEPTED: list[type[object]] = [
    Streaming,
    StreamingSync,
    StreamingOfTyping,
    StreamingShort,
    StreamingPlain,
    StreamingBare,
    Direct,
    DirectSync,
    Unannotated,
    Inherited,
]


@pytest.mark.parametrize("owner", ACCEPTED)
@pytest.mark.requirement("SPEC-15", "SPEC-16")
def test_streams_of_items_and_direct_results_are_accepted(owner: type[object]) -> None:
    check_execute(owner)


class OtherItems:
    async def execute(self) -> AsyncGenerator[str, None]:
        yield ""


class NoItems:
    def execute(self) -> Iterator:  # type: ignore[type-arg]  # a stream of nothing in particular
        yield 1


class TakesBySend:
    async def execute(self) -> AsyncGenerator[AgentYield[object], int]:
        yield AgentYield(AgentYieldKind.TOKEN, Token(""))


class Unresolvable:
    def execute(self) -> "Missing":  # type: ignore[name-defined]  # noqa: F821 - the name is missing
        return None


class NoMethod:
    execute = 5


class Static:
    @staticmethod
    def execute() -> int:
        return 1


REFUSED: list[tuple[type[object], str]] = [
    (OtherItems, "str"),
    (NoItems, "AgentYield"),
    (TakesBySend, "send"),
    (Unresolvable, "Missing"),
    (NoMethod, "must be a method"),
    (Static, "must be a method"),
]


@pytest.mark.parametrize(("owner", "named"), REFUSED)
@pytest.mark.requirement("SPEC-15", "SPEC-18")
def test_other_forms_are_refused_by_name(owner: type[object], named: str) -> None:
    with pytest.raises(AgentDefinitionError, match=named) as caught:
        check_execute(owner)
    assert owner.__qualname__ in str(caught.value)


@pytest.mark.parametrize("owner", [Streaming, StreamingSync])
@pytest.mark.requirement("SPEC-17")
def test_a_generator_can_be_shown_at_once(owner: Any) -> None:
    require_streaming(owner())


@pytest.mark.parametrize("owner", [Direct, DirectSync, Inherited, NoMethod, object])
@pytest.mark.requirement("SPEC-17")
def test_a_direct_result_is_not_passed_off_as_a_stream(owner: Any) -> None:
    with pytest.raises(AgentValueError, match="cannot be streamed"):
        require_streaming(owner())
