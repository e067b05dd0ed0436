"""Database engines and transactions for spakky applications; the public names of the base part.

The contribution to the agent feature is in ``spakky.plugins.sqlalchemy.agent`` and needs the extra
``agent``.
"""

from spakky.core.application.plugin import Plugin

from spakky.plugins.sqlalchemy.column_types import (
    StorableText,
    UtcDateTime,
    json_data,
    json_document,
)
from spakky.plugins.sqlalchemy.config import SqlalchemySettings
from spakky.plugins.sqlalchemy.engine import DatabaseEngines, create_engine_for
from spakky.plugins.sqlalchemy.error import (
    AbstractSpakkySqlalchemyError,
    DatabaseConfigurationError,
    TransactionScopeError,
    UnstorableValueError,
)
from spakky.plugins.sqlalchemy.transaction import Transactions

PLUGIN_NAME = Plugin(name="spakky-sqlalchemy")
"""Names the plugin for ``SpakkyApplication.load_plugins(include=...)``."""

__all__ = [
    "PLUGIN_NAME",
    "AbstractSpakkySqlalchemyError",
    "DatabaseConfigurationError",
    "DatabaseEngines",
    "SqlalchemySettings",
    "StorableText",
    "TransactionScopeError",
    "Transactions",
    "UnstorableValueError",
    "UtcDateTime",
    "create_engine_for",
    "json_data",
    "json_document",
]
