"""The shapes that a type hint may have on its way to JSON: one closed union, read once per hint.

Schemas, decoders and sensitive paths are all made from these forms, so that they cannot disagree.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from spakky.agent.guards.sensitive import SecretField, SensitiveField
from spakky.agent.json_value import JsonObject, JsonPrimitive

type Marker = SensitiveField | SecretField


class JsonType(StrEnum):
    """The scalar types of JSON Schema."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"


class TextFormat(StrEnum):
    """Values that travel as text, named by the JSON Schema ``format``."""

    DATE_TIME = "date-time"
    DATE = "date"
    UUID = "uuid"


@dataclass(frozen=True, slots=True)
class ScalarForm:
    """A JSON scalar.

    Attributes:
        json_type: Its type.
    """

    json_type: JsonType


@dataclass(frozen=True, slots=True)
class FormattedForm:
    """A Python value that travels as formatted text.

    Attributes:
        text_format: How the text is formed.
    """

    text_format: TextFormat


@dataclass(frozen=True, slots=True)
class ChoiceForm:
    """One of listed values: an enum or a ``Literal``.

    Attributes:
        choices: Pairs of the JSON value and the Python value that it stands for.
    """

    choices: tuple[tuple[JsonPrimitive, object], ...]


@dataclass(frozen=True, slots=True)
class ArrayForm:
    """An array of any length.

    Attributes:
        item: The form of each item.
        as_tuple: Whether it arrives as a tuple; else as a list.
    """

    item: "TypeForm"
    as_tuple: bool


@dataclass(frozen=True, slots=True)
class TupleForm:
    """An array of fixed length that arrives as a tuple.

    Attributes:
        items: The form of each position.
    """

    items: tuple["TypeForm", ...]


@dataclass(frozen=True, slots=True)
class MappingForm:
    """An object with any keys that arrives as a dict.

    Attributes:
        value: The form of each value.
        key_markers: Sensitivity declared on the keys.
    """

    value: "TypeForm"
    key_markers: tuple[Marker, ...] = ()


@dataclass(frozen=True, slots=True)
class UnionForm:
    """A choice between forms.

    Attributes:
        options: In the declared order; without options the form stands for a value that is not
            looked into.
    """

    options: tuple["TypeForm", ...]


@dataclass(frozen=True, slots=True)
class AnnotatedForm:
    """A form with what ``Annotated`` says about it.

    Attributes:
        form: The form itself.
        description: The first text among the metadata.
        markers: The sensitivity markers among the metadata.
    """

    form: "TypeForm"
    description: str | None = None
    markers: tuple[Marker, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field of a record.

    Attributes:
        name: The key in JSON and the attribute in Python.
        form: The field's form.
        required: Whether a value must be given.
        settable: Whether the constructor takes it; a field that it does not take is output only.
        description: What the class's docstring says about it.
    """

    name: str
    form: "TypeForm"
    required: bool
    settable: bool = True
    description: str | None = None


@dataclass(slots=True, eq=False)
class RecordForm:
    """A dataclass or ``TypedDict``. Compared by identity; the fields are set after a cycle closed.

    Attributes:
        name: The class's name.
        construct: Makes the Python value from keyword arguments.
        fields: In the declared order.
    """

    name: str
    construct: Callable[..., object]
    fields: tuple[RecordField, ...] = ()


@dataclass(slots=True, eq=False)
class AliasForm:
    """A ``type`` statement's alias, which may refer to itself. Compared by identity.

    Attributes:
        name: The alias's name.
        target: What it stands for; set after a cycle closed.
    """

    name: str
    target: "TypeForm"


@dataclass(slots=True, eq=False)
class ForeignForm:
    """A class that brings its own schema and validation. Compared by identity.

    Attributes:
        name: The class's name.
        write_schema: Gives its JSON schema, references resolved from that schema's own root.
        validate: Makes an instance from a JSON value or raises.
        fields: Its fields as far as sensitivity is concerned, under each key that they may have.
    """

    name: str
    write_schema: Callable[[], JsonObject]
    validate: Callable[[object], object]
    fields: tuple[RecordField, ...] = ()


LeafForm = ScalarForm | FormattedForm | ChoiceForm
NodeForm = (
    ArrayForm
    | TupleForm
    | MappingForm
    | UnionForm
    | AnnotatedForm
    | RecordForm
    | AliasForm
    | ForeignForm
)
TypeForm = LeafForm | NodeForm

LEAF_FORMS = (ScalarForm, FormattedForm, ChoiceForm)
"""The classes of ``LeafForm``, for ``isinstance``."""

UNSEEN_FORM = UnionForm(())
"""Stands for a value that is not looked into."""


def children_of(form: TypeForm) -> tuple[TypeForm, ...]:
    """Give the forms directly inside a form.

    Args:
        form: Any form.
    """
    if isinstance(form, LEAF_FORMS):
        return ()
    match form:
        case ArrayForm(item=inner) | MappingForm(value=inner) | AnnotatedForm(form=inner):
            return (inner,)
        case AliasForm(target=inner):
            return (inner,)
        case TupleForm(items=inners) | UnionForm(options=inners):
            return inners
        case RecordForm(fields=fields) | ForeignForm(fields=fields):
            return tuple(field.form for field in fields)
    assert_never(form)


def find_recursive(roots: tuple[TypeForm, ...]) -> frozenset[RecordForm | AliasForm]:
    """Give the forms through which a form refers back to itself.

    Args:
        roots: Where to begin.

    Returns:
        Enough of the records and aliases to cut every cycle.
    """
    found: set[RecordForm | AliasForm] = set()
    seen: set[RecordForm | AliasForm] = set()
    _visit(roots, [], seen, found)
    return frozenset(found)


def _visit(
    forms: tuple[TypeForm, ...],
    path: list[RecordForm | AliasForm],
    seen: set[RecordForm | AliasForm],
    found: set[RecordForm | AliasForm],
) -> None:
    for form in forms:
        if isinstance(form, ForeignForm):
            continue
        if not isinstance(form, RecordForm | AliasForm):
            _visit(children_of(form), path, seen, found)
        elif form in path:
            found.add(form)
        elif form not in seen:
            seen.add(form)
            path.append(form)
            _visit(children_of(form), path, seen, found)
            path.pop()
