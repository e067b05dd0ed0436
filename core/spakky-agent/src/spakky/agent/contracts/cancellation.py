"""Cancellation of a run: the request, the clean-up tasks and the report of what they did."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from spakky.agent.checks import require_text
from spakky.agent.contracts.construction import require_member, store_objects, store_tuples
from spakky.agent.contracts.evidence import AgentEvidenceCandidate, AgentEvidenceKind
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.state import AgentState
from spakky.agent.error import AgentValueError
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue

CLEANUP_FAILED_CODE = "agent.cancellation.cleanup_failed"
"""The error code of a clean-up that raised."""

CLEANUP_RESULT_CODE = "agent.cancellation.cleanup_result"
"""The error code of a clean-up that gave back something other than a result."""


class AgentCancellationTargetKind(StrEnum):
    """What is stopped when a run is cancelled."""

    MODEL_STREAM = "model_stream"
    TOOL_EXECUTION = "tool_execution"
    DELEGATE_EXECUTION = "delegate_execution"


class AgentCancellationCleanupStatus(StrEnum):
    """How one clean-up ended; SKIPPED means that there was nothing to do."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class AgentCancellationRequest:
    """That one running thing is asked to stop.

    Attributes:
        state_id: The run.
        signal_id: The cancel signal that asks for it.
        target_kind: What sort of thing is stopped.
        target_ref: Which one.
        reason: Why, in the words of who asked for it.
        requested_by: Who asked for it.
        metadata: Extra data.

    Raises:
        AgentValueError: A blank id, or a target kind that is no member.
    """

    state_id: str
    signal_id: str
    target_kind: AgentCancellationTargetKind
    target_ref: str
    reason: str | None = None
    requested_by: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        where = "AgentCancellationRequest"
        require_text(self.state_id, f"{where}.state_id")
        require_text(self.signal_id, f"{where}.signal_id")
        _require_target(self.target_kind, self.target_ref, where)
        store_objects(self, "metadata")

    @classmethod
    def from_signal(
        cls,
        *,
        state: AgentState,
        signal: AgentSignal,
        target_kind: AgentCancellationTargetKind,
        target_ref: str,
        metadata: JsonObject | None = None,
    ) -> Self:
        """Give the request that a cancel signal makes for one target.

        ``reason`` and ``requested_by`` are taken from the signal's payload where they are texts.

        Args:
            state: The run's state.
            signal: The cancel signal of that run.
            target_kind: What sort of thing is stopped.
            target_ref: Which one.
            metadata: Extra data.

        Raises:
            AgentValueError: The signal is of another kind or for another run.
        """
        if signal.kind is not AgentSignalKind.CANCEL:
            message = f"Signal {signal.id!r} is of kind {signal.kind.name}; a CANCEL is needed."
            raise AgentValueError(message)
        if signal.agent_state_id != state.id:
            message = (
                f"Signal {signal.id!r} is for run {signal.agent_state_id!r}, not {state.id!r};"
                " give the state of the signal's run."
            )
            raise AgentValueError(message)
        return cls(
            state.id,
            signal.id,
            target_kind,
            target_ref,
            _text_or_none(signal.payload.get("reason")),
            _text_or_none(signal.payload.get("requested_by")),
            EMPTY_OBJECT if metadata is None else metadata,
        )

    def to_payload(self) -> JsonObject:
        """Give the request as a JSON object."""
        return {
            "state_id": self.state_id,
            "signal_id": self.signal_id,
            "target_kind": self.target_kind.value,
            "target_ref": self.target_ref,
            "reason": self.reason,
            "requested_by": self.requested_by,
            "metadata": self.metadata,
        }


@dataclass(frozen=True, slots=True)
class AgentCancellationCleanupResult:
    """How the clean-up of one target ended.

    Attributes:
        target_kind: What sort of thing was stopped.
        target_ref: Which one.
        status: How it ended.
        reason: Why nothing was done, or a remark.
        error_code: A stable code, for FAILED only and then required.
        message: What went wrong, without secrets; required for FAILED.
        metadata: Extra data.

    Raises:
        AgentValueError: A blank target, a failure without code and message, a code without a failure,
            or a skip without a reason.
    """

    target_kind: AgentCancellationTargetKind
    target_ref: str
    status: AgentCancellationCleanupStatus
    reason: str | None = None
    error_code: str | None = None
    message: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        where = "AgentCancellationCleanupResult"
        _require_target(self.target_kind, self.target_ref, where)
        require_member(self.status, AgentCancellationCleanupStatus, f"{where}.status")
        store_objects(self, "metadata")
        if self.failed_cleanup:
            require_text(self.error_code, f"{where}.error_code")
            require_text(self.message, f"{where}.message")
        elif self.error_code is not None:
            message = f"{where}.error_code of {self.target_ref!r} belongs to FAILED results only."
            raise AgentValueError(message)
        if self.status is AgentCancellationCleanupStatus.SKIPPED:
            require_text(self.reason, f"{where}.reason")

    @classmethod
    def succeeded(
        cls,
        *,
        target_kind: AgentCancellationTargetKind,
        target_ref: str,
        reason: str | None = None,
        metadata: JsonObject | None = None,
    ) -> Self:
        """Give the result of a clean-up that stopped its target."""
        status = AgentCancellationCleanupStatus.SUCCEEDED
        return cls(
            target_kind, target_ref, status, reason=reason, metadata=metadata or EMPTY_OBJECT
        )

    @classmethod
    def failed(
        cls,
        *,
        target_kind: AgentCancellationTargetKind,
        target_ref: str,
        error_code: str,
        message: str,
        metadata: JsonObject | None = None,
    ) -> Self:
        """Give the result of a clean-up that went wrong."""
        return cls(
            target_kind,
            target_ref,
            AgentCancellationCleanupStatus.FAILED,
            error_code=error_code,
            message=message,
            metadata=metadata or EMPTY_OBJECT,
        )

    @classmethod
    def skipped(
        cls,
        *,
        target_kind: AgentCancellationTargetKind,
        target_ref: str,
        reason: str,
        metadata: JsonObject | None = None,
    ) -> Self:
        """Give the result of a clean-up that had nothing to do."""
        status = AgentCancellationCleanupStatus.SKIPPED
        return cls(
            target_kind, target_ref, status, reason=reason, metadata=metadata or EMPTY_OBJECT
        )

    @property
    def failed_cleanup(self) -> bool:
        """Whether the clean-up went wrong."""
        return self.status is AgentCancellationCleanupStatus.FAILED

    def to_payload(self) -> JsonObject:
        """Give the result as a JSON object."""
        return {
            "target_kind": self.target_kind.value,
            "target_ref": self.target_ref,
            "status": self.status.value,
            "reason": self.reason,
            "error_code": self.error_code,
            "message": self.message,
            "metadata": self.metadata,
        }


