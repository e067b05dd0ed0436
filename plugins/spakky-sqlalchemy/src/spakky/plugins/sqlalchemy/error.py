"""Every error that the base part of spakky-sqlalchemy raises.

    AbstractSpakkySqlalchemyError
    ├── DatabaseConfigurationError   a setting is wrong; the message names its environment variable
    ├── TransactionScopeError        a transaction is used where it is not open
    └── UnstorableValueError         a value that no column could give back as it was

What the contribution to the agent feature raises are the errors of ``spakky.agent.error``.
"""

from abc import ABC

from spakky.core.common.error import AbstractSpakkyFrameworkError


class AbstractSpakkySqlalchemyError(AbstractSpakkyFrameworkError, ABC):
    """Base of the errors of this package's base part.

    Args:
        message: What was wrong, where, and what to do next. Without one the class's own sentence
            is used.
    """

    message = "The database layer failed."

    def __init__(self, message: str | None = None) -> None:
        super().__init__(self.message if message is None else message)


class DatabaseConfigurationError(AbstractSpakkySqlalchemyError):
    """A setting is wrong. Raised while the application starts."""

    message = "The database settings are wrong."


class TransactionScopeError(AbstractSpakkySqlalchemyError):
    """A session is asked for outside a transaction, or by a task that did not open it."""

    message = "No transaction is open here."


class UnstorableValueError(AbstractSpakkySqlalchemyError, ValueError):
    """A value cannot be stored so that reading gives it back."""

    message = "The value cannot be stored."
