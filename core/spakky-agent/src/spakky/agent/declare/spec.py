"""What an agent declares about itself beside its methods."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from spakky.agent.checks import require_optional_text, require_positive
from spakky.agent.contracts.execution import (
    AgentExecutionLimits,
    ModelErrorPolicy,
    RecoveryStrategy,
    RejectionPolicy,
    StreamingExposureMode,
    ToolErrorPolicy,
)
from spakky.agent.contracts.signals import AgentSignalKind
from spakky.agent.declare.catalog import (
    AgentToolCatalog,
    describe_tool_function,
    discover_agent_tools,
    merge_catalogs,
)
from spakky.agent.declare.teammate import AgentTeammate, schema_token
from spakky.agent.error import AgentDefinitionError
from spakky.agent.json_value import EMPTY_OBJECT, FrozenObject
from spakky.agent.ports.compaction import AgentCompactionPolicy

__all__ = ["AgentExecutionSpec", "AgentTeammate", "schema_token"]

# cast: the shared empty object has no values, so it is a mapping to text as well.
_NO_METADATA = cast("Mapping[str, str]", EMPTY_OBJECT)
_NO_LIMITS = AgentExecutionLimits()


@dataclass(frozen=True, slots=True)
class AgentExecutionSpec:
    """How an agent's runs are carried out.

    Attributes:
        name: The agent's name in records.
        objective: What its runs are for.
        instructions: The system-level directive of its model requests.
        output_type: The class of the final output; None gives an ``AgentRunResult``.
        accepted_signals: The kinds of signals that its runs consume, each once.
        recovery: What is stored so that a run survives its process.
        streaming_exposure_mode: How early guarded text leaves a run.
        timeout_seconds: The longest active stretch of a run, above zero; the same as
            ``limits.timeout_seconds`` where both are given.
        limits: The bounds of a run.
        teammates: The agents that it may delegate to.
        compaction: When and how the history is shortened; None never.
        delegation_allowed: Tells a hand-written loop that it may delegate. Declared teammates
            permit delegation by themselves, see ``permits_delegation``.
        metadata: Extra texts of the application.
        tools: Where tools come from beside the agent's own methods: classes of injected components
            with ``@agent_tool`` methods, and functions with ``@agent_tool``.
        on_rejection: What a rejected approval does.
        on_tool_error: What an exception of a tool does.
        on_model_error: What a fault of the model does.

    Raises:
        AgentDefinitionError: A text is blank, a field has another type or value, two teammates have
            the same name or token, the timeouts contradict each other, or an entry of ``tools``
            offers no tool.
    """

    name: str | None = None
    objective: str | None = None
    instructions: str | None = None
    output_type: type[object] | None = None
    accepted_signals: tuple[AgentSignalKind, ...] = ()
    recovery: RecoveryStrategy = RecoveryStrategy.NONE
    streaming_exposure_mode: StreamingExposureMode = StreamingExposureMode.BALANCED
    timeout_seconds: float | None = None
    limits: AgentExecutionLimits = _NO_LIMITS
    teammates: tuple[AgentTeammate, ...] = ()
    compaction: AgentCompactionPolicy | None = None
    delegation_allowed: bool = False
    metadata: Mapping[str, str] = _NO_METADATA
    tools: tuple[type[object] | Callable[..., object], ...] = ()
    on_rejection: RejectionPolicy = RejectionPolicy.FAIL_RUN
    on_tool_error: ToolErrorPolicy = ToolErrorPolicy.FAIL_RUN
    on_model_error: ModelErrorPolicy = ModelErrorPolicy.FAIL_RUN

    def __post_init__(self) -> None:
        for field_name, text in (
            ("name", self.name),
            ("objective", self.objective),
            ("instructions", self.instructions),
        ):
            require_optional_text(
                text, f"AgentExecutionSpec.{field_name}", error=AgentDefinitionError
            )
        self._check_types()
        self._check_choices()
        self._check_timeouts()
        self._store_collections()
        _require_distinct_teammates(self.teammates)
        self.component_tools()

    def _check_types(self) -> None:
        if self.output_type is not None and not isinstance(self.output_type, type):
            message = f"AgentExecutionSpec.output_type must be a class, not {self.output_type!r}."
            raise AgentDefinitionError(message)
        expected: tuple[tuple[str, object, type[object]], ...] = (
            ("limits", self.limits, AgentExecutionLimits),
            ("delegation_allowed", self.delegation_allowed, bool),
        )
        if self.compaction is not None:
            expected = (*expected, ("compaction", self.compaction, AgentCompactionPolicy))
        for field_name, value, kind in expected:
            if not isinstance(value, kind):
                raise _wrong_type(kind, value, field_name)

    def _check_choices(self) -> None:
        choices: tuple[tuple[str, object, type[StrEnum]], ...] = (
            ("recovery", self.recovery, RecoveryStrategy),
            ("streaming_exposure_mode", self.streaming_exposure_mode, StreamingExposureMode),
            ("on_rejection", self.on_rejection, RejectionPolicy),
            ("on_tool_error", self.on_tool_error, ToolErrorPolicy),
            ("on_model_error", self.on_model_error, ModelErrorPolicy),
        )
        for field_name, value, kind in choices:
            if not isinstance(value, kind):
                raise _wrong_type(kind, value, field_name)

    def _check_timeouts(self) -> None:
        own, limit = self.timeout_seconds, self.limits.timeout_seconds
        where = "AgentExecutionSpec.timeout_seconds"
        require_positive(own, where, error=AgentDefinitionError)
        if own is not None and limit is not None and own != limit:
            message = f"{where} is {own!r} but limits.timeout_seconds is {limit!r}; give one."
            raise AgentDefinitionError(message)

    def _store_collections(self) -> None:
        collections: tuple[tuple[str, object, type[object]], ...] = (
            ("accepted_signals", self.accepted_signals, AgentSignalKind),
            ("teammates", self.teammates, AgentTeammate),
            ("tools", self.tools, object),
        )
        for field_name, values, kind in collections:
            if not isinstance(values, tuple | list):
                raise _wrong_type(tuple, values, field_name)
            for value in values:
                if not isinstance(value, kind):
                    raise _wrong_type(kind, value, field_name)
            object.__setattr__(self, field_name, tuple(values))
        object.__setattr__(self, "accepted_signals", tuple(dict.fromkeys(self.accepted_signals)))
        if not isinstance(self.metadata, Mapping):
            raise _wrong_type(dict, self.metadata, "metadata")
        for text in (*self.metadata, *self.metadata.values()):
            if not isinstance(text, str):
                raise _wrong_type(str, text, "metadata")
        object.__setattr__(self, "metadata", FrozenObject(self.metadata))

    @property
    def is_durable(self) -> bool:
        """Whether runs are stored: recovery at action boundaries, or any accepted signal."""
        return self.recovery is RecoveryStrategy.ACTION_BOUNDARY or bool(self.accepted_signals)

    @property
    def effective_timeout_seconds(self) -> float | None:
        """The timeout that counts, from either of its two places."""
        if self.timeout_seconds is not None:
            return self.timeout_seconds
        return self.limits.timeout_seconds

    @property
    def permits_delegation(self) -> bool:
        """Whether runs may delegate: the marker is set, or a teammate is declared."""
        return self.delegation_allowed or bool(self.teammates)

    def component_tools(self) -> AgentToolCatalog:
        """Give the tools that ``tools`` brings, in its order.

        Raises:
            AgentDefinitionError: An entry offers no tool, or two tools have the same schema name.
        """
        return merge_catalogs(*map(_tools_of, self.tools))


def _wrong_type(kind: type[object], value: object, field_name: str) -> AgentDefinitionError:
    given = type(value).__name__
    return AgentDefinitionError(
        f"AgentExecutionSpec.{field_name} takes {kind.__name__}, not {given}."
    )


def _tools_of(source: object) -> AgentToolCatalog:
    if isinstance(source, type):
        catalog = discover_agent_tools(source)
        if not catalog.descriptors:
            message = (
                f"AgentExecutionSpec.tools: {source.__qualname__} has no @agent_tool method; declare"
                " one, or take the class out."
            )
            raise AgentDefinitionError(message)
        return catalog
    if not callable(source):
        message = f"AgentExecutionSpec.tools takes classes and functions, not {source!r}."
        raise AgentDefinitionError(message)
    return AgentToolCatalog((describe_tool_function(source),))


def _require_distinct_teammates(teammates: tuple[AgentTeammate, ...]) -> None:
    by_token: dict[str, str] = {}
    for teammate in teammates:
        if teammate.token in by_token:
            message = (
                f"AgentExecutionSpec.teammates: {by_token[teammate.token]!r} and {teammate.name!r}"
                " make the same tool name; rename one of them."
            )
            raise AgentDefinitionError(message)
        by_token[teammate.token] = teammate.name
