"""Redaction of a text that streams: a session takes pieces in and gives what may be shown.

``push`` never gives a character that may still turn out to belong to a match, and ``finish`` audits
what went out. A session that raises at its end has shown text already: treat that as disclosed, or
withhold the whole text until its audit has passed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from spakky.agent.error import AgentOutputGuardError, AgentValueError
from spakky.agent.guards.pattern_scanner import BeginningFinder, make_beginning_finder
from spakky.agent.guards.stream_audit import (
    BLOCK_SIZE,
    StreamAuditor,
    StreamingRedactionAudit,
    StreamingRedactionAuditStatus,
)
from spakky.agent.guards.stream_redactor import OutputPiece, StreamRedactor, prefix_length_for
from spakky.agent.guards.streaming_pattern import StreamingRedactionMatch, StreamingSensitivePattern
from spakky.agent.json_value import JsonObject

__all__ = [
    "DEFAULT_BUFFER_SIZE",
    "HoldBack",
    "StreamingGuardFailureMode",
    "StreamingRedactionAudit",
    "StreamingRedactionAuditStatus",
    "StreamingRedactionMatch",
    "StreamingRedactionPolicy",
    "StreamingRedactionResult",
    "StreamingRedactionSession",
    "StreamingSensitivePattern",
]

DEFAULT_BUFFER_SIZE = 64
"""How many characters a session holds back at most, unless its policy says otherwise."""

type HoldBack = Literal["minimal", "buffer"]
"""How much a session holds back: only what may become a match, or always up to the buffer."""


class StreamingGuardFailureMode(StrEnum):
    """What ``finish`` does when the audit failed: raise, or give an error payload."""

    RAISE = "raise"
    EMIT_ERROR = "emit_error"


@dataclass(frozen=True, slots=True)
class StreamingRedactionPolicy:
    """How a stream is redacted.

    Attributes:
        patterns: What is hidden. Without any the text passes, and is audited all the same.
        buffer_size: How many characters are held back at most; 1 or more. A match may be longer:
            the larger the buffer, the later a long match is decided and the less is hidden
            needlessly.
        emit_chunk_size: No piece that goes out is longer; None sets no bound.
        failure_mode: What happens when the audit fails.

    Raises:
        AgentValueError: A number below 1, or an object that is no pattern.
    """

    patterns: Sequence[StreamingSensitivePattern]
    buffer_size: int = DEFAULT_BUFFER_SIZE
    emit_chunk_size: int | None = None
    failure_mode: StreamingGuardFailureMode = StreamingGuardFailureMode.RAISE

    def __post_init__(self) -> None:
        object.__setattr__(self, "patterns", tuple(self.patterns))
        for pattern in self.patterns:
            if not isinstance(pattern, StreamingSensitivePattern):
                kind = type(pattern).__name__
                message = (
                    "StreamingRedactionPolicy.patterns must hold StreamingSensitivePattern objects, "
                    f"not {kind}."
                )
                raise AgentValueError(message)
        _require_count(self.buffer_size, "buffer_size")
        if self.emit_chunk_size is not None:
            _require_count(self.emit_chunk_size, "emit_chunk_size")
        if not isinstance(self.failure_mode, StreamingGuardFailureMode):
            kind = type(self.failure_mode).__name__
            message = f"StreamingRedactionPolicy.failure_mode must be a StreamingGuardFailureMode, not {kind}."
            raise AgentValueError(message)


@dataclass(slots=True)
class StreamingRedactionResult:
    """What one call of a session gives. Made for each piece of a stream: treat as read-only.

    Attributes:
        chunks: What may be shown now, in order; empty when everything is held back.
        audit: The audit; from ``finish`` only.
        error: The error payload of a failed audit under ``EMIT_ERROR``.
    """

    chunks: tuple[str, ...]
    audit: StreamingRedactionAudit | None = None
    error: JsonObject | None = None


class StreamingRedactionSession:
    """The redaction of one text. It is used once and by one task at a time.

    Args:
        policy: What is hidden, and how.
        hold_back: ``minimal`` holds back only what may still become a match, ``buffer`` always up
            to ``buffer_size`` characters.
    """

    def __init__(
        self, policy: StreamingRedactionPolicy, *, hold_back: HoldBack = "minimal"
    ) -> None:
        if hold_back not in {"minimal", "buffer"}:
            message = f"hold_back must be 'minimal' or 'buffer', not {hold_back!r}."
            raise AgentValueError(message)
        self._policy = policy
        self._redactor = StreamRedactor(policy.patterns, policy.buffer_size)
        self._auditor = StreamAuditor(policy.patterns, policy.buffer_size)
        self._find_beginning = _beginning_finder(policy.patterns, policy.buffer_size)
        self._keep = policy.buffer_size if hold_back == "buffer" else 0
        self._outbox: list[str] = []
        # Text that went out on the short way, of which the parts have not been told yet, and where
        # it begins.
        self._clean: list[str] = []
        self._clean_count = 0
        self._position = 0
        self._is_idle = True
        self._is_finished = False

    def push(self, chunk: str) -> StreamingRedactionResult:
        """Read the next piece of the text and give what may be shown.

        Args:
            chunk: The piece; may be empty.

        Raises:
            AgentValueError: The session is finished, or the chunk is no text.
        """
        if self._is_finished:
            raise _finished_error()
        if not isinstance(chunk, str):
            message = f"StreamingRedactionSession.push takes text, not {type(chunk).__name__}."
            raise AgentValueError(message)
        if not chunk:
            return StreamingRedactionResult(())
        if self._is_idle and self._find_beginning(chunk, 0, len(chunk)) is None:
            self._clean.append(chunk)
            self._clean_count += len(chunk)
            if self._clean_count >= BLOCK_SIZE:
                self._catch_up()
            return StreamingRedactionResult(
                self._release([chunk]) if self._keep else self._split(chunk)
            )
        self._catch_up()
        pieces = self._redact(chunk)
        self._auditor.see(chunk, pieces)
        self._position += len(chunk)
        self._is_idle = self._redactor.is_idle
        return StreamingRedactionResult(self._release([piece.text for piece in pieces]))

    def finish(self) -> StreamingRedactionResult:
        """End the text, give the rest of it and the audit.

        Raises:
            AgentOutputGuardError: The audit failed and the policy says ``RAISE``.
            AgentValueError: The session is finished.
        """
        if self._is_finished:
            raise _finished_error()
        self._is_finished = True
        self._catch_up()
        pieces = self._redact_rest()
        self._auditor.see("", pieces)
        audit = self._auditor.close(over_redacted_count=self._redactor.over_redacted_count)
        self._keep = 0
        chunks = self._release([piece.text for piece in pieces])
        if audit.status is StreamingRedactionAuditStatus.PASSED:
            return StreamingRedactionResult(chunks, audit)
        if self._policy.failure_mode is StreamingGuardFailureMode.RAISE:
            raise AgentOutputGuardError(audit.describe_failure())
        return StreamingRedactionResult(chunks, audit, audit.to_error_payload())

    def _redact(self, chunk: str) -> list[OutputPiece]:
        """Give what may go out after a piece of the text. The audit does not trust the answer."""
        return self._redactor.read(chunk)

    def _redact_rest(self) -> list[OutputPiece]:
        """Give what may go out at the end of the text. The audit does not trust the answer."""
        return self._redactor.close()

    def _catch_up(self) -> None:
        """Tell the parts of the text that went out on the short way."""
        if not self._clean:
            return
        text = "".join(self._clean)
        self._redactor.skip(len(text), text[-1])
        self._auditor.see(text, [OutputPiece(text, self._position, is_replacement=False)])
        self._position += len(text)
        self._clean.clear()
        self._clean_count = 0

    def _release(self, texts: list[str]) -> tuple[str, ...]:
        """Give what goes out now, and keep back what the session always keeps."""
        if self._keep or self._outbox:
            self._outbox += texts
            waiting = sum(map(len, self._outbox)) + self._redactor.held_count
            texts = []
            while self._outbox and waiting > self._keep:
                text = self._outbox.pop(0)
                surplus = waiting - self._keep
                if surplus < len(text):
                    self._outbox.insert(0, text[surplus:])
                    text = text[:surplus]
                texts.append(text)
                waiting -= len(text)
        return self._split("".join(texts))

    def _split(self, text: str) -> tuple[str, ...]:
        size = self._policy.emit_chunk_size
        if size is None or len(text) <= size:
            return (text,) if text else ()
        return tuple(text[place : place + size] for place in range(0, len(text), size))


def _beginning_finder(
    patterns: Sequence[StreamingSensitivePattern], buffer_size: int
) -> BeginningFinder:
    if not patterns:
        return _find_nothing
    programs = [pattern.program for pattern in patterns]
    return make_beginning_finder(programs, prefix_length_for(buffer_size))


def _find_nothing(_text: str, _begin: int, _end: int) -> None:
    return None


def _finished_error() -> AgentValueError:
    message = "This StreamingRedactionSession is finished; make a new one for the next text."
    return AgentValueError(message)


def _require_count(value: object, where: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        message = (
            f"StreamingRedactionPolicy.{where} must be a whole number above zero, not {value!r}."
        )
        raise AgentValueError(message)
