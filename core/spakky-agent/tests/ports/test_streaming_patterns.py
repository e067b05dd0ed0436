from collections.abc import Sequence
from typing import override

import pytest

from spakky.agent.guards.stream_redaction import StreamingRedactionPolicy, StreamingSensitivePattern
from spakky.agent.ports.streaming_patterns import IStreamingPatternProvider

PATTERN = StreamingSensitivePattern("ticket", r"T-\d+")


class Tickets(IStreamingPatternProvider):
    """A detector of an application."""

    @override
    def patterns(self) -> Sequence[StreamingSensitivePattern]:
        return [PATTERN]


class LongTickets(Tickets):
    """The same with a larger buffer."""

    @property
    @override
    def buffer_size(self) -> int:
        return 256


@pytest.mark.requirement("SAFE-7", "STREAM-2")
def test_a_provider_of_an_application_gives_the_policy_of_a_run() -> None:
    assert Tickets().policy() == StreamingRedactionPolicy((PATTERN,), buffer_size=64)
    assert LongTickets().policy().buffer_size == 256
