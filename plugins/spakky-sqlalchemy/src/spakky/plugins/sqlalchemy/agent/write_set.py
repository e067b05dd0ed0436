"""What one commit writes: collected first, sent together."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from spakky.agent.error import AgentSignalConsumedError, AgentStateConflictError
from spakky.plugins.sqlalchemy.agent.rows import Row
from spakky.plugins.sqlalchemy.json_text import JsonText


@dataclass(slots=True)
class StateWrite:
    """The next row of a state.

    Attributes:
        expected_version: The version that the stored state must have; 0: none is stored.
        row: What to store.
    """

    expected_version: int
    row: Row


@dataclass(slots=True)
class WriteSet:
    """The writes of one commit; all of them happen, or none.

    Attributes:
        states: By state id.
        signals: New signals in their order.
        consumed: The ids of stored signals to consume.
        evidence: New evidence in its order.
        messages: New transcript messages by state id, in their order.
    """

    states: dict[str, StateWrite] = field(default_factory=dict)
    signals: list[Row] = field(default_factory=list)
    consumed: list[str] = field(default_factory=list)
    evidence: list[Row] = field(default_factory=list)
    messages: dict[str, list[JsonText]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.states or self.signals or self.consumed or self.evidence or self.messages)

    def put_state(self, read_version: int, row: Row) -> None:
        """Add a save; a later one of the same state takes the place of an earlier one.

        Raises:
            AgentStateConflictError: The later save was not made from the earlier one.
        """
        state_id = str(row["id"])
        earlier = self.states.get(state_id)
        if earlier is None:
            self.states[state_id] = StateWrite(read_version, row)
            return
        if earlier.row["version"] != read_version:
            message = (
                f"State {state_id!r} was saved twice in this unit of work from version "
                f"{read_version}; save again what the first save returned."
            )
            raise AgentStateConflictError(message)
        row["created_at"] = earlier.row["created_at"]
        self.states[state_id] = StateWrite(earlier.expected_version, row)

    def consume(self, signal_id: str) -> None:
        """Add the consumption of a stored signal.

        Raises:
            AgentSignalConsumedError: It is already in this set.
        """
        if signal_id in self.consumed:
            raise AgentSignalConsumedError(consumed_message(signal_id))
        self.consumed.append(signal_id)

    def add_messages(self, state_id: str, messages: Iterable[JsonText]) -> None:
        """Add messages at the end of a run's transcript."""
        self.messages.setdefault(state_id, []).extend(messages)

    def appended_by_run(self) -> dict[str, int]:
        """Give the runs that something is appended to, sorted, with the number of messages."""
        appended = {str(row["state_id"]): 0 for row in (*self.signals, *self.evidence)}
        appended.update({run: len(messages) for run, messages in self.messages.items()})
        # Every writer locks the runs in the same order, so that two of them cannot block each other.
        return dict(sorted(appended.items()))


def consumed_message(signal_id: str) -> str:
    """Say that a signal was consumed before."""
    return f"Signal {signal_id!r} was already consumed; a signal has one consumer."


def conflict_message(state_id: str, read_version: int, stored_version: int) -> str:
    """Say that a state was saved by somebody else; version 0 is that of no state."""
    now = f"has version {stored_version}" if stored_version else "does not exist"
    return (
        f"State {state_id!r} was saved from version {read_version}, but the stored state {now}; "
        "read it again and decide anew. Nothing was written."
    )
