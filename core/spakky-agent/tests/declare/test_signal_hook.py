"""``@on_signal``: the form of a hook, its discovery, and hooks that could never be called."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from typing import Any, cast

import pytest

from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.yields import AgentYield, AgentYieldKind, Progress
from spakky.agent.declare.signal_hook import (
    AgentSignalHookCatalog,
    AgentSignalHookIdentity,
    discover_agent_signal_hooks,
    on_signal,
    require_accepted_hooks,
)
from spakky.agent.error import AgentDefinitionError

STEERING = AgentSignalKind.STEERING_INSTRUCTION
MESSAGE = AgentSignalKind.USER_MESSAGE

type Stream = AsyncGenerator[AgentYield[object], None]


def progress(text: str) -> AgentYield[object]:
    return AgentYield(AgentYieldKind.PROGRESS, Progress(text, "steering"))


class FileAgent:
    @on_signal(STEERING)
    async def on_steering(self, signal: AgentSignal) -> AsyncGenerator[AgentYield[object], None]:
        yield progress(f"Steering: {signal.payload['instruction']}")


class Base:
    @on_signal(MESSAGE)
    async def first(self, signal: AgentSignal) -> AsyncGenerator[AgentYield[object], None]:
        yield progress(f"base {signal.id}")

    @on_signal(MESSAGE)
    async def gone(self, signal: AgentSignal) -> AsyncGenerator[AgentYield[object]]:
        yield progress(signal.id)


class Mixin:
    @on_signal(STEERING)
    @on_signal(MESSAGE)
    async def mixed(self, signal: AgentSignal) -> "AsyncIterator[AgentYield[Progress]]":
        yield AgentYield(AgentYieldKind.PROGRESS, Progress(signal.id))


class Child(Mixin, Base):
    not_a_hook = 3

    @on_signal(MESSAGE)
    async def first(self, signal: AgentSignal) -> AsyncGenerator[AgentYield[object], None]:
        yield progress(f"child {signal.id}")

    async def gone(self, signal: AgentSignal) -> AsyncGenerator[AgentYield[object], None]:
        yield progress(signal.id)


@pytest.mark.requirement("HOOK-1", "DEMO-3")
async def test_a_hook_is_found_and_gives_its_items() -> None:
    (hook,) = discover_agent_signal_hooks(FileAgent).hooks_for(STEERING)
    signal = AgentSignal("s-1", "run-1", STEERING, {"instruction": "be brief"})

    items = [item async for item in hook.callable(FileAgent(), signal)]

    assert items == [progress("Steering: be brief")]
    assert hook.kind is STEERING
    assert hook.owner is FileAgent
    assert hook.identity == AgentSignalHookIdentity(__name__, "FileAgent", "on_steering")
    assert hook.identity.key == f"{__name__}.FileAgent.on_steering"


@pytest.mark.requirement("HOOK-2")
def test_hooks_of_bases_come_first_and_an_override_takes_its_place() -> None:
    catalog = discover_agent_signal_hooks(Child)

    assert [(hook.identity.member_name, hook.kind) for hook in catalog.descriptors] == [
        ("first", MESSAGE),
        ("mixed", STEERING),
        ("mixed", MESSAGE),
    ]
    assert catalog.descriptors[0].callable is vars(Child)["first"]
    assert [hook.identity.member_name for hook in catalog.hooks_for(MESSAGE)] == ["first", "mixed"]
    assert catalog.hooks_for(AgentSignalKind.PAUSE) == ()
    assert catalog == discover_agent_signal_hooks(Child)


@pytest.mark.requirement("HOOK-5")
@pytest.mark.parametrize("kind", [AgentSignalKind.CANCEL, AgentSignalKind.APPROVAL_DECISION])
def test_signals_that_the_runner_handles_have_no_hooks(kind: AgentSignalKind) -> None:
    with pytest.raises(AgentDefinitionError, match=kind.name):
        on_signal(kind)


def test_a_text_is_no_kind() -> None:
    with pytest.raises(AgentDefinitionError, match="AgentSignalKind"):
        on_signal(cast("AgentSignalKind", "user_message"))


async def coroutine(self: object, signal: AgentSignal) -> AgentYield[object]:
    return progress(f"{self}{signal}")


def plain(self: object, signal: AgentSignal) -> None:
    del self, signal


def sync_generator(self: object, signal: AgentSignal) -> Generator[AgentYield[object], None, None]:
    yield progress(f"{self}{signal}")


async def no_signal(self: object) -> Stream:
    yield progress(str(self))


async def too_many(self: object, signal: AgentSignal, more: int) -> Stream:
    yield progress(f"{self}{signal}{more}")


async def keyword_only(self: object, *, signal: AgentSignal) -> Stream:
    yield progress(f"{self}{signal}")


async def any_number(self: object, *signals: AgentSignal) -> Stream:
    yield progress(f"{self}{signals}")


async def untyped(self: object, signal) -> AsyncGenerator[AgentYield[object], None]:  # type: ignore[no-untyped-def]  # noqa: ANN001  # the point
    yield progress(f"{self}{signal}")


async def wrong_type(self: object, signal: str) -> AsyncGenerator[AgentYield[object], None]:
    yield progress(f"{self}{signal}")


async def wrong_yield(self: object, signal: AgentSignal) -> AsyncGenerator[str, None]:
    yield f"{self}{signal}"


async def any_yield(self: object, signal: AgentSignal) -> AsyncGenerator[Any, None]:
    yield f"{self}{signal}"


async def takes_items(self: object, signal: AgentSignal) -> AsyncGenerator[AgentYield[object], int]:
    yield progress(f"{self}{signal}")


async def no_result(self: object, signal: AgentSignal):  # type: ignore[no-untyped-def]  # noqa: ANN201  # the point
    yield progress(f"{self}{signal}")


@pytest.mark.requirement("HOOK-7")
@pytest.mark.parametrize(
    "function",
    [
        coroutine,
        plain,
        sync_generator,
        no_signal,
        too_many,
        keyword_only,
        any_number,
        untyped,
        wrong_type,
        wrong_yield,
        any_yield,
        takes_items,
        no_result,
        staticmethod(no_signal),
    ],
)
def test_another_form_is_refused_when_the_class_is_defined(
    function: Callable[..., object],
) -> None:
    with pytest.raises(AgentDefinitionError, match="async def hook"):
        on_signal(MESSAGE)(function)


@pytest.mark.requirement("HOOK-7")
def test_a_hint_that_appears_later_is_checked_when_hooks_are_collected() -> None:
    class Late:
        @on_signal(MESSAGE)
        async def hook(
            self,
            signal: "LateSignal",  # type: ignore[valid-type]  # a variable, the point of the test
        ) -> "AsyncGenerator[AgentYield[object], None]":
            yield progress(f"{signal}{LateSignal}")

    with pytest.raises(AgentDefinitionError, match=r"'signal'.*'LateSignal'"):
        discover_agent_signal_hooks(Late)

    LateSignal = AgentSignal  # noqa: N806  # a class under another name
    assert len(discover_agent_signal_hooks(Late).descriptors) == 1


def test_one_kind_is_declared_once() -> None:
    with pytest.raises(AgentDefinitionError, match="twice"):

        @on_signal(MESSAGE)
        @on_signal(MESSAGE)
        async def hook(
            self: object, signal: AgentSignal
        ) -> AsyncGenerator[AgentYield[object], None]:
            yield progress(f"{self}{signal}")


def test_an_unparameterised_yield_is_taken() -> None:
    @on_signal(MESSAGE)
    async def hook(self: object, signal: AgentSignal) -> "AsyncGenerator[AgentYield, None]":  # type: ignore[type-arg]  # the point of the test
        yield progress(f"{self}{signal}")

    assert hook.__name__ == "hook"


@pytest.mark.requirement("HOOK-5")
def test_a_hook_for_a_kind_that_is_not_accepted_says_what_to_add() -> None:
    hooks = discover_agent_signal_hooks(FileAgent)

    with pytest.raises(
        AgentDefinitionError, match=r"on_steering.*AgentSignalKind\.STEERING_INSTRUCTION"
    ):
        require_accepted_hooks(hooks, (MESSAGE,))
    require_accepted_hooks(hooks, (MESSAGE, STEERING))
    require_accepted_hooks(AgentSignalHookCatalog(), ())


def test_a_hook_identity_needs_a_member() -> None:
    with pytest.raises(AgentDefinitionError):
        AgentSignalHookIdentity("m", "q", " ")
