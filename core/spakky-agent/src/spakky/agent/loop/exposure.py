"""How the text of a run leaves it: at once, behind a redaction session, or only when it is complete."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never, override

from spakky.agent.contracts.evidence import AgentEvidenceCandidate, AgentEvidenceKind
from spakky.agent.contracts.execution import StreamingExposureMode
from spakky.agent.guards.stream_redaction import (
    StreamingRedactionPolicy,
    StreamingRedactionSession,
)
from spakky.agent.json_value import FrozenObject, JsonValue

type HoldBack = Literal["minimal", "buffer"]


class TextChannel(ABC):
    """One text on its way out: pieces go in, pieces that may be shown come out."""

    @abstractmethod
    def push(self, piece: str) -> tuple[str, ...]:
        """Take a piece and give what may be shown now."""

    @abstractmethod
    def finish(self) -> tuple[str, ...]:
        """Give the rest. The channel takes nothing more.

        Raises:
            AgentOutputGuardError: The audit found a raw match.
        """

    @property
    @abstractmethod
    def text(self) -> str:
        """Everything that may be kept and shown, also what the channel held back; complete after ``finish``."""

    @property
    def audit(self) -> AgentEvidenceCandidate | None:
        """What the guard has to put on record; None when it matched nothing."""
        return None


class OpenChannel(TextChannel):
    """Nothing is guarded."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    @override
    def push(self, piece: str) -> tuple[str, ...]:
        self._pieces.append(piece)
        return (piece,)

    @override
    def finish(self) -> tuple[str, ...]:
        return ()

    @property
    @override
    def text(self) -> str:
        return "".join(self._pieces)


class GuardedChannel(TextChannel):
    """Text passes a redaction session."""

    def __init__(self, policy: StreamingRedactionPolicy, *, hold_back: HoldBack) -> None:
        self._session = StreamingRedactionSession(policy, hold_back=hold_back)
        self._pieces: list[str] = []
        self._audit: AgentEvidenceCandidate | None = None

    @override
    def push(self, piece: str) -> tuple[str, ...]:
        chunks = self._session.push(piece).chunks
        self._pieces.extend(chunks)
        return chunks

    @override
    def finish(self) -> tuple[str, ...]:
        result = self._session.finish()
        self._pieces.extend(result.chunks)
        if result.audit is not None and (result.audit.detected_count or result.error is not None):
            self._audit = AgentEvidenceCandidate(
                AgentEvidenceKind.OUTPUT_GUARD, result.audit.to_evidence_payload()
            )
        return result.chunks

    @property
    @override
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    @override
    def audit(self) -> AgentEvidenceCandidate | None:
        return self._audit


class WholeChannel(TextChannel):
    """Text is shown in one piece, once it is complete and its audit has passed; or not at all."""

    def __init__(self, inner: TextChannel, *, shows: bool) -> None:
        self._inner = inner
        self._shows = shows

    @override
    def push(self, piece: str) -> tuple[str, ...]:
        self._inner.push(piece)
        return ()

    @override
    def finish(self) -> tuple[str, ...]:
        self._inner.finish()
        text = self._inner.text
        return (text,) if self._shows and text else ()

    @property
    @override
    def text(self) -> str:
        return self._inner.text

    @property
    @override
    def audit(self) -> AgentEvidenceCandidate | None:
        return self._inner.audit


@dataclass(frozen=True, slots=True)
class Exposure:
    """How every text of a run is exposed.

    Attributes:
        mode: LOW_LATENCY holds back only what may still become a match; BALANCED up to the policy's buffer; STRICT
            shows each message whole after its audit; NO_STREAM_UNTIL_FINAL_GUARDED shows only the final text.
        policy: The patterns; None when there are none, which costs nothing.
    """

    mode: StreamingExposureMode
    policy: StreamingRedactionPolicy | None = None

    @property
    def shows_only_final(self) -> bool:
        """Whether texts are shown only when they are the run's answer."""
        return self.mode is StreamingExposureMode.NO_STREAM_UNTIL_FINAL_GUARDED

    def open_channel(self) -> TextChannel:
        """Open a channel for one text."""
        match self.mode:
            case StreamingExposureMode.LOW_LATENCY:
                return self._guarded("minimal")
            case StreamingExposureMode.BALANCED:
                return self._guarded("buffer")
            case StreamingExposureMode.STRICT:
                return WholeChannel(self._guarded("minimal"), shows=True)
            case StreamingExposureMode.NO_STREAM_UNTIL_FINAL_GUARDED:
                return WholeChannel(self._guarded("minimal"), shows=False)
            case _:
                assert_never(self.mode)

    def _guarded(self, hold_back: HoldBack) -> TextChannel:
        if self.policy is None:
            return OpenChannel()
        return GuardedChannel(self.policy, hold_back=hold_back)

    def guard_value(self, value: JsonValue) -> JsonValue:
        """Guard every text and key of a JSON value that is already complete.

        Raises:
            AgentOutputGuardError: The audit found a raw match.
        """
        if self.policy is None:
            return value
        match value:
            case str():
                return self.guard_text(value)
            case None | bool() | int() | float():
                return value
            case Mapping():
                return FrozenObject(
                    (self.guard_text(key), self.guard_value(item)) for key, item in value.items()
                )
            case _:
                return tuple(self.guard_value(item) for item in value)

    def guard_text(self, text: str) -> str:
        """Guard a text that is already complete.

        Raises:
            AgentOutputGuardError: The audit found a raw match.
        """
        if self.policy is None:
            return text
        channel = self._guarded("minimal")
        channel.push(text)
        channel.finish()
        return channel.text
