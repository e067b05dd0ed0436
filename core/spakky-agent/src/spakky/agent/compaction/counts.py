"""The check of the strategies' numbers."""

from spakky.agent.error import AgentDefinitionError


def require_count(value: object, where: str) -> None:
    """Refuse anything but a whole number above zero.

    Raises:
        AgentDefinitionError: It is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        message = f"{where} must be a whole number above zero, not {value!r}."
        raise AgentDefinitionError(message)
