"""Cancellation: requests, clean-up tasks and their report."""

import asyncio
from typing import Any

import pytest

from spakky.agent.contracts.cancellation import (
    CLEANUP_FAILED_CODE,
    CLEANUP_RESULT_CODE,
    AgentCancellationCleanupReport,
    AgentCancellationCleanupResult,
    AgentCancellationCleanupStatus,
    AgentCancellationCleanupTask,
    AgentCancellationRequest,
    AgentCancellationTargetKind,
)
from spakky.agent.contracts.evidence import AgentEvidenceKind
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState, AgentStatus
from spakky.agent.error import AgentValueError

Result = AgentCancellationCleanupResult
TOOL = AgentCancellationTargetKind.TOOL_EXECUTION
STATE = AgentState("r1", "Agent", AgentStatus.CANCELLING)
CANCEL = AgentSignal(
    "s1", "r1", AgentSignalKind.CANCEL, {"reason": "enough", "requested_by": "ann"}
)

# Any: the tests put values of wrong types in.
WRONG: Any = "wrong"
DONE = Result.succeeded(target_kind=TOOL, target_ref="t1")
BROKEN = Result.failed(target_kind=TOOL, target_ref="t2", error_code="x", message="y")
SKIPPED = Result.skipped(target_kind=TOOL, target_ref="t3", reason="had ended")


def task_of(cleanup: Any) -> AgentCancellationCleanupTask:
    return AgentCancellationCleanupTask(TOOL, "t1", cleanup, {"a": 1})


def test_a_request_takes_reason_and_author_from_the_signal() -> None:
    request = AgentCancellationRequest.from_signal(
        state=STATE, signal=CANCEL, target_kind=TOOL, target_ref="t1", metadata={"a": 1}
    )
    assert request.to_payload() == {
        "state_id": "r1",
        "signal_id": "s1",
        "target_kind": "tool_execution",
        "target_ref": "t1",
        "reason": "enough",
        "requested_by": "ann",
        "metadata": {"a": 1},
    }


def test_a_request_ignores_details_that_are_no_text() -> None:
    signal = AgentSignal("s1", "r1", AgentSignalKind.CANCEL, {"reason": 5, "requested_by": " "})
    request = AgentCancellationRequest.from_signal(
        state=STATE, signal=signal, target_kind=TOOL, target_ref="t1"
    )
    assert (request.reason, request.requested_by, request.metadata) == (None, None, {})


@pytest.mark.parametrize(
    ("signal", "part"),
    [
        (AgentSignal("s1", "r1", AgentSignalKind.PAUSE), "'s1' is of kind PAUSE"),
        (AgentSignal("s1", "r2", AgentSignalKind.CANCEL), "is for run 'r2', not 'r1'"),
    ],
)
def test_a_request_comes_only_from_a_cancel_of_the_same_run(signal: AgentSignal, part: str) -> None:
    with pytest.raises(AgentValueError, match=part):
        AgentCancellationRequest.from_signal(
            state=STATE, signal=signal, target_kind=TOOL, target_ref="t1"
        )


@pytest.mark.requirement("CANCEL-3")
def test_the_three_results_differ_in_status_and_details() -> None:
    assert [result.status.value for result in (DONE, BROKEN, SKIPPED)] == [
        "succeeded",
        "failed",
        "skipped",
    ]
    assert [result.failed_cleanup for result in (DONE, BROKEN, SKIPPED)] == [False, True, False]
    assert BROKEN.to_payload() == {
        "target_kind": "tool_execution",
        "target_ref": "t2",
        "status": "failed",
        "reason": None,
        "error_code": "x",
        "message": "y",
        "metadata": {},
    }


FAILED = AgentCancellationCleanupStatus.FAILED


