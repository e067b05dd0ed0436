"""The JSON schemas of a tool, as a handle that its descriptor keeps."""

from dataclasses import dataclass
from typing import override

from spakky.agent.checks import require_text
from spakky.agent.declare.json_schema import SchemaWriter
from spakky.agent.declare.schema_walk import freeze_schema
from spakky.agent.declare.sensitive_paths import mark_schema, sensitive_fields_of
from spakky.agent.declare.signature import SignatureSource, ToolSignature
from spakky.agent.declare.type_reader import TypeReader
from spakky.agent.error import AgentDefinitionError
from spakky.agent.guards.exposure import ContextExposurePolicy
from spakky.agent.guards.sensitive import SensitiveFieldDescriptor
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject


@dataclass(frozen=True, slots=True)
class AgentToolSchemaHandle:
    """The schemas of one tool, and where its sensitive values lie.

    Attributes:
        name: The tool's schema name.
        input_schema_name: A name for the schema of the arguments.
        output_schema_name: A name for the schema of the result.
        input_schema: Of the arguments, an object schema without any word about sensitivity. Every
            reference resolves from this object.
        output_schema: Of the result.
        input_sensitive_fields: Where sensitive arguments lie.
        output_sensitive_fields: Where sensitive parts of the result lie.

    Raises:
        AgentDefinitionError: A name is blank.
    """

    name: str
    input_schema_name: str
    output_schema_name: str
    input_schema: JsonObject = EMPTY_OBJECT
    output_schema: JsonObject = EMPTY_OBJECT
    input_sensitive_fields: tuple[SensitiveFieldDescriptor, ...] = ()
    output_sensitive_fields: tuple[SensitiveFieldDescriptor, ...] = ()

    def __post_init__(self) -> None:
        where = "AgentToolSchemaHandle"
        require_text(self.name, f"{where}.name", error=AgentDefinitionError)
        require_text(
            self.input_schema_name, f"{where}.input_schema_name", error=AgentDefinitionError
        )
        require_text(
            self.output_schema_name, f"{where}.output_schema_name", error=AgentDefinitionError
        )
        object.__setattr__(self, "input_schema", freeze_schema(self.input_schema))
        object.__setattr__(self, "output_schema", freeze_schema(self.output_schema))
        object.__setattr__(self, "input_sensitive_fields", tuple(self.input_sensitive_fields))
        object.__setattr__(self, "output_sensitive_fields", tuple(self.output_sensitive_fields))

    def input_schema_for(self, policy: ContextExposurePolicy | None = None) -> JsonObject:
        """Give the schema of the arguments as a policy allows it to be seen.

        Args:
            policy: None shows nothing about sensitivity.

        Returns:
            The plain schema, or a copy with ``x-spakky-sensitive`` in each sensitive place.
        """
        if policy is None or not policy.include_sensitive_schema_metadata:
            return self.input_schema
        return mark_schema(self.input_schema, self.input_sensitive_fields)

    def output_schema_for(self, policy: ContextExposurePolicy | None = None) -> JsonObject:
        """Give the schema of the result as a policy allows it to be seen.

        Args:
            policy: None shows nothing about sensitivity.

        Returns:
            As ``input_schema_for``.
        """
        if policy is None or not policy.include_sensitive_schema_metadata:
            return self.output_schema
        return mark_schema(self.output_schema, self.output_sensitive_fields)


_RESOLVED_LATER = frozenset(
    {"input_schema", "output_schema", "input_sensitive_fields", "output_sensitive_fields"}
)


class DeferredToolSchemaHandle(AgentToolSchemaHandle):
    """A handle whose schemas are read from the signature at the first look at one of them.

    Reading raises what ``SignatureSource.resolve`` raises, and is tried again at the next look.

    Args:
        name: The tool's schema name.
        source: The signature.
    """

    __slots__ = ("_source",)

    _source: SignatureSource

    def __init__(self, name: str, source: SignatureSource) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "input_schema_name", f"{name}.input")
        object.__setattr__(self, "output_schema_name", f"{name}.output")
        object.__setattr__(self, "_source", source)

    def __getattr__(self, name: str) -> object:
        # Asked only while the slot is empty.
        if name not in _RESOLVED_LATER:
            message = f"{type(self).__name__} has no attribute {name!r}."
            raise AttributeError(message)
        resolved = extract_tool_schema(self.name, self._source.resolve())
        for field in _RESOLVED_LATER:
            # getattr: the names are those of the handle's own fields.
            object.__setattr__(self, field, getattr(resolved, field))
        # getattr: as above.
        return getattr(resolved, name)

    @override
    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r})"


def extract_tool_schema(name: str, signature: ToolSignature) -> AgentToolSchemaHandle:
    """Make the handle of a tool.

    Args:
        name: The tool's schema name.
        signature: Its signature.
    """
    return AgentToolSchemaHandle(
        name=name,
        input_schema_name=f"{name}.input",
        output_schema_name=f"{name}.output",
        input_schema=extract_input_schema(signature),
        output_schema=extract_output_schema(signature),
        input_sensitive_fields=tuple(
            descriptor
            for field in signature.fields
            for descriptor in sensitive_fields_of(field.form, (field.name,))
        ),
        output_sensitive_fields=sensitive_fields_of(signature.output),
    )


def extract_input_schema(signature: ToolSignature) -> JsonObject:
    """Give the closed object schema of a tool's arguments.

    Args:
        signature: The tool's signature.
    """
    writer = SchemaWriter([field.form for field in signature.fields], for_output=False)
    return freeze_schema(writer.finish(writer.write_object(signature.fields)))


def extract_output_schema(signature: ToolSignature) -> JsonObject:
    """Give the schema of a tool's result.

    Args:
        signature: The tool's signature.
    """
    writer = SchemaWriter([signature.output], for_output=True)
    return freeze_schema(writer.finish(writer.write(signature.output)))


def schema_for_type(tp: object) -> JsonObject:
    """Give the JSON schema of the values that ``decode_value`` takes for a type.

    Args:
        tp: The type; not a text.

    Raises:
        AgentDefinitionError: JSON cannot express the type, or a field names something unknown.
    """
    where = tp.__qualname__ if isinstance(tp, type) else repr(tp)
    form = TypeReader().read(tp, where)
    writer = SchemaWriter([form], for_output=False)
    return freeze_schema(writer.finish(writer.write(form)))
