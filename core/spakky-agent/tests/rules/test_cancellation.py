"""The public steps of a cancellation."""

import asyncio

import pytest

from spakky.agent.contracts.cancellation import (
    AgentCancellationCleanupReport,
    AgentCancellationCleanupResult,
    AgentCancellationCleanupStatus,
    AgentCancellationCleanupTask,
    AgentCancellationTargetKind,
)
from spakky.agent.contracts.evidence import AgentEvidenceKind
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import (
    AgentState,
    AgentStateReason,
    AgentStateTransition,
    AgentStatus,
)
from spakky.agent.error import AgentLifecycleError, AgentValueError
from spakky.agent.rules.cancellation import (
    begin_agent_cancellation,
    complete_agent_cancellation,
    run_agent_cancellation_cleanup,
)

KIND = AgentCancellationTargetKind
CANCEL = AgentSignal("s1", "r1", AgentSignalKind.CANCEL, {"reason": "enough"})
ACTIVE = AgentState("r1", "desk", AgentStatus.ACTIVE, AgentStateTransition.RUNNING)


def task(ref: str, outcome: object = None) -> AgentCancellationCleanupTask:
    async def clean(
        _state: AgentState, _signal: AgentSignal
    ) -> AgentCancellationCleanupResult | None:
        if isinstance(outcome, Exception):
            raise outcome
        assert outcome is None or isinstance(outcome, AgentCancellationCleanupResult)
        return outcome

    return AgentCancellationCleanupTask(KIND.TOOL_EXECUTION, ref, clean)


async def cleaned(*tasks: AgentCancellationCleanupTask) -> AgentCancellationCleanupReport:
    state = begin_agent_cancellation(ACTIVE, CANCEL)
    return await run_agent_cancellation_cleanup(state=state, signal=CANCEL, tasks=tasks)


@pytest.mark.parametrize(
    "status", [AgentStatus.CREATED, AgentStatus.ACTIVE, AgentStatus.INTERRUPTED]
)
@pytest.mark.requirement("CANCEL-1", "CANCEL-9")
def test_a_cancellation_begins_with_a_state_of_its_own(status: AgentStatus) -> None:
    begun = begin_agent_cancellation(AgentState("r1", "desk", status), CANCEL)
    assert begun.status is AgentStatus.CANCELLING
    assert begun.reason is AgentStateReason.CANCELLATION_REQUESTED


@pytest.mark.requirement("CANCEL-1", "STATE-6")
def test_what_cannot_be_cancelled_is_refused() -> None:
    for kind in AgentSignalKind:
        if kind is not AgentSignalKind.CANCEL:
            with pytest.raises(AgentValueError, match=kind.value):
                begin_agent_cancellation(ACTIVE, AgentSignal("s", "r1", kind))
    for other in ("r0", "r2"):
        with pytest.raises(AgentValueError, match=other):
            begin_agent_cancellation(ACTIVE, AgentSignal("s", other, AgentSignalKind.CANCEL))
    with pytest.raises(AgentLifecycleError):
        begin_agent_cancellation(AgentState("r1", "desk", AgentStatus.COMPLETED), CANCEL)


@pytest.mark.requirement("CANCEL-2", "CANCEL-3", "CANCEL-4", "CANCEL-5", "CANCEL-7")
async def test_all_succeeded_or_skipped_ends_as_cancelled() -> None:
    skipped = AgentCancellationCleanupResult.skipped(
        target_kind=KIND.MODEL_STREAM, target_ref="m", reason="not running"
    )
    report = await cleaned(task("a"), task("m", skipped))
    statuses = [outcome.status for outcome in report.outcomes]
    assert statuses == [
        AgentCancellationCleanupStatus.SUCCEEDED,
        AgentCancellationCleanupStatus.SKIPPED,
    ]
    evidence = report.to_evidence_candidate()
    assert evidence.kind is AgentEvidenceKind.CANCELLATION
    ended = complete_agent_cancellation(begin_agent_cancellation(ACTIVE, CANCEL), report)
    assert ended.status is AgentStatus.CANCELLED
    assert ended.reason is AgentStateReason.CANCELLATION_REQUESTED


async def test_a_signal_and_a_report_that_were_read_from_a_store_belong_to_their_run() -> None:
    """Ids are equal, not the same object."""

    def stored(text: str) -> str:
        return "".join(list(text))

    long_id = "tenant-7/run-1"
    state = AgentState(stored(long_id), "desk", AgentStatus.ACTIVE)
    begun = begin_agent_cancellation(
        state, AgentSignal("s1", stored(long_id), AgentSignalKind.CANCEL)
    )
    report = AgentCancellationCleanupReport(state_id=stored(long_id), signal_id="s1", outcomes=())
    assert complete_agent_cancellation(begun, report).status is AgentStatus.CANCELLED


@pytest.mark.requirement("CANCEL-3", "CANCEL-6")
async def test_one_failure_does_not_stop_the_others_and_ends_as_failed() -> None:
    report = await cleaned(task("a", RuntimeError("s3cret")), task("b"))
    assert [outcome.target_ref for outcome in report.outcomes] == ["a", "b"]
    assert [outcome.target_ref for outcome in report.failed_outcomes] == ["a"]
    assert "s3cret" not in str(report)
    ended = complete_agent_cancellation(begin_agent_cancellation(ACTIVE, CANCEL), report)
    assert ended.status is AgentStatus.FAILED
    assert ended.reason is AgentStateReason.CANCELLATION_CLEANUP_FAILED


@pytest.mark.requirement("CANCEL-3", "CANCEL-6")
async def test_a_cleanup_that_never_ends_counts_as_failed() -> None:
    stopped = asyncio.Event()

    async def hang(_state: AgentState, _signal: AgentSignal) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    report = await run_agent_cancellation_cleanup(
        state=begin_agent_cancellation(ACTIVE, CANCEL),
        signal=CANCEL,
        tasks=(AgentCancellationCleanupTask(KIND.MODEL_STREAM, "m", hang), task("b")),
        timeout_seconds=0.01,
    )
    assert stopped.is_set()
    assert report.outcomes[0].error_code == "agent.cancellation.timeout"
    assert not report.outcomes[1].failed_cleanup


async def test_a_report_of_another_run_or_before_the_beginning_completes_nothing() -> None:
    report = await cleaned()
    for other in ("r0", "r2"):
        with pytest.raises(AgentValueError, match=other):
            complete_agent_cancellation(AgentState(other, "desk", AgentStatus.CANCELLING), report)
    with pytest.raises(AgentLifecycleError):
        complete_agent_cancellation(ACTIVE, report)
