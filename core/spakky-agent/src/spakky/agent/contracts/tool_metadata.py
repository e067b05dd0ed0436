"""What a tool declares about itself, and the risk and resume behaviour that follow from it.

Only effects, permissions, idempotency and evidence are declared. Risk is computed from them each
time it is asked for, so that no tool can claim a risk that its effects contradict.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from spakky.agent.checks import require_positive, require_text
from spakky.agent.error import AgentDefinitionError


class DataAccess(StrEnum):
    """How a tool touches data that outlives the call."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    READ_WRITE = "read_write"


class Externality(StrEnum):
    """Whether a tool acts on systems outside the application; UNKNOWN counts as the worst case."""

    LOCAL = "local"
    EXTERNAL = "external"
    UNKNOWN = "unknown"


class Idempotency(StrEnum):
    """Whether running a tool twice with the same arguments has the effect of running it once.

    CONDITIONALLY_IDEMPOTENT depends on a condition that the framework cannot check, so such a tool
    is never retried by itself.
    """

    IDEMPOTENT = "idempotent"
    CONDITIONALLY_IDEMPOTENT = "conditionally_idempotent"
    NON_IDEMPOTENT = "non_idempotent"
    UNKNOWN = "unknown"


class EvidenceCapture(StrEnum):
    """What of a tool's result is kept as evidence."""

    NONE = "none"
    REFERENCE_ONLY = "reference_only"
    SUMMARY = "summary"
    STRUCTURED = "structured"
    RAW = "raw"
    REDACTED = "redacted"


class ToolApprovalRequirement(StrEnum):
    """Whether a person must approve a call: never, always, or where the tool's risk asks for it."""

    NOT_REQUIRED = "not_required"
    REQUIRED = "required"
    DERIVED = "derived"


class ToolRiskAxis(StrEnum):
    """One sort of risk of a call; every axis but READ makes it a candidate for approval."""

    READ = "read"
    WRITE = "write"
    SIDE_EFFECT = "side_effect"
    DESTRUCTIVE = "destructive"
    NETWORK = "network"


class ToolResumeAction(StrEnum):
    """What a resumed run may do with a call that an earlier runner recorded."""

    RETRY = "retry"
    REQUIRE_APPROVAL = "require_approval"
    SKIP_COMPLETED = "skip_completed"


@dataclass(frozen=True, slots=True)
class ToolPermission:
    """A permission that a tool needs.

    Attributes:
        name: The application's own name for it, not blank.

    Raises:
        AgentDefinitionError: The name is blank.
    """

    name: str

    def __post_init__(self) -> None:
        require_text(self.name, "ToolPermission.name", error=AgentDefinitionError)


@dataclass(frozen=True, slots=True)
class TimeoutPolicy:
    """How long one call may take.

    Attributes:
        seconds: Greater than zero; None means that only the run's own limit counts.

    Raises:
        AgentDefinitionError: The number is not positive and finite.
    """

    seconds: float | None = None

    def __post_init__(self) -> None:
        require_positive(self.seconds, "TimeoutPolicy.seconds", error=AgentDefinitionError)


@dataclass(frozen=True, slots=True)
class ResultBudget:
    """How large a result may be when it goes back to the model.

    Attributes:
        max_bytes: Of the result's JSON text in UTF-8, a whole number above zero; None: no limit.

    Raises:
        AgentDefinitionError: The number is not a whole number above zero.
    """

    max_bytes: int | None = None

    def __post_init__(self) -> None:
        require_positive(self.max_bytes, "ResultBudget.max_bytes", error=AgentDefinitionError)
        if self.max_bytes is not None and not isinstance(self.max_bytes, int):
            message = f"ResultBudget.max_bytes must be a whole number, not {self.max_bytes!r}."
            raise AgentDefinitionError(message)


def _require_member[EnumT: StrEnum](value: object, members: type[EnumT], where: str) -> None:
    if not isinstance(value, members):
        allowed = ", ".join(f"{members.__name__}.{member.name}" for member in members)
        message = f"{where} must be one of {allowed}, not {type(value).__name__}."
        raise AgentDefinitionError(message)


