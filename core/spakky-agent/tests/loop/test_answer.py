"""Gathering one answer out of the model's stream."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import pytest

from spakky.agent.contracts.evidence import AgentEvidenceKind
from spakky.agent.contracts.execution import StreamingExposureMode
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole, ModelToolCall
from spakky.agent.contracts.model_stream import (
    ModelError,
    ModelStreamEvent,
    ModelStreamEventKind,
    ModelUsage,
)
from spakky.agent.declare.tool import agent_tool
from spakky.agent.guards.sensitive import SecretField
from spakky.agent.guards.stream_redaction import (
    StreamingRedactionPolicy,
    StreamingSensitivePattern,
)
from spakky.agent.loop.answer import AnswerReader
from spakky.agent.loop.exposure import Exposure
from spakky.agent.loop.frames import (
    CallArgumentsShown,
    CallClosed,
    CallOpened,
    Frame,
    ProgressShown,
    ReasoningShown,
    TextShown,
)
from spakky.agent.loop.progress import Progress
from spakky.agent_testkit.desk import Bench, DeskTools
from spakky.agent_testkit.script import call, fail, say, structured, think, usage

KIND = ModelStreamEventKind
POLICY = StreamingRedactionPolicy([StreamingSensitivePattern("key", r"sk-[0-9]{4}")])
Build = Callable[..., Bench]
Open = Callable[..., AnswerReader]


class SafeTools(DeskTools):
    @agent_tool(schema_name="safe.open")
    async def open(self, pin: Annotated[str, SecretField()]) -> str:
        """Open the safe."""
        return pin


@pytest.fixture
def open_reader(build: Build) -> Open:
    def make(guarded: bool = False, **progress: Any) -> AnswerReader:
        bench = build([], base=SafeTools)
        kit = bench.runner()._kit(bench.input())
        if guarded:
            kit.exposure = Exposure(StreamingExposureMode.LOW_LATENCY, POLICY)
        return AnswerReader(kit, Progress("r", **({"step": 2} | progress)))

    return make


def feed(
    reader: AnswerReader, *events: ModelStreamEvent | Sequence[ModelStreamEvent]
) -> list[Frame]:
    frames: list[Frame] = []
    for part in events:
        for event in [part] if isinstance(part, ModelStreamEvent) else part:
            if event.kind in {KIND.TOKEN_DELTA, KIND.MESSAGE_DELTA}:
                pieces = reader.push_text(event.token_delta or event.message_delta or "")
                frames.extend(TextShown(reader.message_id, piece) for piece in pieces)
            else:
                frames.extend(reader.take(event))
    frames.extend(reader.flush())
    return frames


def told(frames: list[Frame]) -> list[str]:
    lines: list[str] = []
    for frame in frames:
        match frame:
            case TextShown(_, text):
                lines.append(f"text {text}")
            case ReasoningShown(_, text):
                lines.append(f"think {text}")
            case CallOpened(call_id, name):
                lines.append(f"open {call_id} {name}")
            case CallArgumentsShown(call_id, delta):
                lines.append(f"args {call_id} {delta}")
            case CallClosed(call_id):
                lines.append(f"close {call_id}")
            case ProgressShown(message):
                lines.append(f"progress {message}")
            case _:
                lines.append(type(frame).__name__)
    return lines


def event(
    kind: ModelStreamEventKind, tool: ModelToolCall | None = None, **parts: Any
) -> ModelStreamEvent:
    return ModelStreamEvent(kind, tool_call=tool, **parts)


@pytest.mark.requirement("EVENT-6", "EVENT-14")
def test_text_and_reasoning_are_shown_piece_by_piece_under_ids_of_their_step(
    open_reader: Open,
) -> None:
    reader = open_reader()
    frames = feed(reader, think("hm", chunk=1), say("a"), say("b", as_message=True))
    assert told(frames) == ["think h", "think m", "text a", "text b"]
    assert (reader.text, reader.message_id) == ("ab", "r/message/2")
    reasoning = frames[0]
    assert isinstance(reasoning, ReasoningShown)
    assert reasoning.reasoning_id == "r/reasoning/2"


@pytest.mark.requirement("EVENT-6", "EVENT-12")
def test_a_call_is_shown_from_start_to_end(open_reader: Open) -> None:
    reader = open_reader()
    frames = feed(reader, call("file.read", {"path": "a"}, call_id="c", chunk=6))
    assert told(frames) == [
        "open c file.read",
        'args c {"path',
        'args c ": "a"',
        "args c }",
        "close c",
    ]
    assert reader.calls() == (ModelToolCall("file.read", {"path": "a"}, "c"),)
    opened = frames[0]
    assert isinstance(opened, CallOpened)
    assert opened.parent_message_id is None


@pytest.mark.requirement("EVENT-12")
def test_a_call_after_text_belongs_to_its_message(open_reader: Open) -> None:
    frames = feed(open_reader(), say("Let me see."), call("file.read", {"path": "a"}))
    opened = next(frame for frame in frames if isinstance(frame, CallOpened))
    assert opened.parent_message_id == "r/message/2"


def test_a_provider_that_gives_only_the_finished_call_is_shown_whole(open_reader: Open) -> None:
    reader = open_reader()
    whole = ModelToolCall("file.read", {"path": "é"}, None)
    frames = feed(reader, event(KIND.TOOL_CALL_CANDIDATE, whole))
    assert told(frames) == [
        "open call_2_1 file.read",
        'args call_2_1 {"path": "é"}',
        "close call_2_1",
    ]


@pytest.mark.requirement("EVENT-14")
def test_ids_that_repeat_across_turns_get_ids_of_their_own(open_reader: Open) -> None:
    old = ModelToolCall("file.read", {}, "0")
    earlier = ModelMessage(ModelMessageRole.ASSISTANT, "", tool_calls=(old,))
    reader = open_reader(seeds=(earlier,))
    feed(reader, call("file.read", {"path": "a"}, call_id="0"))
    assert [item.call_id for item in reader.calls()] == ["call_2_1"]


def test_calls_under_one_id_stay_apart_and_in_order(open_reader: Open) -> None:
    reader = open_reader()
    one = call("file.read", {"path": "a"}, call_id="0")
    two = call("file.read", {"path": "b"}, call_id="0")
    feed(reader, one[:-1], two[:-1], one[-1], two[-1])
    assert [(item.call_id, item.arguments["path"]) for item in reader.calls()] == [
        ("0", "a"),
        ("call_2_2", "b"),
    ]


def test_an_end_that_holds_the_arguments_counts_once(open_reader: Open) -> None:
    reader = open_reader()
    whole = ModelToolCall("file.read", {"path": "a"}, "c")
    start, end = event(KIND.TOOL_CALL_START, whole), event(KIND.TOOL_CALL_END, whole)
    feed(reader, start, end)
    assert reader.calls() == (whole,)
    again = open_reader()
    frames = feed(again, start, end, event(KIND.TOOL_CALL_CANDIDATE, whole))
    assert again.calls() == (whole,)
    assert told(frames) == ["open c file.read", "close c"]


def test_a_call_without_an_id_is_found_by_its_name_or_place(open_reader: Open) -> None:
    reader = open_reader()
    read, pay = ModelToolCall("file.read", {}), ModelToolCall("bank.pay", {})
    frames = feed(
        reader,
        event(KIND.TOOL_CALL_START, read),
        event(KIND.TOOL_CALL_START, pay),
        event(KIND.TOOL_CALL_ARGS_DELTA, tool_call_args_delta="{}"),
        event(KIND.TOOL_CALL_END),
        event(KIND.TOOL_CALL_CANDIDATE, ModelToolCall("bank.pay", {"amount": 1})),
        event(KIND.TOOL_CALL_CANDIDATE, ModelToolCall("file.read", {"path": "a"})),
    )
    assert [item.name for item in reader.calls()] == ["file.read", "bank.pay"]
    assert "args call_2_2 {}" in told(frames)


def test_pieces_without_their_call_are_left_alone(open_reader: Open) -> None:
    reader = open_reader()
    stray = ModelToolCall("file.read", {}, "zz")
    frames = feed(
        reader,
        event(KIND.TOOL_CALL_START),
        event(KIND.TOOL_CALL_ARGS_DELTA, stray, tool_call_args_delta="{}"),
        event(KIND.TOOL_CALL_ARGS_DELTA, tool_call_args_delta="{}"),
        event(KIND.TOOL_CALL_END, stray),
        event(KIND.TOOL_CALL_CANDIDATE),
    )
    assert frames == []
    assert reader.calls() == ()


def test_a_call_that_was_never_finished_is_not_made(open_reader: Open) -> None:
    reader = open_reader()
    feed(reader, call("file.read", {"path": "a"})[:2])
    assert reader.calls() == ()


@pytest.mark.requirement("SAFE-1")
def test_the_arguments_of_a_tool_with_secrets_are_shown_only_when_they_are_guarded(
    open_reader: Open,
) -> None:
    reader = open_reader()
    frames = feed(reader, call("safe.open", {"pin": "s3cret"}, call_id="c", chunk=3))
    assert "s3cret" not in str(told(frames))
    assert [line.split()[0] for line in told(frames)] == ["open", "args", "close"]
    assert reader.calls()[0].arguments == {"pin": "s3cret"}


@pytest.mark.requirement("STREAM-4")
def test_patterns_are_taken_out_of_text_reasoning_and_arguments(open_reader: Open) -> None:
    reader = open_reader(guarded=True)
    frames = feed(
        reader,
        think("sk-1234 "),
        say("key sk-1234.", chunk=3),
        call("file.read", {"path": "sk-1234"}),
        call("unknown", {"path": "sk-1234"}),
    )
    assert "sk-1234" not in "".join(told(frames)).replace(" ", "").replace("text", "")
    assert reader.text == "key [REDACTED]."
    assert [audit.kind for audit in reader.audits] == [AgentEvidenceKind.OUTPUT_GUARD]


@pytest.mark.requirement("STREAM-4")
def test_what_was_held_back_comes_out_at_the_end(open_reader: Open) -> None:
    frames = feed(open_reader(guarded=True), think("a sk-12"), say("b sk-12"))
    assert told(frames) == ["think a ", "text b ", "think sk-12", "text sk-12"]


@pytest.mark.requirement("STREAM-4")
def test_what_a_broken_answer_holds_back_is_not_shown(open_reader: Open) -> None:
    broken, whole = open_reader(guarded=True), open_reader(guarded=True)
    for reader in (broken, whole):
        assert reader.push_text("b sk-12") == ("b ",)
    list(broken.take(event(KIND.ERROR)))
    assert list(broken.finish()) == []
    assert told(list(whole.finish())) == ["text sk-12"]


def test_text_is_not_taken_twice(open_reader: Open) -> None:
    reader = open_reader()
    assert list(reader.take(event(KIND.TOKEN_DELTA, token_delta="a"))) == []


def test_what_ends_an_answer_is_kept(open_reader: Open) -> None:
    reader = open_reader()
    feed(
        reader,
        structured({"n": 1}),
        event(KIND.PROGRESS, metadata={"message": "queued"}),
        event(KIND.PROGRESS, metadata={"message": " "}),
        usage(3, 4, metadata={"finish_reason": "stop"}),
    )
    assert reader.structured == {"n": 1}
    assert reader.usage == ModelUsage(3, 4, 7)
    assert reader.metadata == {"finish_reason": "stop"}
    assert reader.error is None


def test_the_models_own_progress_is_shown(open_reader: Open) -> None:
    frames = feed(open_reader(), event(KIND.PROGRESS, metadata={"message": "queued"}))
    assert told(frames) == ["progress queued"]


def test_an_error_is_kept_and_one_without_words_gets_some(open_reader: Open) -> None:
    reader = open_reader()
    feed(reader, fail("agent.model.x", "no"))
    assert reader.error == ModelError("agent.model.x", "no")
    wordless = open_reader()
    feed(wordless, event(KIND.ERROR))
    assert wordless.error is not None
    assert wordless.error.code == "agent.model.failed"


def test_text_after_a_call_is_part_of_the_same_message(open_reader: Open) -> None:
    reader = open_reader()
    feed(reader, say("a"), call("file.read", {"path": "x"}), say("b"))
    assert reader.text == "ab"
