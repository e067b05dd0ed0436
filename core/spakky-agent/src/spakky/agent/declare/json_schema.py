"""Writes forms as JSON schemas, draft 2020-12."""

from collections.abc import Iterable, Mapping
from typing import assert_never

from spakky.agent.declare.schema_walk import MutableSchema, rewrite_schema
from spakky.agent.declare.type_form import (
    LEAF_FORMS,
    AliasForm,
    AnnotatedForm,
    ArrayForm,
    ChoiceForm,
    ForeignForm,
    FormattedForm,
    LeafForm,
    MappingForm,
    NodeForm,
    RecordField,
    RecordForm,
    ScalarForm,
    TupleForm,
    TypeForm,
    UnionForm,
    find_recursive,
)
from spakky.agent.error import AgentDefinitionError
from spakky.agent.json_value import JsonPrimitive, JsonValue

_DEFINITIONS = "#/$defs/"


class SchemaWriter:
    """Writes the forms of one document; what refers to itself goes to the document's ``$defs``.

    Args:
        roots: The forms that will be written, to find those that refer to themselves.
        for_output: Whether fields that a constructor does not take are part of a record.
    """

    def __init__(self, roots: Iterable[TypeForm], *, for_output: bool) -> None:
        self._recursive = find_recursive(tuple(roots))
        self._for_output = for_output
        self._references: dict[RecordForm | AliasForm, str] = {}
        self._foreign: dict[ForeignForm, MutableSchema] = {}
        self._definitions: dict[str, JsonValue] = {}

    def write(self, form: TypeForm) -> MutableSchema:
        """Give the schema of a form; references in it need ``finish`` on the document.

        Args:
            form: One of the roots, or a form inside one.
        """
        if isinstance(form, LEAF_FORMS):
            return _write_leaf(form)
        if isinstance(form, RecordForm | AliasForm) and form in self._recursive:
            return {"$ref": self._refer(form)}
        return self._write_node(form)

    def write_object(self, fields: Iterable[RecordField]) -> MutableSchema:
        """Give the schema of a closed object.

        Args:
            fields: Its properties.
        """
        shown = [field for field in fields if field.settable or self._for_output]
        return {
            "type": "object",
            "properties": {field.name: self._write_property(field) for field in shown},
            "required": [field.name for field in shown if field.required],
            "additionalProperties": False,
        }

    def finish(self, schema: MutableSchema) -> MutableSchema:
        """Add to a document's root the definitions that its references name.

        Args:
            schema: The root.
        """
        return {**schema, "$defs": self._definitions} if self._definitions else schema

    def _write_node(self, form: NodeForm) -> MutableSchema:
        match form:
            case ArrayForm(item=item):
                return {"type": "array", "items": self.write(item)}
            case TupleForm(items=items):
                return self._write_tuple(items)
            case MappingForm(value=value):
                return {"type": "object", "additionalProperties": self.write(value)}
            case UnionForm(options=options):
                return {"anyOf": [self.write(option) for option in options]}
            case _:
                return self._write_named(form)

    def _write_named(
        self, form: AnnotatedForm | RecordForm | AliasForm | ForeignForm
    ) -> MutableSchema:
        match form:
            case AnnotatedForm(form=inner, description=description):
                return _describe(self.write(inner), description)
            case RecordForm(fields=fields):
                return self.write_object(fields)
            case AliasForm(target=target):
                return self.write(target)
            case ForeignForm():
                return self._write_foreign(form)
            case _:
                assert_never(form)

    def _write_tuple(self, items: tuple[TypeForm, ...]) -> MutableSchema:
        length = len(items)
        sizes: MutableSchema = {"items": False, "minItems": length, "maxItems": length}
        if not items:
            # The draft wants at least one schema in prefixItems.
            return {"type": "array", **sizes}
        return {"type": "array", "prefixItems": [self.write(item) for item in items], **sizes}

    def _write_property(self, field: RecordField) -> MutableSchema:
        schema = self.write(field.form)
        return schema if "description" in schema else _describe(schema, field.description)

    def _refer(self, form: RecordForm | AliasForm) -> str:
        reference = self._references.get(form)
        if reference is None:
            name = self._free_name(form.name)
            self._definitions[name] = {}
            reference = self._references[form] = _DEFINITIONS + name
            self._definitions[name] = self._write_node(form)
        return reference

    def _free_name(self, wanted: str) -> str:
        name, number = wanted, 1
        while name in self._definitions:
            number += 1
            name = f"{wanted}_{number}"
        return name

    def _write_foreign(self, form: ForeignForm) -> MutableSchema:
        known = self._foreign.get(form)
        if known is None:
            known = self._foreign[form] = self._adopt(form)
        return dict(known)

    def _adopt(self, form: ForeignForm) -> MutableSchema:
        """Move a class's own definitions into this document under names that are free here."""
        own = dict(form.write_schema())
        definitions = own.pop("$defs", {})
        if not isinstance(definitions, Mapping):
            message = f"The JSON schema of {form.name} has $defs that are no object."
            raise AgentDefinitionError(message)
        names: dict[str, str] = {}
        for name in definitions:
            names[name] = self._free_name(name)
            self._definitions[names[name]] = {}

        def move_references(schema: MutableSchema) -> MutableSchema:
            # An extension of another specification whose references nobody here would move.
            schema.pop("discriminator", None)
            reference = schema.get("$ref")
            if reference is None:
                return schema
            name = str(reference).removeprefix(_DEFINITIONS)
            if name not in names:
                message = f"The JSON schema of {form.name} refers to {reference!r}; only {_DEFINITIONS} can be resolved."
                raise AgentDefinitionError(message)
            return {**schema, "$ref": _DEFINITIONS + names[name]}

        for name, definition in definitions.items():
            self._definitions[names[name]] = (
                rewrite_schema(definition, move_references)
                if isinstance(definition, Mapping)
                else definition
            )
        return rewrite_schema(own, move_references)


def _describe(schema: MutableSchema, description: str | None) -> MutableSchema:
    if description is None:
        return schema
    if "$ref" in schema:
        # Some readers take nothing beside a reference.
        return {"anyOf": [schema], "description": description}
    return {**schema, "description": description}


def _write_leaf(form: LeafForm) -> MutableSchema:
    match form:
        case ScalarForm(json_type=json_type):
            return {"type": json_type.value}
        case FormattedForm(text_format=text_format):
            return {"type": "string", "format": text_format.value}
        case ChoiceForm(choices=choices):
            return _write_choices([value for value, _ in choices])
        case _:
            assert_never(form)


def _write_choices(values: list[JsonPrimitive]) -> MutableSchema:
    types = {_type_of(value) for value in values}
    schema: MutableSchema = {"enum": list(values)}
    return {"type": types.pop(), **schema} if len(types) == 1 else schema


def _type_of(value: JsonPrimitive) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "integer" if isinstance(value, int) else "number"
