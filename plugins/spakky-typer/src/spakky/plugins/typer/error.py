"""Every error that spakky-typer raises.

AbstractSpakkyTyperError
└── CliDefinitionError      a controller, a command or a setting is declared wrongly; the author changes it
"""

from abc import ABC

from spakky.core.common.error import AbstractSpakkyFrameworkError


class AbstractSpakkyTyperError(AbstractSpakkyFrameworkError, ABC):
    """Base of every error of spakky-typer."""

    message = "The command line failed."


class CliDefinitionError(AbstractSpakkyTyperError):
    """A controller, a command or a setting is declared wrongly."""

    message = "The command line is declared wrongly."
