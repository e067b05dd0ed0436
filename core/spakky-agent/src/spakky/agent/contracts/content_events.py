"""Events of what an agent shows beside its answer: state, artifacts and facts of other sorts."""

from dataclasses import dataclass
from typing import ClassVar

from spakky.agent.checks import require_text
from spakky.agent.contracts.construction import store_objects
from spakky.agent.contracts.event_kinds import AgentEventAttribution, AgentEventKind
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class StateSnapshotEvent:
    """The whole state that an agent shows to its clients.

    Attributes:
        attribution: The run.
        snapshot: The state.
        metadata: Extra data.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.STATE_SNAPSHOT

    attribution: AgentEventAttribution
    snapshot: JsonValue
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class StateDeltaEvent:
    """A change of the state that an agent shows to its clients.

    Attributes:
        attribution: The run.
        patch: The change, a JSON Patch (RFC 6902) or the application's own form.
        metadata: Extra data.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.STATE_DELTA

    attribution: AgentEventAttribution
    patch: JsonValue
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class ArtifactEvent:
    """Something that a run made, apart from its answer.

    Attributes:
        attribution: The run.
        artifact_id: The artifact's id.
        content: The artifact as JSON.
        name: A name for people.
        metadata: Extra data.

    Raises:
        AgentValueError: The artifact id is blank.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.ARTIFACT

    attribution: AgentEventAttribution
    artifact_id: str
    content: JsonValue
    name: str | None = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.artifact_id, "ArtifactEvent.artifact_id")
        store_objects(self, "metadata")


@dataclass(frozen=True, slots=True)
class CustomEvent:
    """A fact that no other event tells: progress, evidence, or what a signal hook yielded.

    Attributes:
        attribution: The run.
        name: What it is, for example ``progress``.
        value: The fact as JSON.
        metadata: Extra data.

    Raises:
        AgentValueError: The name is blank.
    """

    kind: ClassVar[AgentEventKind] = AgentEventKind.CUSTOM

    attribution: AgentEventAttribution
    name: str
    value: JsonValue = None
    metadata: JsonObject = EMPTY_OBJECT

    def __post_init__(self) -> None:
        require_text(self.name, "CustomEvent.name")
        store_objects(self, "metadata")
