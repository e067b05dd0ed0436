"""The port that supplies the sensitive patterns of streams. The core has none of its own."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from spakky.agent.guards.stream_redaction import (
    DEFAULT_BUFFER_SIZE,
    StreamingRedactionPolicy,
    StreamingSensitivePattern,
)


class IStreamingPatternProvider(ABC):
    """Gives what must not be shown in streams. It is asked once at the start of each run."""

    @abstractmethod
    def patterns(self) -> Sequence[StreamingSensitivePattern]:
        """Give the patterns; the first ones win where two match the same text."""

    @property
    def buffer_size(self) -> int:
        """How many characters of a stream may be held back; 1 or more."""
        return DEFAULT_BUFFER_SIZE

    def policy(self) -> StreamingRedactionPolicy:
        """Give the policy of a run: the patterns and the buffer size, and an error on a failed
        audit.

        Raises:
            AgentValueError: The buffer size is below 1, or an object is no pattern.
        """
        return StreamingRedactionPolicy(self.patterns(), buffer_size=self.buffer_size)