@dataclass(frozen=True, slots=True)
class ToolEffects:
    """What a tool does to the world.

    Attributes:
        data_access: How it touches data that outlives the call.
        externality: Whether it acts on other systems.
        destructive: Whether it removes or overwrites something that cannot be restored.
        network: Whether it uses a network.

    Raises:
        AgentDefinitionError: A field has another type.
    """

    data_access: DataAccess = DataAccess.NONE
    externality: Externality = Externality.LOCAL
    destructive: bool = False
    network: bool = False

    def __post_init__(self) -> None:
        _require_member(self.data_access, DataAccess, "ToolEffects.data_access")
        _require_member(self.externality, Externality, "ToolEffects.externality")
        for name, flag in (("destructive", self.destructive), ("network", self.network)):
            if not isinstance(flag, bool):
                message = f"ToolEffects.{name} must be True or False, not {type(flag).__name__}."
                raise AgentDefinitionError(message)

    @classmethod
    def read_only(cls) -> Self:
        """Give the effects of a tool that reads local data and changes nothing."""
        return cls(data_access=DataAccess.READ)

    @classmethod
    def write_state(cls) -> Self:
        """Give the effects of a tool that writes local data and can be undone."""
        return cls(data_access=DataAccess.WRITE)

    @classmethod
    def external_side_effect(cls) -> Self:
        """Give the effects of a tool that acts on another system over a network."""
        return cls(externality=Externality.EXTERNAL, network=True)

    @classmethod
    def destructive_action(cls) -> Self:
        """Give the effects of a tool that removes or overwrites local data for good."""
        return cls(data_access=DataAccess.WRITE, destructive=True)

    def overridden(
        self, data_access: DataAccess | None = None, externality: Externality | None = None
    ) -> Self:
        """Give the effects with the given parts replaced; None keeps a part.

        Args:
            data_access: The data access to declare instead.
            externality: The externality to declare instead.
        """
        return replace(
            self,
            data_access=self.data_access if data_access is None else data_access,
            externality=self.externality if externality is None else externality,
        )


@dataclass(frozen=True, slots=True)
class ToolRisk:
    """The axes of risk of one tool.

    Attributes:
        axes: Each axis once, in the order of ``ToolRiskAxis``; any order is accepted.

    Raises:
        AgentDefinitionError: An entry is no axis.
    """

    axes: tuple[ToolRiskAxis, ...] = ()

    def __post_init__(self) -> None:
        for axis in self.axes:
            _require_member(axis, ToolRiskAxis, "ToolRisk.axes")
        given = frozenset(self.axes)
        object.__setattr__(self, "axes", tuple(axis for axis in ToolRiskAxis if axis in given))

    @classmethod
    def from_metadata(cls, metadata: "AgentToolMetadata") -> Self:
        """Give the risk that follows from what a tool declares."""
        return cls(_axes_of(metadata.effects))

    @property
    def requires_approval_candidate(self) -> bool:
        """Whether any axis beyond reading is present."""
        return any(axis is not ToolRiskAxis.READ for axis in self.axes)

    def includes(self, axis: ToolRiskAxis) -> bool:
        """Tell whether an axis is present."""
        return axis in self.axes


def _axes_of(effects: ToolEffects) -> tuple[ToolRiskAxis, ...]:
    unknown = effects.externality is Externality.UNKNOWN
    present = {
        ToolRiskAxis.READ: effects.data_access in {DataAccess.READ, DataAccess.READ_WRITE},
        ToolRiskAxis.WRITE: effects.data_access in {DataAccess.WRITE, DataAccess.READ_WRITE},
        ToolRiskAxis.SIDE_EFFECT: unknown or effects.externality is Externality.EXTERNAL,
        ToolRiskAxis.DESTRUCTIVE: effects.destructive,
        # Nobody declared that the tool stays local, so it is taken to leave the machine.
        ToolRiskAxis.NETWORK: unknown or effects.network,
    }
    return tuple(axis for axis, holds in present.items() if holds)


@dataclass(frozen=True, slots=True)
class ToolResumeMetadata:
    """What a resumed run may do with a recorded call of a tool.

    Attributes:
        idempotency: What the tool declares.

    Raises:
        AgentDefinitionError: The value is no ``Idempotency``.
    """

    idempotency: Idempotency = Idempotency.UNKNOWN

    def __post_init__(self) -> None:
        _require_member(self.idempotency, Idempotency, "ToolResumeMetadata.idempotency")

    @classmethod
    def from_metadata(cls, metadata: "AgentToolMetadata") -> Self:
        """Give the resume behaviour that follows from what a tool declares."""
        return cls(metadata.idempotency)

    def action_for_completed_boundary(self) -> ToolResumeAction:
        """Give the action for a call whose end was recorded: it is never run again."""
        return ToolResumeAction.SKIP_COMPLETED

    def action_for_incomplete_boundary(self) -> ToolResumeAction:
        """Give the action for a call whose begin was recorded but not its end.

        Only a tool that is idempotent without condition is retried; in every other case the effect
        may have happened already, and a person decides.
        """
        if self.idempotency is Idempotency.IDEMPOTENT:
            return ToolResumeAction.RETRY
        return ToolResumeAction.REQUIRE_APPROVAL