@pytest.mark.parametrize(
    ("build", "part"),
    [
        (lambda: AgentCancellationRequest("", "s1", TOOL, "t1"), "state_id"),
        (lambda: AgentCancellationRequest("r1", "", TOOL, "t1"), "signal_id"),
        (lambda: AgentCancellationRequest("r1", "s1", WRONG, "t1"), "target_kind"),
        (lambda: AgentCancellationRequest("r1", "s1", TOOL, " "), "target_ref"),
        (lambda: Result(TOOL, "t1", WRONG), "status"),
        (lambda: Result(TOOL, "t1", FAILED, message="x"), "error_code"),
        (lambda: Result(TOOL, "t1", FAILED, error_code="x"), "message"),
        (lambda: Result.skipped(target_kind=TOOL, target_ref="t1", reason=" "), "reason"),
        (
            lambda: Result(TOOL, "t1", AgentCancellationCleanupStatus.SUCCEEDED, error_code="x"),
            "of 't1' belongs to FAILED results only",
        ),
        (lambda: AgentCancellationCleanupTask(WRONG, "t1", WRONG), "target_kind"),
        (lambda: AgentCancellationCleanupReport("", "s1"), "state_id"),
        (lambda: AgentCancellationCleanupReport("r1", ""), "signal_id"),
    ],
)
def test_a_value_that_contradicts_itself_is_refused(build: Any, part: str) -> None:
    with pytest.raises(AgentValueError, match=part):
        build()


@pytest.mark.requirement("CANCEL-3")
async def test_a_task_gives_what_its_clean_up_gave() -> None:
    seen: list[tuple[AgentState, AgentSignal]] = []

    async def stop(state: AgentState, signal: AgentSignal) -> AgentCancellationCleanupResult:
        seen.append((state, signal))
        return SKIPPED

    assert await task_of(stop).run(state=STATE, signal=CANCEL) is SKIPPED
    assert seen == [(STATE, CANCEL)]


@pytest.mark.requirement("CANCEL-3")
async def test_a_clean_up_that_gives_nothing_back_succeeded() -> None:
    async def stop(state: AgentState, signal: AgentSignal) -> None:
        del state, signal

    result = await task_of(stop).run(state=STATE, signal=CANCEL)
    assert (result.status.value, result.target_ref, result.metadata) == (
        "succeeded",
        "t1",
        {"a": 1},
    )


@pytest.mark.requirement("CANCEL-3")
async def test_a_clean_up_that_raises_is_a_failure_without_its_text() -> None:
    async def stop(state: AgentState, signal: AgentSignal) -> None:
        message = "password hunter2"
        raise RuntimeError(message)

    result = await task_of(stop).run(state=STATE, signal=CANCEL)
    assert (result.failed_cleanup, result.error_code) == (True, CLEANUP_FAILED_CODE)
    assert result.message == "The clean-up raised RuntimeError."
    assert "hunter2" not in repr(result)


async def test_a_clean_up_that_gives_something_else_is_a_failure() -> None:
    async def stop(state: AgentState, signal: AgentSignal) -> str:
        return "done"

    result = await task_of(stop).run(state=STATE, signal=CANCEL)
    assert result.error_code == CLEANUP_RESULT_CODE
    assert result.message == "The clean-up gave back str, no result."


async def test_a_cancelled_task_is_not_taken_for_a_failed_clean_up() -> None:
    started = asyncio.Event()

    async def stop(state: AgentState, signal: AgentSignal) -> None:
        started.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(5):
        running = asyncio.create_task(task_of(stop).run(state=STATE, signal=CANCEL))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert running.cancelled()


@pytest.mark.requirement("CANCEL-3", "CANCEL-4")
def test_a_report_gathers_all_outcomes_into_one_piece_of_evidence() -> None:
    report = AgentCancellationCleanupReport("r1", "s1", (DONE, BROKEN, SKIPPED))
    assert not report.cleanup_succeeded
    assert report.failed_outcomes == (BROKEN,)
    candidate = report.to_evidence_candidate(summary="one failed")
    assert candidate.kind is AgentEvidenceKind.CANCELLATION
    assert candidate.payload == {
        "state_id": "r1",
        "signal_id": "s1",
        "cleanup_succeeded": False,
        "outcomes": (DONE.to_payload(), BROKEN.to_payload(), SKIPPED.to_payload()),
    }
    assert (candidate.summary, candidate.reference) == ("one failed", "s1")


@pytest.mark.requirement("CANCEL-3")
def test_a_report_succeeded_when_all_clean_ups_did_or_had_nothing_to_do() -> None:
    assert AgentCancellationCleanupReport("r1", "s1", (DONE, SKIPPED)).cleanup_succeeded
    assert AgentCancellationCleanupReport("r1", "s1").cleanup_succeeded
