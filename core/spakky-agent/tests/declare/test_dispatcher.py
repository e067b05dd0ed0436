"""Dispatch: look-up, binding and running of sync and async tools, with and without owner."""

import asyncio
import contextvars
import functools
import threading
from collections.abc import Awaitable, Callable
from typing import Annotated

import pytest

from spakky.agent.contracts.model_message import ModelToolCall
from spakky.agent.declare.catalog import (
    AgentToolCatalog,
    AgentToolDescriptor,
    AgentToolIdentity,
    describe_tool_function,
    discover_agent_tools,
    merge_catalogs,
)
from spakky.agent.declare.dispatcher import (
    AgentToolDispatcher,
    AgentToolRuntimeContext,
    invoke_tool,
)
from spakky.agent.declare.schema import AgentToolSchemaHandle
from spakky.agent.declare.tool import agent_tool
from spakky.agent.error import AgentToolBindingError, AgentToolDispatchError, AgentValueError

USER: contextvars.ContextVar[str] = contextvars.ContextVar("USER", default="nobody")
CONTEXT = AgentToolRuntimeContext("run-1", "conversation-1", "call-1", "who", "run-1/3/0")


def wrapped[**P, T](function: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """Wrap a coroutine function into a plain one, as a tracing decorator may."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Awaitable[T]:
        return function(*args, **kwargs)

    return wrapper


class Assistant:
    def __init__(self) -> None:
        self.calls: list[object] = []
        self.release = threading.Event()

    @agent_tool()
    async def search(self, query: str, limit: int = 10) -> list[str]:
        self.calls.append((query, limit))
        return [query] * limit

    @agent_tool()
    def thread_name(self) -> str:
        return f"{threading.current_thread().name} {USER.get()}"

    @agent_tool()
    def blocking(self) -> bool:
        return self.release.wait(5)

    @agent_tool()
    @staticmethod
    def static(a: int) -> int:
        return a + 1

    @agent_tool()
    @classmethod
    def by_class(cls, a: int) -> str:
        return f"{cls.__name__}{a}"

    @agent_tool()
    @wrapped
    async def wrapped(self, a: int) -> int:
        return a * 2

    @agent_tool()
    def broken(self) -> str:
        message = "the tool's own error"
        raise LookupError(message)

    @agent_tool()
    async def who(self, a: int, context: AgentToolRuntimeContext, b: int = 2) -> str:
        return f"{a}{b} {context.tool_name} {context.idempotency_key}"

    @agent_tool()
    def maybe(self, context: Annotated[AgentToolRuntimeContext | None, "who asks"]) -> str:
        return "none" if context is None else context.state_id

    @agent_tool()
    def defaulted(self, *, context: AgentToolRuntimeContext | None = None) -> str:
        return "none" if context is None else context.state_id


CATALOG = discover_agent_tools(Assistant)


@pytest.fixture(name="assistant")
def make_assistant() -> Assistant:
    return Assistant()


@pytest.fixture(name="dispatcher")
def make_dispatcher(assistant: Assistant) -> AgentToolDispatcher:
    return AgentToolDispatcher(target=assistant, catalog=CATALOG)


@pytest.mark.requirement("TOOL-18", "TOOL-19", "DEMO-6")
async def test_a_call_is_looked_up_bound_and_run(
    dispatcher: AgentToolDispatcher, assistant: Assistant
) -> None:
    call = ModelToolCall("search", {"args": ["agent"], "kwargs": {"limit": 2}})

    assert dispatcher.descriptor_for(call) is CATALOG.by_schema_name("search")
    assert await dispatcher.dispatch(call) == ["agent", "agent"]
    assert assistant.calls == [("agent", 2)]


@pytest.mark.requirement("TOOL-16")
async def test_a_call_that_does_not_bind_runs_nothing(
    dispatcher: AgentToolDispatcher, assistant: Assistant
) -> None:
    with pytest.raises(AgentToolBindingError):
        await dispatcher.dispatch(ModelToolCall("search", {"query": 3}))

    assert assistant.calls == []


async def test_a_call_whose_arguments_were_no_object_runs_nothing(
    dispatcher: AgentToolDispatcher, assistant: Assistant
) -> None:
    call = ModelToolCall("search", {}, arguments_error="expected an object, got an array.")

    with pytest.raises(AgentToolBindingError, match=r"'search'.*got an array"):
        await dispatcher.dispatch(call)
    assert assistant.calls == []


@pytest.mark.requirement("TOOL-22")
async def test_an_unknown_name_is_refused(dispatcher: AgentToolDispatcher) -> None:
    with pytest.raises(AgentToolDispatchError, match=r"No tool is named 'serch'.*search"):
        await dispatcher.dispatch(ModelToolCall("serch", {}))


@pytest.mark.requirement("TOOL-20")
async def test_a_sync_tool_runs_in_a_thread_with_the_callers_context(
    dispatcher: AgentToolDispatcher,
) -> None:
    USER.set("kim")

    result = await dispatcher.dispatch(ModelToolCall("thread_name", {}))

    assert isinstance(result, str)
    assert result.endswith(" kim")
    assert not result.startswith(threading.current_thread().name)


@pytest.mark.requirement("TOOL-20")
async def test_a_sync_tool_does_not_block_the_loop(
    dispatcher: AgentToolDispatcher, assistant: Assistant
) -> None:
    async with asyncio.timeout(5):
        running = asyncio.create_task(dispatcher.dispatch(ModelToolCall("blocking", {})))
        # The tool waits for this very task, so that a blocked loop would never come here.
        await asyncio.to_thread(assistant.release.set)

        assert await running is True


@pytest.mark.requirement("TOOL-20", "TOOL-21")
@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("static", {"a": 1}, 2),
        ("by_class", {"a": 1}, "Assistant1"),
        ("wrapped", {"a": 2}, 4),
    ],
)
async def test_every_kind_of_function_is_called_as_it_asks(
    dispatcher: AgentToolDispatcher, name: str, arguments: dict[str, int], result: object
) -> None:
    assert await dispatcher.dispatch(ModelToolCall(name, arguments)) == result


async def test_an_exception_of_the_tool_passes_through(dispatcher: AgentToolDispatcher) -> None:
    with pytest.raises(LookupError, match="the tool's own error"):
        await dispatcher.dispatch(ModelToolCall("broken", {}))


@agent_tool()
def double(a: int) -> int:
    return a * 2


@agent_tool()
async def triple(a: int) -> int:
    return a * 3


def _plain_awaitable(**arguments: int) -> Awaitable[int]:
    async def add() -> int:
        return sum(arguments.values())

    return add()


class AsyncCallable:
    async def __call__(self, /, **arguments: int) -> int:
        return sum(arguments.values())


@pytest.mark.requirement("TOOL-21")
async def test_tools_without_owner_need_no_target() -> None:
    def foreign(name: str, call: Callable[..., object]) -> AgentToolDescriptor:
        return AgentToolDescriptor.foreign(source="s", name=name, call=call, input_schema={})

    catalog = AgentToolCatalog(
        (
            describe_tool_function(double),
            describe_tool_function(triple),
            foreign("sum", lambda **arguments: sum(arguments.values())),
            foreign("awaitable", _plain_awaitable),
            foreign("object", AsyncCallable()),
        )
    )
    dispatcher = AgentToolDispatcher(None, catalog)

    assert await dispatcher.dispatch(ModelToolCall("double", {"a": 2})) == 4
    assert await dispatcher.dispatch(ModelToolCall("triple", {"a": 2})) == 6
    for name in ("sum", "awaitable", "object"):
        assert await dispatcher.dispatch(ModelToolCall(name, {"a": 2, "self": 3})) == 5


async def test_a_method_without_target_is_refused() -> None:
    dispatcher = AgentToolDispatcher(None, CATALOG)

    with pytest.raises(AgentToolDispatchError, match="instance of Assistant"):
        await dispatcher.dispatch(ModelToolCall("search", {"query": "a"}))


async def test_a_target_without_the_method_is_refused() -> None:
    dispatcher = AgentToolDispatcher(object(), CATALOG)

    with pytest.raises(AgentToolDispatchError, match="no method 'search'"):
        await dispatcher.dispatch(ModelToolCall("search", {"query": "a"}))


async def test_a_wrapper_around_the_instance_takes_part(assistant: Assistant) -> None:
    class Proxy:
        def __init__(self, inner: Assistant) -> None:
            self.inner = inner

        async def search(self, query: str, limit: int) -> list[str]:
            return [f"seen {query}", *await self.inner.search(query, limit)]

    dispatcher = AgentToolDispatcher(Proxy(assistant), CATALOG)

    assert await dispatcher.dispatch(ModelToolCall("search", {"query": "a", "limit": 1})) == [
        "seen a",
        "a",
    ]


def _by_hand(function: Callable[..., object], owner: type[object] | None) -> AgentToolCatalog:
    return AgentToolCatalog(
        (
            AgentToolDescriptor(
                identity=AgentToolIdentity("m", "q", "tool"),
                owner=owner,
                callable=function,
                schema=AgentToolSchemaHandle("tool", "i", "o"),
            ),
        )
    )


@pytest.mark.parametrize("owner", [Assistant, None])
async def test_a_descriptor_made_by_hand_calls_its_function(
    assistant: Assistant, owner: type[object] | None
) -> None:
    call = ModelToolCall("tool", {"a": 1})
    by_class = _by_hand(vars(Assistant)["by_class"].__func__, owner)
    by_instance = _by_hand(Assistant.search, owner)

    for target in (assistant, Assistant):
        assert await AgentToolDispatcher(target, by_class).dispatch(call) == "Assistant1"
    assert await AgentToolDispatcher(assistant, by_instance).dispatch(
        ModelToolCall("tool", {"query": "a", "limit": 1})
    ) == ["a"]
    with pytest.raises(AgentToolDispatchError, match="as its target"):
        await AgentToolDispatcher(None, by_instance).dispatch(ModelToolCall("tool", {"query": "a"}))


# ---------------------------------------------------------------- what the framework fills in


def test_a_parameter_that_the_framework_fills_is_no_part_of_the_schema() -> None:
    schema = CATALOG.by_schema_name("who").schema.input_schema

    assert list(schema["properties"] or ()) == ["a", "b"]  # type: ignore[arg-type]  # an object
    assert CATALOG.by_schema_name("maybe").schema.input_schema["properties"] == {}
    assert CATALOG.by_schema_name("defaulted").schema.input_schema["properties"] == {}


async def test_a_tool_gets_the_context_of_its_call(assistant: Assistant) -> None:
    dispatcher = AgentToolDispatcher(assistant, CATALOG, CONTEXT)

    assert await dispatcher.dispatch(ModelToolCall("who", {"a": 1, "b": 3})) == "13 who run-1/3/0"
    assert await dispatcher.dispatch(ModelToolCall("maybe", {})) == "run-1"
    assert await dispatcher.dispatch(ModelToolCall("defaulted", {})) == "run-1"


async def test_a_model_cannot_set_the_context(assistant: Assistant) -> None:
    dispatcher = AgentToolDispatcher(assistant, CATALOG, CONTEXT)

    with pytest.raises(AgentToolBindingError, match='unknown "context"'):
        await dispatcher.dispatch(ModelToolCall("who", {"a": 1, "context": {"state_id": "x"}}))


async def test_without_a_context_a_tool_that_needs_one_does_not_run(
    dispatcher: AgentToolDispatcher,
) -> None:
    with pytest.raises(AgentToolDispatchError, match=r"AgentToolRuntimeContext.*'context'"):
        await dispatcher.dispatch(ModelToolCall("who", {"a": 1}))
    assert await dispatcher.dispatch(ModelToolCall("maybe", {})) == "none"
    assert await dispatcher.dispatch(ModelToolCall("defaulted", {})) == "none"


async def test_a_bound_tool_can_be_run_without_dispatcher(assistant: Assistant) -> None:
    descriptor = CATALOG.by_schema_name("who")
    bound = descriptor.bind_invocation({"a": 1})

    result = await invoke_tool(descriptor, assistant, bound, {AgentToolRuntimeContext: CONTEXT})

    assert result == "12 who run-1/3/0"


@pytest.mark.parametrize("position", range(4))
def test_a_context_has_no_blank_ids(position: int) -> None:
    ids = ["a", "b", "c", "d"]
    ids[position] = " "

    with pytest.raises(AgentValueError):
        AgentToolRuntimeContext(ids[0], ids[1], ids[2], ids[3])


def test_outside_a_run_there_is_no_idempotency_key() -> None:
    assert AgentToolRuntimeContext("a", "b", "c", "d").idempotency_key == ""


def test_merged_catalogs_dispatch_as_one() -> None:
    merged = merge_catalogs(CATALOG, AgentToolCatalog((describe_tool_function(double),)))

    assert (
        AgentToolDispatcher(None, merged).descriptor_for(ModelToolCall("double", {})).owner is None
    )
