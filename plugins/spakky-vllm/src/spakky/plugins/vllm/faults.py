"""What a failure of a model server means: HTTP answers, failures told inside a stream, and broken connections. Pure.

HTTP answer                                       code               retryable
----------------------------------------------------------------------------------------
any 4xx or 500 that tells an overlong input        context_overflow   no
401, 403                                           authentication     no
404, 405                                           not_found          no
408                                                timeout            yes
413                                                context_overflow   no
429                                                rate_limit         yes; no when a quota is used up
other 4xx                                          invalid_request    no
5xx                                                unavailable        yes
anything else that is not 200                      protocol           no
"""

import re
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from spakky.plugins.vllm.error import ModelErrorCode, VllmModelError
from spakky.plugins.vllm.target import Target
from spakky.plugins.vllm.wire import WireError, WireFormatError, describe_error, parse_json

_OVERFLOW_NAMES = {
    "context_length_exceeded",
    "exceed_context_size_error",
    "string_above_max_length",
}
_OVERFLOW_TEXT = re.compile(
    r"maximum context length|maximum model length|context[ _-](length|window|size)[^.]{0,60}exceed"
    r"|exceeds?[^.]{0,60}context[ _-](length|window|size)|(prompt|input) is too long|prompt contains at least \d+ (input )?tokens"
    r"|(prompt|input)[^.]{0,40}longer than[^.]{0,40}(context|model)",
    re.IGNORECASE,
)
_QUOTA_NAMES = {"insufficient_quota", "billing_hard_limit_reached"}
_RETRYABLE_NAMES = {
    "overloaded",
    "overloaded_error",
    "server_error",
    "timeout",
    "rate_limit_exceeded",
    "rate_limit_error",
}

_LATER = "Try again later."
_SHORTEN = "Shorten the input, compact the history, or choose a model with a larger window."


def describe_body(body: bytes) -> WireError:
    """Read the body of an HTTP error; of a body that is no JSON its text counts, of a page its title does not."""
    text = body.decode("utf-8", "replace").strip()
    if text.startswith("<"):
        return WireError("the body is an HTML page")
    try:
        return describe_error(parse_json(body))
    except WireFormatError:
        return WireError(text)


def plan_http_fault(
    status: int, body: bytes, target: Target, retry_after_seconds: float | None = None
) -> VllmModelError:
    """Say what an HTTP answer other than 200 means.

    Args:
        status: Its status.
        body: Its body, or the beginning of it.
        target: Whom it came from.
        retry_after_seconds: What its header asks for.
    """
    told = describe_body(body)
    if 400 <= status <= 500 and status not in {401, 403, 429} and tells_overflow(told):
        return _overflow(target, told.message, status)
    code, what, advice, retryable = _read_status(status, told)
    return target.fault(
        code,
        f"{what} (HTTP {status})",
        advice,
        detail=told.message,
        retryable=retryable,
        status=status,
        retry_after_seconds=retry_after_seconds,
    )


def _read_status(status: int, told: WireError) -> tuple[ModelErrorCode, str, str, bool]:
    """Give the row of the module's table: code, what happened, what to do, and whether to try again."""
    match status:
        case 401 | 403:
            advice = "Check the profile's API key and what it may use."
            return (
                ModelErrorCode.AUTHENTICATION,
                "The model server refused the credentials",
                advice,
                False,
            )
        case 404 | 405:
            advice = "Check the model's name, and that the base URL is the part before /chat/completions."
            return (
                ModelErrorCode.NOT_FOUND,
                "The model server knows no such model or route",
                advice,
                False,
            )
        case 408:
            return ModelErrorCode.TIMEOUT, "The model server gave up waiting", _LATER, True
        case 413:
            return ModelErrorCode.CONTEXT_OVERFLOW, "The request is too large", _SHORTEN, False
        case 429:
            return _read_rate_limit(told)
        case _ if 400 <= status < 500:
            advice = "Change the request or the profile's options."
            return (
                ModelErrorCode.INVALID_REQUEST,
                "The model server refused the request",
                advice,
                False,
            )
        case _ if status >= 500:
            return ModelErrorCode.UNAVAILABLE, "The model server failed", _LATER, True
        case _:
            advice = "Set the base URL to the server itself; redirects are not followed."
            return (
                ModelErrorCode.PROTOCOL,
                "The model server did not answer with a completion",
                advice,
                False,
            )


