"""Logs faults of an author's code for the developer: what raised where, without the exception's text, which may hold secrets."""

import logging
import traceback

_LOG = logging.getLogger("spakky.agent")


def log_fault(what: str, error: BaseException) -> None:
    """Log that something raised, with the lines it came through.

    Args:
        what: What was called, in words.
        error: What it raised; its text is not logged.
    """
    frames = traceback.extract_tb(error.__traceback__)
    where = " <- ".join(f"{f.filename}:{f.lineno} {f.name}" for f in reversed(frames))
    _LOG.error("%s raised %s at %s", what, type(error).__qualname__, where or "an unknown place")
