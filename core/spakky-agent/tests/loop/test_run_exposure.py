"""How the text of a run leaves it in each exposure mode, with patterns that must not be shown."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from spakky.agent import (
    AgentAuthRequiredError,
    AgentEvidenceKind,
    AgentSignalKind,
    AgentYieldKind,
    IStreamingPatternProvider,
    MessageDeltaEvent,
    ModelStreamEvent,
    ModelStreamEventKind,
    ReasoningDeltaEvent,
    RunFinishedEvent,
    StreamingExposureMode,
    StreamingSensitivePattern,
    ToolCallArgsDeltaEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.scripted_model import (
    Turn,
    TurnSource,
    call,
    fail,
    gate,
    hang,
    raises,
    say,
    structured,
    think,
)

type Build = Callable[..., Bench]

MODE = StreamingExposureMode
KEY = "sk-ABCDEFGH12345678"
TEXT = f"key: {KEY} end."
SHOWN = "key: [REDACTED] end."


@dataclass
class Note:
    text: str


class Patterns(IStreamingPatternProvider):
    """Knows keys of one form."""

    def patterns(self) -> Sequence[StreamingSensitivePattern]:
        return (StreamingSensitivePattern("key", "sk-[A-Za-z0-9]{16}"),)


@pytest.fixture
def guarded(build: Build) -> Build:
    def make(script: Sequence[TurnSource], mode: StreamingExposureMode, **more: Any) -> Bench:
        bench = build(script, streaming_exposure_mode=mode, **more)
        bench.agent.patterns = Patterns()
        return bench

    return make


def tokens(items: Sequence[Any]) -> list[str]:
    return [item.payload.text for item in items if item.kind is AgentYieldKind.TOKEN]


def texts(events: Sequence[Any]) -> list[str]:
    return [event.delta for event in events if isinstance(event, MessageDeltaEvent)]


def leaks(shown: object) -> bool:
    """Tell whether any part of the key of more than three characters is in what was shown."""
    told = repr(shown)
    body = KEY.removeprefix("sk-")
    return any(body[place : place + 4] in told for place in range(len(body) - 3))


def cuts() -> Iterator[Turn]:
    yield say(TEXT)
    yield say(TEXT, chunk=1)
    yield [part for letter in TEXT for part in (say(letter), say(""))]
    for place in range(1, len(TEXT)):
        yield [*say(TEXT[:place]), *say(TEXT[place:], as_message=True)]


@pytest.mark.requirement("STREAM-10", "STREAM-1")
@pytest.mark.parametrize("mode", list(MODE))
async def test_a_secret_cut_anywhere_is_shown_and_kept_nowhere(
    guarded: Build, mode: StreamingExposureMode
) -> None:
    """OP-H01, at every single cut, in both streams."""
    for number, turn in enumerate(cuts()):
        bench = guarded([turn], mode)
        bench.run_id = f"items-{number}"
        items = await bench.run()
        assert "".join(tokens(items)) == SHOWN
        assert items[-1].payload.output.output_text == SHOWN
        bench = guarded([turn], mode)
        bench.run_id = f"events-{number}"
        events = await bench.run_events()
        assert "".join(texts(events)) == SHOWN
        assert not leaks((items, events))
        assert not leaks(bench.ports.store.tables)


@pytest.mark.requirement("STREAM-10")
@pytest.mark.parametrize(
    ("mode", "shown"),
    [
        (MODE.LOW_LATENCY, "a" * 100),
        (MODE.BALANCED, "a" * 36),
        (MODE.STRICT, ""),
        (MODE.NO_STREAM_UNTIL_FINAL_GUARDED, ""),
    ],
)
async def test_each_mode_holds_back_what_it_promises(
    guarded: Build, mode: StreamingExposureMode, shown: str
) -> None:
    reached, go = asyncio.Event(), asyncio.Event()
    script: Turn = [*say("a" * 100, chunk=10), gate(go, reached=reached), *say("b")]
    bench = guarded([script], mode)
    seen: list[Any] = []

    async def follow() -> None:
        async for item in bench.runner().run(bench.input()):
            seen.append(item)  # noqa: PERF401 - looked at while it grows

    running = asyncio.create_task(follow())
    async with asyncio.timeout(5):
        await asyncio.wait_for(reached.wait(), 5)
        assert "".join(tokens(seen)) == shown
        go.set()
        await running
    assert "".join(tokens(seen)) == "a" * 100 + "b"
    if not shown:
        assert len(tokens(seen)) == 1


@pytest.mark.requirement("STREAM-10")
@pytest.mark.parametrize("mode", list(MODE))
async def test_the_text_of_a_turn_with_calls_is_shown_but_in_the_mode_that_shows_the_final_only(
    guarded: Build, mode: StreamingExposureMode
) -> None:
    script: list[Turn] = [
        [*say(f"reading {KEY}", chunk=4), *call("file.read", {"path": "a"})],
        [*say("done")],
    ]
    bench = guarded(script, mode)
    items = await bench.run()
    only_final = mode is MODE.NO_STREAM_UNTIL_FINAL_GUARDED
    assert "".join(tokens(items)) == ("done" if only_final else "reading [REDACTED]done")
    assert bench.model.requests[1].messages[-2].content == "reading [REDACTED]"


@pytest.mark.requirement("STREAM-10")
async def test_a_text_that_turns_out_not_to_be_the_answer_is_not_shown_as_the_final_one(
    guarded: Build,
) -> None:
    waiting, go = asyncio.Event(), asyncio.Event()
    bench = guarded(
        [[*say("first"), gate(go, reached=waiting)], [*say("second")]],
        MODE.NO_STREAM_UNTIL_FINAL_GUARDED,
        accepted_signals=(AgentSignalKind.USER_MESSAGE,),
    )
    running = asyncio.create_task(bench.run())
    async with asyncio.timeout(5):
        await asyncio.wait_for(waiting.wait(), 5)
        await bench.signal(AgentSignalKind.USER_MESSAGE, message="also this")
        go.set()
        items = await running
    assert tokens(items) == ["second"]


@pytest.mark.requirement("STREAM-10")
@pytest.mark.parametrize("mode", [MODE.LOW_LATENCY, MODE.BALANCED, MODE.STRICT])
async def test_held_back_text_comes_out_before_the_call_and_the_rest_after_it(
    guarded: Build, mode: StreamingExposureMode
) -> None:
    """OP-H02 (1) and (2)."""
    bench = guarded([[*say("see sk-ABC")]], mode)
    assert "".join(tokens(await bench.run())) == "see sk-ABC"
    read = call("file.read", {"path": "a"})
    bench = guarded([[*say("see sk-ABC"), *read, *say(" done")], [*say("ok")]], mode)
    bench.run_id = "run-2"
    events = await bench.run_events()
    first = [e for e in events if isinstance(e, MessageDeltaEvent | ToolCallStartEvent)]
    place = next(n for n, e in enumerate(first) if isinstance(e, ToolCallStartEvent))
    assert "".join(texts(first[:place])) == "see sk-ABC"
    assert "".join(texts(first[place:])) == " doneok"


@pytest.mark.requirement("STREAM-10", "YIELD-6")
@pytest.mark.parametrize("mode", list(MODE))
async def test_after_a_model_error_nothing_held_back_follows_the_closing_event(
    guarded: Build, mode: StreamingExposureMode
) -> None:
    """OP-H02 (3)."""
    bench = guarded([[*say(f"see {KEY[:10]}"), fail("x", f"broke at {KEY}")]], mode)
    events = await bench.run_events()
    assert isinstance(events[-1], RunFinishedEvent)
    assert not leaks(events)
    assert events[-1].error is not None
    assert events[-1].error["message"] == "broke at [REDACTED]"
    assert not leaks(bench.ports.store.tables)


@pytest.mark.requirement("STREAM-10", "YIELD-6")
@pytest.mark.parametrize("mode", list(MODE))
async def test_after_a_cancel_nothing_held_back_comes_out(
    guarded: Build, mode: StreamingExposureMode
) -> None:
    """OP-H02 (4)."""
    reached = asyncio.Event()
    bench = guarded([[*say(f"see {KEY[:10]}"), hang(reached=reached)]], mode)
    running = asyncio.create_task(bench.run())
    async with asyncio.timeout(5):
        await asyncio.wait_for(reached.wait(), 5)
        await bench.signal(AgentSignalKind.CANCEL)
        items = await running
    assert items[-1].kind is AgentYieldKind.CANCEL
    assert not leaks(items)


@pytest.mark.requirement("STREAM-10")
@pytest.mark.parametrize("mode", list(MODE))
async def test_reasoning_and_arguments_are_guarded_and_the_tool_gets_what_the_model_said(
    guarded: Build, mode: StreamingExposureMode
) -> None:
    turn = [
        *think(f"maybe {KEY} ok", chunk=3),
        *say("now"),
        *call("file.read", {"path": KEY}, chunk=3),
    ]
    bench = guarded([turn, [*say("ok")]], mode)
    events = await bench.run_events()
    shows = mode is not MODE.NO_STREAM_UNTIL_FINAL_GUARDED
    thought = [e.delta for e in events if isinstance(e, ReasoningDeltaEvent)]
    assert "".join(thought) == ("maybe [REDACTED] ok" if shows else "")
    arguments = [e.args_delta for e in events if isinstance(e, ToolCallArgsDeltaEvent)]
    assert "".join(arguments) == '{"path": "[REDACTED]"}'
    assert bench.tools.ledger == [f"read {KEY}"]
    assert not leaks(events)


@pytest.mark.requirement("STREAM-10")
async def test_reasoning_comes_out_before_the_text_that_follows_it(guarded: Build) -> None:
    bench = guarded([[*think("so sk-A"), *say("the answer")]], MODE.BALANCED)
    events = await bench.run_events()
    kinds = [
        type(e).__name__ for e in events if isinstance(e, ReasoningDeltaEvent | MessageDeltaEvent)
    ]
    assert kinds == ["ReasoningDeltaEvent", "MessageDeltaEvent"]


@pytest.mark.requirement("STREAM-10")
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_arguments_and_results_of_calls_are_guarded_in_both_streams(
    guarded: Build, stream: str
) -> None:
    bench = guarded([[*call("file.read", {"path": KEY})], [*say("ok")]], MODE.LOW_LATENCY)
    shown = await getattr(bench, stream)()
    assert not leaks(shown)
    result = next(
        e for e in shown if isinstance(e, ToolCallResultEvent) or e.kind is AgentYieldKind.TOOL
    )
    result = result if isinstance(result, ToolCallResultEvent) else result.payload
    assert result.result == "content of [REDACTED]"
    assert bench.model.requests[1].messages[-1].content == f"content of {KEY}"


@pytest.mark.requirement("STREAM-10", "SAFE-9")
async def test_what_people_are_asked_and_what_a_tool_says_of_its_fault_are_guarded(
    guarded: Build,
) -> None:
    message = ModelStreamEvent(ModelStreamEventKind.PROGRESS, metadata={"message": f"at {KEY}"})
    bench = guarded([[message, *call("bank.pay", {"amount": 5})]], MODE.LOW_LATENCY)
    items = await bench.run()
    assert items[0].payload.message == "at [REDACTED]"
    assert items[-1].payload.metadata["metadata"]["arguments"] == {"amount": 5}
    bench = guarded([[*call(f"no.{KEY}")], [*say("ok")]], MODE.LOW_LATENCY)
    bench.run_id = "run-2"
    items = await bench.run()
    assert KEY not in str([i.payload.result for i in items if i.kind is AgentYieldKind.TOOL])


@pytest.mark.requirement("STREAM-10", "SAFE-9", "EVENT-10")
@pytest.mark.parametrize("stream", ["run", "run_events"])
async def test_what_a_sign_in_asks_is_guarded(guarded: Build, stream: str) -> None:
    error = AgentAuthRequiredError("vault", f"{KEY} is old")
    bench = guarded([[raises(error)]], MODE.LOW_LATENCY)
    shown = await getattr(bench, stream)()
    assert "[REDACTED] is old" in repr(shown[-1])
    assert not leaks((shown, bench.ports.store.tables))


@pytest.mark.requirement("STREAM-10", "SPEC-24")
async def test_a_structured_output_is_guarded(guarded: Build) -> None:
    bench = guarded([[structured({"text": KEY})]], MODE.LOW_LATENCY, output_type=Note)
    items = await bench.run()
    assert items[-1].payload.output == Note("[REDACTED]")
    assert not leaks((items, bench.ports.store.tables))


@pytest.mark.requirement("STREAM-5", "STREAM-7")
async def test_a_match_is_put_on_record_without_its_text(guarded: Build) -> None:
    bench = guarded([[*say(TEXT, chunk=5)]], MODE.BALANCED)
    await bench.run()
    evidence = await bench.ports.evidence.list_by_state("run-1")
    audits = [e for e in evidence if e.kind is AgentEvidenceKind.OUTPUT_GUARD]
    assert [a.payload["detected_count"] for a in audits] == [1]
    assert not leaks(audits)


async def test_without_patterns_nothing_is_held_back(build: Build) -> None:
    bench = build([[*say("abc", chunk=1)]])
    assert tokens(await bench.run()) == ["a", "b", "c"]
