"""The form of a run's final answer: free text, or a value of the declared output type."""

import json
from abc import ABC, abstractmethod
from typing import override

from spakky.agent.contracts.model_request import JsonSchemaConstraint, StructuredOutputSpec
from spakky.agent.declare.decode import decode_value
from spakky.agent.declare.schema import schema_for_type
from spakky.agent.declare.schema_walk import is_strict_schema
from spakky.agent.error import AbstractSpakkyAgentError
from spakky.agent.json_value import FrozenObject, JsonObject, JsonValue, clean_value


class OutputMisfit(Exception):
    """An answer does not fit the declared output; the message says why, for the model to read."""


class OutputForm(ABC):
    """How an answer's text becomes the run's output."""

    @abstractmethod
    def request_spec(self) -> StructuredOutputSpec | None:
        """Give what the model is told about the form; None for free text."""

    @abstractmethod
    def read(self, text: str, structured: JsonValue) -> JsonValue:
        """Give the output as JSON.

        Args:
            text: The answer's text.
            structured: The value that the adapter decoded already; None when it did not.

        Raises:
            OutputMisfit: The answer does not fit.
        """

    @abstractmethod
    def decode(self, stored: JsonValue) -> object:
        """Give the typed output of a stored one."""


class FreeText(OutputForm):
    """No output type is declared, or it is plain text; the answer's text is the output."""

    def __init__(self, *, is_output: bool = False) -> None:
        self.is_output = is_output

    @override
    def request_spec(self) -> StructuredOutputSpec | None:
        return None

    @override
    def read(self, text: str, structured: JsonValue) -> JsonValue:
        return text if self.is_output else None

    @override
    def decode(self, stored: JsonValue) -> object:
        return stored


class TypedOutput(OutputForm):
    """The answer is JSON that decodes to the declared type.

    Providers ask for an object at the root, so any other schema is wrapped into one with the property ``value``.

    Args:
        output_type: The declared class.

    Raises:
        AgentDefinitionError: The class has no JSON schema.
    """

    def __init__(self, output_type: type[object]) -> None:
        self._type = output_type
        self._schema = schema_for_type(output_type)
        self._wrapped = self._schema.get("type") != "object"

    @override
    def request_spec(self) -> StructuredOutputSpec | None:
        schema = self._wrap(self._schema) if self._wrapped else self._schema
        constraint = JsonSchemaConstraint(schema, strict=is_strict_schema(schema))
        return StructuredOutputSpec(constraint, output_type_name=self._type.__name__)

    @staticmethod
    def _wrap(schema: JsonObject) -> JsonObject:
        definitions = schema.get("$defs")
        inner = {key: value for key, value in schema.items() if key != "$defs"}
        wrapped: dict[str, JsonValue] = {
            "type": "object",
            "properties": {"value": inner},
            "required": ["value"],
            "additionalProperties": False,
        }
        if definitions is not None:
            wrapped["$defs"] = definitions
        return FrozenObject(wrapped)

    @override
    def read(self, text: str, structured: JsonValue) -> JsonValue:
        value = clean_value(self._parse(text) if structured is None else structured)
        if self._wrapped:
            if not isinstance(value, dict) or set(value) != {"value"}:
                message = 'The answer must be a JSON object with the one property "value".'
                raise OutputMisfit(message)
            value = value["value"]
        try:
            decode_value(self._type, value, "output")
        except AbstractSpakkyAgentError as error:
            raise OutputMisfit(str(error)) from error
        return value

    @staticmethod
    def _parse(text: str) -> JsonValue:
        stripped = text.strip()
        if stripped.startswith("```") and stripped.endswith("```"):
            stripped = stripped.split("\n", 1)[-1].removesuffix("```").strip()
        try:
            parsed: JsonValue = json.loads(stripped)
        except (ValueError, RecursionError):
            message = "The answer is not JSON."
            raise OutputMisfit(message) from None
        return parsed

    @override
    def decode(self, stored: JsonValue) -> object:
        return decode_value(self._type, stored, "output")


def output_form_of(output_type: type[object] | None) -> OutputForm:
    """Give the form that a spec's output type asks for."""
    if output_type is None:
        return FreeText()
    if output_type is str:
        return FreeText(is_output=True)
    return TypedOutput(output_type)
