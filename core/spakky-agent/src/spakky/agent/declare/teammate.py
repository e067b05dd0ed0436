"""Another agent that an agent may delegate to, as its spec names it."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from spakky.agent.checks import require_optional_text, require_text
from spakky.agent.contracts.delegation import (
    DelegationBudget,
    DelegationExpectedOutput,
    DelegationReturnPolicy,
)
from spakky.agent.contracts.tool_metadata import ToolApprovalRequirement
from spakky.agent.error import AgentDefinitionError

_OUTSIDE_TOKEN = re.compile(r"[^a-zA-Z0-9_]+")


@dataclass(frozen=True, slots=True)
class AgentTeammate:
    """A collaborator: exactly one of a local agent and a remote one.

    Attributes:
        name: Its name; the delegate tool is named after it.
        pod: The class of a local agent that is injected into the parent.
        card_url: The http or https URL of a remote agent's card, without credentials.
        description: What it is good at, in words for the parent's model.
        approval: Whether a person must approve that a task is handed to it.
        budget: What it may spend on one task; it never exceeds what is left to the parent either.
        allowed_capabilities: Schema names of the tools that it may use for the parent; empty allows all of its own.
        constraints: What it must keep to, in words.
        expected_output: What the parent wants back.
        return_policy: What of its work comes back to the parent's model.

    Raises:
        AgentDefinitionError: A blank name or description, a name without any letter or digit that a
            tool's name can hold, both or neither of ``pod`` and ``card_url``, a ``pod`` that is no
            class, or a ``card_url`` that is no such URL.
    """

    name: str
    pod: type[object] | None = None
    card_url: str | None = None
    description: str | None = None
    approval: ToolApprovalRequirement = ToolApprovalRequirement.DERIVED
    budget: DelegationBudget = DelegationBudget()  # noqa: RUF009 - frozen
    allowed_capabilities: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    expected_output: DelegationExpectedOutput = DelegationExpectedOutput()  # noqa: RUF009 - frozen
    return_policy: DelegationReturnPolicy = DelegationReturnPolicy.SUMMARY_AND_EVIDENCE

    def __post_init__(self) -> None:
        object.__setattr__(self, "allowed_capabilities", tuple(self.allowed_capabilities))
        object.__setattr__(self, "constraints", tuple(self.constraints))
        schema_token(self.name)
        where = f"AgentTeammate {self.name!r}"
        if (self.pod is None) == (self.card_url is None):
            message = f"{where}: give exactly one of pod (a local agent) and card_url (a remote)."
            raise AgentDefinitionError(message)
        if self.pod is not None and not isinstance(self.pod, type):
            message = f"{where}: pod must be a class, not {type(self.pod).__name__}."
            raise AgentDefinitionError(message)
        if self.card_url is not None:
            _require_card_url(self.card_url, where)
        require_optional_text(self.description, f"{where}.description", error=AgentDefinitionError)
        if not isinstance(self.approval, ToolApprovalRequirement):
            kind = type(self.approval).__name__
            message = f"{where}: approval must be a ToolApprovalRequirement, not {kind}."
            raise AgentDefinitionError(message)

    @property
    def token(self) -> str:
        """The name as it stands in the delegate tool's name."""
        return schema_token(self.name)


def schema_token(name: str) -> str:
    """Turn a teammate's name into the part that a tool's name can hold.

    White space at the ends is dropped, each run of other characters than ASCII letters, digits and
    ``_`` becomes one ``_``, ``_`` at the ends is dropped, and letters become small.

    Args:
        name: The name.

    Raises:
        AgentDefinitionError: The name is no text, is blank, or nothing of it is left.
    """
    require_text(name, "AgentTeammate.name", error=AgentDefinitionError)
    token = _OUTSIDE_TOKEN.sub("_", name.strip()).strip("_").lower()
    if not token:
        message = (
            f"AgentTeammate.name {name!r} has no ASCII letter or digit, so that no tool can be named"
            " after it; use one, and put the full name into description."
        )
        raise AgentDefinitionError(message)
    return token


def _require_card_url(url: object, where: str) -> None:
    require_text(url, f"{where}.card_url", error=AgentDefinitionError)
    try:
        parts = urlsplit(str(url))
        has_host = bool(parts.hostname)
        has_credentials = "@" in parts.netloc
    except ValueError:
        message = f"{where}: card_url is no valid URL."
        raise AgentDefinitionError(message) from None
    # The URL may hold a credential by mistake, so it is not repeated.
    if parts.scheme.lower() not in {"http", "https"} or not has_host:
        message = f"{where}: card_url must be an http or https URL with a host."
        raise AgentDefinitionError(message)
    if has_credentials:
        message = f"{where}: card_url must not hold credentials; configure them on the delegate."
        raise AgentDefinitionError(message)
