"""Checks that several context values share."""

import math
from collections.abc import Iterable
from datetime import datetime

from spakky.agent.checks import require_text
from spakky.agent.error import AgentValueError


def require_finite(value: float | None, where: str) -> None:
    """Refuse anything but a finite number; None passes.

    Raises:
        AgentValueError: No number, or not a finite one.
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        message = f"{where} must be a finite number or None, not {value!r}."
        raise AgentValueError(message)


def require_zone(value: datetime | None, where: str) -> None:
    """Refuse a time without a time zone; None passes.

    Raises:
        AgentValueError: The time has no zone.
    """
    if value is not None and value.utcoffset() is None:
        message = f"{where} must have a time zone; give it one, for example timezone.utc."
        raise AgentValueError(message)


def to_text_tuple(values: Iterable[str], where: str) -> tuple[str, ...]:
    """Give some texts as a tuple.

    Raises:
        AgentValueError: One text in place of several, or a blank one among them.
    """
    if isinstance(values, str):
        message = f"{where} must be a sequence of texts, not one text; put it in a tuple."
        raise AgentValueError(message)
    texts = tuple(values)
    for text in texts:
        require_text(text, where)
    return texts