_DEFAULT_EFFECTS = ToolEffects()


@dataclass(frozen=True, slots=True)
class AgentToolMetadata:
    """Everything that a tool declares beside its signature.

    ``effects`` and the two fields that repeat a part of it always agree: a value here other than
    the default replaces that part of ``effects``, and a default takes what ``effects`` says.

    Attributes:
        permissions: What the caller must be allowed to do, without duplicates.
        effects: What the tool does to the world.
        idempotency: Whether a call may be repeated.
        data_access: As in ``effects``.
        externality: As in ``effects``.
        timeout: How long one call may take.
        result_budget: How large a result may be.
        evidence: What of a result is kept as evidence.
        approval: Whether a person must approve a call.
        concurrent: Whether calls may run beside other calls of the same turn; None derives it.

    Raises:
        AgentDefinitionError: A field has another type, or a permission occurs twice.
    """

    permissions: tuple[ToolPermission, ...] = ()
    effects: ToolEffects = _DEFAULT_EFFECTS
    idempotency: Idempotency = Idempotency.UNKNOWN
    data_access: DataAccess = DataAccess.NONE
    externality: Externality = Externality.LOCAL
    timeout: TimeoutPolicy = TimeoutPolicy()
    result_budget: ResultBudget = ResultBudget()
    evidence: EvidenceCapture = EvidenceCapture.NONE
    approval: ToolApprovalRequirement = ToolApprovalRequirement.DERIVED
    concurrent: bool | None = None

    def __post_init__(self) -> None:
        _require_member(self.idempotency, Idempotency, "AgentToolMetadata.idempotency")
        _require_member(self.data_access, DataAccess, "AgentToolMetadata.data_access")
        _require_member(self.externality, Externality, "AgentToolMetadata.externality")
        _require_member(self.evidence, EvidenceCapture, "AgentToolMetadata.evidence")
        _require_member(self.approval, ToolApprovalRequirement, "AgentToolMetadata.approval")
        self._check_values()
        effects = self.effects.overridden(
            None if self.data_access is DataAccess.NONE else self.data_access,
            None if self.externality is Externality.LOCAL else self.externality,
        )
        object.__setattr__(self, "effects", effects)
        object.__setattr__(self, "data_access", effects.data_access)
        object.__setattr__(self, "externality", effects.externality)

    def _check_values(self) -> None:
        object.__setattr__(self, "permissions", tuple(self.permissions))
        expected: tuple[tuple[str, object, type[object]], ...] = (
            *(("permissions", permission, ToolPermission) for permission in self.permissions),
            ("effects", self.effects, ToolEffects),
            ("timeout", self.timeout, TimeoutPolicy),
            ("result_budget", self.result_budget, ResultBudget),
        )
        for name, value, kind in expected:
            if not isinstance(value, kind):
                message = (
                    f"AgentToolMetadata.{name} takes {kind.__name__}, not {type(value).__name__}."
                )
                raise AgentDefinitionError(message)
        if len(set(self.permissions)) != len(self.permissions):
            names = ", ".join(permission.name for permission in self.permissions)
            message = f"AgentToolMetadata.permissions names a permission twice: {names}."
            raise AgentDefinitionError(message)
        if self.concurrent is not None and not isinstance(self.concurrent, bool):
            given = type(self.concurrent).__name__
            message = f"AgentToolMetadata.concurrent must be True, False or None, not {given}."
            raise AgentDefinitionError(message)

    @property
    def risk(self) -> ToolRisk:
        """The risk that follows from the effects."""
        return ToolRisk.from_metadata(self)

    @property
    def resume(self) -> ToolResumeMetadata:
        """What a resumed run may do with a recorded call."""
        return ToolResumeMetadata.from_metadata(self)

    @property
    def requires_approval_candidate(self) -> bool:
        """Whether a call waits for a person: as declared, or by its risk where that is DERIVED."""
        if self.approval is ToolApprovalRequirement.DERIVED:
            return self.risk.requires_approval_candidate
        return self.approval is ToolApprovalRequirement.REQUIRED

    @property
    def may_run_concurrently(self) -> bool:
        """Whether calls may run beside others of the same turn.

        As declared, else for tools that are idempotent or only read. A tool that declares nothing
        runs alone: nobody said that it is safe beside others.
        """
        if self.concurrent is not None:
            return self.concurrent
        if self.idempotency is Idempotency.IDEMPOTENT:
            return True
        changing = {ToolRiskAxis.WRITE, ToolRiskAxis.SIDE_EFFECT, ToolRiskAxis.DESTRUCTIVE}
        axes = frozenset(self.risk.axes)
        return ToolRiskAxis.READ in axes and not axes & changing