type AgentCancellationCleanupCallable = Callable[
    [AgentState, AgentSignal], Awaitable[AgentCancellationCleanupResult | None]
]
"""Stops one target of a run for a cancel signal; None stands for success."""


@dataclass(frozen=True, slots=True)
class AgentCancellationCleanupTask:
    """A clean-up that is due when a run is cancelled.

    Attributes:
        target_kind: What sort of thing it stops.
        target_ref: Which one.
        cleanup: Stops it.
        metadata: Extra data, part of the result that the task makes itself.

    Raises:
        AgentValueError: A blank target, or a target kind that is no member.
    """

    target_kind: AgentCancellationTargetKind
    target_ref: str
    cleanup: AgentCancellationCleanupCallable
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        _require_target(self.target_kind, self.target_ref, "AgentCancellationCleanupTask")
        store_objects(self, "metadata")

    async def run(
        self, *, state: AgentState, signal: AgentSignal
    ) -> AgentCancellationCleanupResult:
        """Stop the target and tell how it went.

        An exception of the clean-up becomes a failed result that names its class only, since its
        text may hold secrets. Cancellation of the calling task passes on.

        Args:
            state: The run's state.
            signal: The cancel signal.
        """
        try:
            result = await self.cleanup(state, signal)
        # Whatever a clean-up raises must not keep the others from running.
        except Exception as error:  # noqa: BLE001
            return self._failed(CLEANUP_FAILED_CODE, f"The clean-up raised {type(error).__name__}.")
        if result is None:
            return AgentCancellationCleanupResult.succeeded(
                target_kind=self.target_kind, target_ref=self.target_ref, metadata=self.metadata
            )
        if not isinstance(result, AgentCancellationCleanupResult):
            given = type(result).__name__
            return self._failed(CLEANUP_RESULT_CODE, f"The clean-up gave back {given}, no result.")
        return result

    def _failed(self, error_code: str, message: str) -> AgentCancellationCleanupResult:
        return AgentCancellationCleanupResult.failed(
            target_kind=self.target_kind,
            target_ref=self.target_ref,
            error_code=error_code,
            message=message,
            metadata=self.metadata,
        )


@dataclass(frozen=True, slots=True)
class AgentCancellationCleanupReport:
    """What all clean-ups of a cancelled run did.

    Attributes:
        state_id: The run.
        signal_id: The cancel signal.
        outcomes: One result for each task, in the order of the tasks.

    Raises:
        AgentValueError: A blank id.
    """

    state_id: str
    signal_id: str
    outcomes: tuple[AgentCancellationCleanupResult, ...] = ()

    def __post_init__(self) -> None:
        require_text(self.state_id, "AgentCancellationCleanupReport.state_id")
        require_text(self.signal_id, "AgentCancellationCleanupReport.signal_id")
        store_tuples(self, "outcomes")

    @property
    def cleanup_succeeded(self) -> bool:
        """Whether every clean-up succeeded or had nothing to do."""
        return not self.failed_outcomes

    @property
    def failed_outcomes(self) -> tuple[AgentCancellationCleanupResult, ...]:
        """The results of those that went wrong."""
        return tuple(outcome for outcome in self.outcomes if outcome.failed_cleanup)

    def to_payload(self) -> JsonObject:
        """Give the report as a JSON object."""
        return {
            "state_id": self.state_id,
            "signal_id": self.signal_id,
            "cleanup_succeeded": self.cleanup_succeeded,
            "outcomes": tuple(outcome.to_payload() for outcome in self.outcomes),
        }

    def to_evidence_candidate(self, *, summary: str | None = None) -> AgentEvidenceCandidate:
        """Give the report as evidence.

        Args:
            summary: The same in words.
        """
        return AgentEvidenceCandidate(
            AgentEvidenceKind.CANCELLATION,
            self.to_payload(),
            summary=summary,
            reference=self.signal_id,
        )


def _require_target(kind: object, ref: object, where: str) -> None:
    require_member(kind, AgentCancellationTargetKind, f"{where}.target_kind")
    require_text(ref, f"{where}.target_ref")


def _text_or_none(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