def _read_rate_limit(told: WireError) -> tuple[ModelErrorCode, str, str, bool]:
    if _QUOTA_NAMES & {told.type, str(told.code)}:
        advice = "Raise the quota of the account."
        return ModelErrorCode.RATE_LIMIT, "The quota at the model server is used up", advice, False
    advice = "Try again later, or lower the profile's max_concurrency."
    return ModelErrorCode.RATE_LIMIT, "The model server limits the rate of requests", advice, True


def plan_stream_fault(told: WireError, target: Target) -> VllmModelError:
    """Say what a failure means that was told inside an answer with status 200."""
    if tells_overflow(told):
        return _overflow(target, told.message, None)
    status = _read_status_code(told.code)
    if status == 429:
        code, what, advice, retryable = _read_rate_limit(told)
        return target.fault(code, what, advice, detail=told.message, retryable=retryable)
    return target.fault(
        ModelErrorCode.SERVER_ERROR,
        "The model server reported a failure inside its answer",
        "Look into the server's log; the answer so far is not complete.",
        detail=told.message or told.type or str(told.code or ""),
        retryable=status >= 500 or bool(_RETRYABLE_NAMES & {told.type, str(told.code)}),
    )


def _read_status_code(code: int | str | None) -> int:
    if isinstance(code, str):
        return int(code) if re.fullmatch(r"[0-9]{3}", code) else 0
    return code or 0


def tells_overflow(told: WireError) -> bool:
    """Tell whether a failure says that the input does not fit the model's window."""
    if _OVERFLOW_NAMES & {told.type, str(told.code)} or told.param == "input_tokens":
        return True
    return told.param != "max_tokens" and _OVERFLOW_TEXT.search(told.message[:4000]) is not None


def _overflow(target: Target, detail: str, status: int | None) -> VllmModelError:
    return target.fault(
        ModelErrorCode.CONTEXT_OVERFLOW,
        "The input does not fit the model's window",
        _SHORTEN,
        detail=detail,
        status=status,
    )


def plan_transport_fault(error: Exception, target: Target, *, answering: bool) -> VllmModelError:
    """Say what a failure of the connection means.

    Args:
        error: What the HTTP library raised. Its words are left out, since they may quote what was sent.
        target: Whom it was talking to.
        answering: Whether the answer had begun, so that the server is there but the answer broke off.
    """
    name = type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        what = f"No connection in time ({name})"
        return target.fault(
            ModelErrorCode.TIMEOUT,
            what,
            "Check that the server runs and is reachable.",
            retryable=True,
        )
    if _is_certificate_fault(error):
        what = "The server's certificate cannot be verified"
        return target.fault(
            ModelErrorCode.UNAVAILABLE, what, "Set SSL_CERT_FILE to the authority that signed it."
        )
    if isinstance(error, httpx.DecodingError):
        what = f"The answer's compression is broken ({name})"
        return target.fault(
            ModelErrorCode.PROTOCOL, what, "Look at what stands between here and the server."
        )
    if answering:
        what = f"The answer broke off ({name})"
        return target.fault(ModelErrorCode.PROTOCOL, what, _LATER, retryable=True)
    what = f"The model server cannot be reached ({name})"
    return target.fault(
        ModelErrorCode.UNAVAILABLE, what, "Check that it runs at that address.", retryable=True
    )


def _is_certificate_fault(error: BaseException) -> bool:
    cause: BaseException | None = error
    for _ in range(8):
        if cause is None:
            break
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def read_retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Give the seconds to wait that an answer's headers ask for, from ``retry-after-ms`` or ``retry-after``; None without.

    Args:
        headers: The answer's headers, looked up without regard to case.
        now: The time to measure a date against, where the answer has no ``date`` of its own.
    """
    milliseconds = _parse_seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after")
    seconds = _parse_seconds(asked)
    if seconds is not None or asked is None:
        return seconds
    until = _parse_date(asked)
    if until is None:
        return None
    # The server's own clock wrote both, so a wrong clock on either side does not matter.
    since = _parse_date(headers.get("date")) or now
    return max(0.0, (until - since).total_seconds())


def _parse_seconds(text: str | None) -> float | None:
    if text is None or not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text.strip()):
        return None
    return float(text)


def _parse_date(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        # The parser of the standard library lets several kinds through for a text that is no date.
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
