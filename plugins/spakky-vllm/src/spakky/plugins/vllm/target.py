"""Where a request goes, as messages name it, and the cleaning of texts that come from there."""

import re
from dataclasses import dataclass, field

from spakky.plugins.vllm.error import ModelErrorCode, VllmModelError

REDACTED = "[REDACTED]"
MAX_DETAIL_CHARACTERS = 400
_MAX_READ_CHARACTERS = 20_000
_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_CREDENTIALS = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',;]+"), rf"\1 {REDACTED}"),
    (re.compile(r"(?i)(://)[^/@\s]+@"), rf"\1{REDACTED}@"),
    (re.compile(r"\b(sk|pk|rk|hf|gsk|xai)[-_][A-Za-z0-9_*.-]{4,}"), REDACTED),
    (
        re.compile(
            r"(?i)\b((?:x-)?api[-_ ]?key|authorization|access[-_ ]token|password)(\"?'?\s*[:=]\s*\"?'?)[^\s\"',;}]+"
        ),
        rf"\1\2{REDACTED}",
    ),
)


@dataclass(frozen=True, slots=True)
class Target:
    """One model at one server.

    Attributes:
        profile: The name of the profile.
        model: The model's name on the wire.
        base_url: The server's address, without credentials and query.
        secrets: Values that no message may show.
    """

    profile: str
    model: str
    base_url: str
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def clean(self, detail: str) -> str:
        """Give a server's words as one line without credentials, cut to 400 characters.

        What has the form of a credential is replaced as well as the known ones: servers echo what they were sent, and proxies
        add what they were configured with. The replacing comes before the cutting, so that no part of a secret is left over.
        """
        text = detail[:_MAX_READ_CHARACTERS]
        for secret in sorted(self.secrets, key=len, reverse=True):
            if secret:
                text = text.replace(secret, REDACTED)
        for pattern, replacement in _CREDENTIALS:
            text = pattern.sub(replacement, text)
        text = _SPACE.sub(" ", text).strip()
        if len(text) <= MAX_DETAIL_CHARACTERS:
            return text
        return text[: MAX_DETAIL_CHARACTERS - 1] + "…"

    def fault(
        self,
        code: ModelErrorCode,
        what: str,
        advice: str,
        *,
        detail: str = "",
        retryable: bool = False,
        status: int | None = None,
        retry_after_seconds: float | None = None,
    ) -> VllmModelError:
        """Make an error about this target.

        Args:
            code: What went wrong.
            what: The same in words, as the beginning of a sentence without its full stop.
            advice: What to do next, as whole sentences.
            detail: The server's own words; they are cleaned here.
            retryable: Whether the same request may succeed later.
            status: The HTTP status, when there was an answer.
            retry_after_seconds: How long the server asks to wait, when it does.
        """
        words = self.clean(detail)
        said = f": {words}" if words else ""
        stop = "" if said.endswith((".", "!", "?", "…")) else "."
        where = f"{self.base_url}, model {self.model!r} (profile {self.profile!r})"
        message = f"{what} at {where}{said}{stop} {advice}"
        return VllmModelError(
            message,
            code=code,
            retryable=retryable,
            status=status,
            retry_after_seconds=retry_after_seconds,
        )
