import json
from typing import override

import pytest

from spakky.agent.error import AgentOutputGuardError
from spakky.agent.guards.stream_audit import BLOCK_SIZE, MAX_WINDOW, StreamAuditor
from spakky.agent.guards.stream_redaction import (
    StreamingGuardFailureMode,
    StreamingRedactionAuditStatus,
    StreamingRedactionPolicy,
    StreamingRedactionSession,
    StreamingSensitivePattern,
)
from spakky.agent.guards.stream_redactor import OutputPiece

KEY = StreamingSensitivePattern("key", "sk-[A-Za-z0-9]{8,}", metadata={"owner": "ops"})
FAILED = StreamingRedactionAuditStatus.FAILED
EMIT = StreamingGuardFailureMode.EMIT_ERROR


class LettingThrough(StreamingRedactionSession):
    """A broken session: every piece goes out as it came."""

    seen = 0

    @override
    def _redact(self, chunk: str) -> list[OutputPiece]:
        start, self.seen = self.seen, self.seen + len(chunk)
        return [OutputPiece(chunk, start, is_replacement=False)]

    @override
    def _redact_rest(self) -> list[OutputPiece]:
        return []


class LosingTheTail(StreamingRedactionSession):
    """A broken session: it redacts each piece alone."""

    seen = 0

    @override
    def _redact(self, chunk: str) -> list[OutputPiece]:
        start, self.seen = self.seen, self.seen + len(chunk)
        text, count = KEY.redact(chunk)
        return [OutputPiece(text, start, is_replacement=count > 0)]


class Lying(StreamingRedactionSession):
    """A broken session: it calls raw text a replacement."""

    @override
    def _redact(self, chunk: str) -> list[OutputPiece]:
        return [OutputPiece(f">{chunk}", 0, is_replacement=True)]


@pytest.mark.requirement("STREAM-5")
def test_an_audit_is_given_also_when_nothing_matched() -> None:
    session = StreamingRedactionSession(StreamingRedactionPolicy([KEY], buffer_size=32))
    session.push("clean")

    audit = session.finish().audit

    assert audit is not None
    assert audit.to_evidence_payload() == {
        "status": "passed",
        "detected_count": 0,
        "redacted_count": 0,
        "missed_count": 0,
        "missed_matches": [],
        "buffer_size": 32,
        "emitted_char_count": 5,
        "original_char_count": 5,
        "over_redacted_count": 0,
    }


def test_the_audit_counts_what_came_in_and_what_went_out() -> None:
    session = StreamingRedactionSession(StreamingRedactionPolicy([KEY]))
    session.push("a sk-ABCDEFGH b")

    audit = session.finish().audit

    assert audit is not None
    assert (audit.original_char_count, audit.emitted_char_count) == (15, len("a [REDACTED] b"))


@pytest.mark.parametrize("session_type", [LettingThrough, Lying])
@pytest.mark.parametrize("pieces", [["x sk-ABCDEFGHIJ y"], ["x sk-ABCDEFG", "HIJ y"]])
@pytest.mark.requirement("STREAM-6", "STREAM-9")
def test_a_session_that_leaks_a_match_raises_at_its_end(
    session_type: type[StreamingRedactionSession], pieces: list[str]
) -> None:
    session = session_type(StreamingRedactionPolicy([KEY]))
    for piece in pieces:
        session.push(piece)

    with pytest.raises(AgentOutputGuardError, match="'key'") as caught:
        session.finish()

    assert "ABCDEFGH" not in str(caught.value)


@pytest.mark.requirement("STREAM-8", "STREAM-9")
def test_the_tail_of_a_match_that_got_out_is_found() -> None:
    session = LosingTheTail(StreamingRedactionPolicy([KEY], failure_mode=EMIT))
    assert session.push("sk-ABCDEFGH").chunks == ("[REDACTED]",)
    assert session.push("SECRETTAIL1234").chunks == ("SECRETTAIL1234",)

    audit = session.finish().audit

    assert audit is not None
    assert audit.status is FAILED
    assert [(match.start, match.end) for match in audit.missed_matches] == [(0, 25)]


@pytest.mark.requirement("STREAM-7")
def test_a_failed_audit_can_be_kept_as_payloads_without_the_raw_text() -> None:
    session = LettingThrough(StreamingRedactionPolicy([KEY], failure_mode=EMIT))
    session.push("x sk-ABCDEFGHIJ y")

    result = session.finish()

    assert result.audit is not None
    assert result.error is not None
    assert result.error["code"] == "agent.output.guard"
    assert result.error["retryable"] is False
    assert result.error["metadata"] == result.audit.to_evidence_payload()
    assert result.audit.missed_count == 1
    assert (result.audit.detected_count, result.audit.redacted_count) == (1, 0)
    assert result.audit.to_evidence_payload()["missed_matches"] == [
        {"pattern_name": "key", "start": 2, "end": 15, "metadata": {"owner": "ops"}}
    ]
    assert "ABCDEFGH" not in json.dumps([result.error, result.audit.to_evidence_payload()])


@pytest.mark.requirement("STREAM-9")
def test_a_match_that_goes_out_late_is_found_while_its_text_is_kept() -> None:
    auditor = StreamAuditor([KEY], 64)
    secret = "sk-ABCDEFGHIJ "
    clean = "c" * BLOCK_SIZE
    auditor.see(secret + clean, [])

    auditor.see(clean, [OutputPiece(secret + clean + clean, 0, is_replacement=False)])

    assert auditor.close().missed_count == 1


@pytest.mark.requirement("STREAM-9")
def test_a_match_that_goes_out_after_its_text_was_dropped_is_found_by_itself() -> None:
    auditor = StreamAuditor([KEY], 64)
    auditor.see("sk-ABCDEFGHIJ " + "c" * (MAX_WINDOW + BLOCK_SIZE), [])

    for letter in "sk-ABCDEFGHIJ":
        auditor.see("", [OutputPiece(letter, 90_000, is_replacement=False)])

    assert auditor.close().status is FAILED


def test_text_of_unknown_origin_without_a_match_is_no_leak() -> None:
    auditor = StreamAuditor([KEY], 64)
    auditor.see(
        "abc",
        [OutputPiece("xyz", 0, is_replacement=False), OutputPiece("", 3, is_replacement=False)],
    )
    auditor.see("def", [OutputPiece("def", 3, is_replacement=False)])

    assert auditor.close().missed_count == 0


def test_a_failed_audit_without_matches_still_says_what_happened() -> None:
    auditor = StreamAuditor([KEY], 64)

    assert "0 sensitive match(es) of no pattern" in auditor.close().describe_failure()
