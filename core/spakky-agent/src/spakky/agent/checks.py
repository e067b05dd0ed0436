"""The one copy of the checks that values make on what they are built from."""

from spakky.agent.error import AbstractSpakkyAgentError, AgentValueError


def require_text(
    value: object, where: str, *, error: type[AbstractSpakkyAgentError] = AgentValueError
) -> None:
    """Refuse anything but a text with at least one character that is not white space.

    Args:
        value: What was given.
        where: The name of the class and field, for the message.
        error: The error class to raise.

    Raises:
        AgentValueError: Or the class given as ``error``: the value is no text, or is blank.
    """
    if not isinstance(value, str):
        message = f"{where} must be text, not {type(value).__name__}."
        raise error(message)
    if not value.strip():
        message = f"{where} must not be blank; give it a text with at least one visible character."
        raise error(message)


def require_optional_text(
    value: object, where: str, *, error: type[AbstractSpakkyAgentError] = AgentValueError
) -> None:
    """Refuse a blank text; None passes. Raises as ``require_text``."""
    if value is not None:
        require_text(value, where, error=error)


def require_positive(
    value: float | None, where: str, *, error: type[AbstractSpakkyAgentError] = AgentValueError
) -> None:
    """Refuse numbers that are not greater than zero; None passes.

    Raises:
        AgentValueError: Or the class given as ``error``: zero, negative, not a number or not finite.
    """
    if value is None:
        return
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 < value < float("inf")
    ):
        message = f"{where} must be a finite number greater than zero, not {value!r}."
        raise error(message)


def require_not_negative(
    value: float | None, where: str, *, error: type[AbstractSpakkyAgentError] = AgentValueError
) -> None:
    """Refuse numbers below zero; None passes.

    Raises:
        AgentValueError: Or the class given as ``error``: negative, not a number or not finite.
    """
    if value is None:
        return
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value < float("inf")
    ):
        message = f"{where} must be zero or a finite number above it, not {value!r}."
        raise error(message)
