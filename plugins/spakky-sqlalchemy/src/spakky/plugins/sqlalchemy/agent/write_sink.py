"""Where a repository's writes go: into a commit of their own, or into an open unit of work."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from spakky.agent.error import AgentPersistenceError
from spakky.plugins.sqlalchemy.agent.database import AgentDatabase
from spakky.plugins.sqlalchemy.agent.write_set import WriteSet

type Change = Callable[[WriteSet], None]


class IWriteSink(ABC):
    """Takes what a repository wants to write."""

    @abstractmethod
    async def put(self, action: str, change: Change) -> None:
        """Take a change.

        Args:
            action: What it does, for the message of a failure.
            change: Adds it to a write set.
        """


class ImmediateSink(IWriteSink):
    """Commits every change by itself.

    Args:
        database: Where to.
    """

    def __init__(self, database: AgentDatabase) -> None:
        self._database = database

    async def put(self, action: str, change: Change) -> None:
        """Commit the change before returning."""
        writes = WriteSet()
        change(writes)
        await self._database.commit(action, writes)


class BufferedSink(IWriteSink):
    """Gathers the changes of one unit of work."""

    def __init__(self) -> None:
        self.writes = WriteSet()
        """What was gathered."""
        self._is_open = True

    async def put(self, action: str, change: Change) -> None:
        """Keep the change for the commit.

        Raises:
            AgentPersistenceError: The unit of work has ended.
        """
        if not self._is_open:
            message = f"Could not {action}: its unit of work has ended; open another one."
            raise AgentPersistenceError(message)
        change(self.writes)

    def close(self) -> None:
        """Take no more changes."""
        self._is_open = False
