"""The settings of spakky-sqlalchemy, read from ``SPAKKY_SQLALCHEMY__*`` environment variables."""

import os
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from spakky.plugins.sqlalchemy.error import DatabaseConfigurationError
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

ENV_PREFIX = "SPAKKY_SQLALCHEMY__"
"""The prefix of every environment variable of this package."""

_ASYNC_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
}
_SUPPORTED = frozenset(_ASYNC_DRIVERS.values())


def default_database_url() -> str:
    """Give the URL of the SQLite file in the user's data folder, as XDG places it."""
    base = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification wants a relative path here to be ignored.
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share"
    return f"sqlite+aiosqlite:///{folder / 'spakky' / 'spakky.sqlite3'}"


def normalise_url(value: str) -> URL:
    """Read a database URL and name the async driver where it names none.

    Args:
        value: ``sqlite:///…``, ``postgresql://…``, or either with the driver written out.

    Raises:
        ValueError: It is no URL, or its database or driver is not supported. No part of the value
            is repeated in the message, since it may hold a password.
    """
    try:
        url = make_url(value)
    except (ArgumentError, ValueError):
        message = "is not a database URL; write it like postgresql://user@host/database."
        raise ValueError(message) from None
    url = url.set(drivername=_ASYNC_DRIVERS.get(url.drivername, url.drivername))
    if url.drivername not in _SUPPORTED:
        message = (
            f"names the driver {url.drivername}; give a URL that starts with postgresql:// "
            "or sqlite:///."
        )
        raise ValueError(message)
    if url.drivername == "sqlite+aiosqlite" and not url.query.get("uri"):
        return _with_absolute_path(url)
    return url


def _with_absolute_path(url: URL) -> URL:
    # A later chdir must not move the application to another, empty database.
    if url.database in {None, "", ":memory:"}:
        return url
    return url.set(database=str(Path(str(url.database)).expanduser().absolute()))


class SqlalchemySettings(BaseSettings):
    """Where the database is and how it is reached.

    Attributes:
        url: The database; ``sqlite:///path`` or ``postgresql://user:password@host/database``.
        pool_size: Connections kept open for each event loop.
        max_overflow: Connections opened beyond ``pool_size`` under load, closed after use.
        pool_timeout_seconds: How long to wait for a free connection.
        pool_recycle_seconds: Age at which a connection is replaced before its next use.
        connect_timeout_seconds: How long to wait for PostgreSQL to accept a connection.
        command_timeout_seconds: How long one PostgreSQL statement may take.
        busy_timeout_seconds: How long SQLite waits for the lock of another writer.
        echo: Whether SQLAlchemy logs each statement, with its parameters.
        auto_migrate: Whether the agent tables are made or upgraded at first use. None: on SQLite
            only, where nobody else administers the file.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    url: str = Field(default_factory=default_database_url, repr=False)
    pool_size: int = Field(default=5, ge=1)
    max_overflow: int = Field(default=10, ge=0)
    pool_timeout_seconds: float = Field(default=30.0, gt=0)
    pool_recycle_seconds: int = Field(default=1800, gt=0)
    connect_timeout_seconds: float = Field(default=10.0, gt=0)
    command_timeout_seconds: float = Field(default=60.0, gt=0)
    busy_timeout_seconds: float = Field(default=30.0, gt=0)
    echo: bool = False
    auto_migrate: bool | None = None

    @field_validator("url", mode="after")
    @classmethod
    def _normalise(cls, value: str) -> str:
        return normalise_url(value).render_as_string(hide_password=False)

    @property
    def database_url(self) -> URL:
        """The database as SQLAlchemy's own value, whose text form hides the password."""
        return make_url(self.url)

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is SQLite; otherwise it is PostgreSQL."""
        return self.database_url.get_backend_name() == "sqlite"

    @property
    def is_memory(self) -> bool:
        """Whether the database is a SQLite one in memory, which ends with its connection."""
        return self.is_sqlite and self.database_url.database in {None, "", ":memory:"}

    @property
    def upgrades_itself(self) -> bool:
        """Whether the agent tables are made or upgraded at first use."""
        return self.is_sqlite if self.auto_migrate is None else self.auto_migrate

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings.

        Raises:
            DatabaseConfigurationError: A variable is wrong; the message names each such variable
                and repeats no value.
        """
        try:
            return cls()
        except ValidationError as error:
            lines = [
                f"{ENV_PREFIX}{'__'.join(str(part) for part in fault['loc']).upper()}: "
                f"{fault['msg'].removeprefix('Value error, ')}"
                for fault in error.errors(include_input=False, include_url=False)
            ]
        message = "Change these environment variables. " + " ".join(lines)
        raise DatabaseConfigurationError(message)
