"""Reads a type hint into a form, or says why JSON cannot express it.

Supported: ``str``, ``int``, ``float``, ``bool``, ``None``, ``datetime`` (with an offset), ``date``,
``UUID``, enums, ``Literal``, ``list``, ``Sequence`` and the like, ``tuple``, ``dict`` and
``Mapping`` with text keys, unions, ``Annotated``, ``NewType``, aliases made with ``type``,
dataclasses, ``TypedDict``, and classes with ``model_json_schema`` and ``model_validate``.

Refused, among others: ``Any`` and ``object`` (no shape), containers without type arguments, sets
(JSON has no such value), ``bytes``, ``Decimal`` (JSON numbers would round it), generic classes.
"""

import types
import typing
from collections import abc
from collections.abc import Callable
from datetime import date, datetime
from enum import Enum, Flag
from uuid import UUID

from spakky.agent.declare.hints import READ_ONLY, HintScope, UnresolvedHintError
from spakky.agent.declare.record_reader import (
    KnownForms,
    RecordReader,
    is_record_class,
    is_self_describing,
)
from spakky.agent.declare.type_form import (
    UNSEEN_FORM,
    AliasForm,
    AnnotatedForm,
    ArrayForm,
    ChoiceForm,
    FormattedForm,
    JsonType,
    MappingForm,
    Marker,
    ScalarForm,
    TextFormat,
    TupleForm,
    TypeForm,
    UnionForm,
)
from spakky.agent.error import AgentDefinitionError
from spakky.agent.guards.sensitive import SecretField, SensitiveField
from spakky.agent.json_value import JsonPrimitive

_TEXT = ScalarForm(JsonType.STRING)
_SIMPLE_FORMS: dict[object, TypeForm] = {
    str: _TEXT,
    int: ScalarForm(JsonType.INTEGER),
    float: ScalarForm(JsonType.NUMBER),
    bool: ScalarForm(JsonType.BOOLEAN),
    type(None): ScalarForm(JsonType.NULL),
    None: ScalarForm(JsonType.NULL),
    datetime: FormattedForm(TextFormat.DATE_TIME),
    date: FormattedForm(TextFormat.DATE),
    UUID: FormattedForm(TextFormat.UUID),
}
_ARRAY_TYPES = frozenset(
    {list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable},
)
_MAPPING_TYPES = frozenset({dict, abc.Mapping, abc.MutableMapping})
_SET_TYPES = frozenset({set, frozenset, abc.Set, abc.MutableSet})
_UNION_ORIGINS: tuple[object, ...] = (typing.Union, types.UnionType)
_FIELD_QUALIFIERS: tuple[object, ...] = (
    typing.Final,
    typing.Required,
    typing.NotRequired,
    *READ_ONLY,
)


class TypeReader:
    """Reads hints that belong together; a class that occurs twice becomes one form.

    Args:
        scope: The names that the hints can see, passed on to classes inside functions.
        lenient: Reads for the sake of the markers: no type is refused, and of one that JSON cannot
            express the parts are still looked into.
    """

    def __init__(self, scope: HintScope | None = None, *, lenient: bool = False) -> None:
        self._scope = scope
        self._lenient_reader = self if lenient else None
        self._known: KnownForms = {}
        self._records = RecordReader(self.read, self._known, scope, lenient=lenient)

    def read(self, hint: object, where: str) -> TypeForm:
        """Give the form of a resolved hint.

        Args:
            hint: The type.
            where: The parameter, field or result, for the message.

        Raises:
            AgentDefinitionError: JSON cannot express the type.
            UnresolvedHintError: A field inside names something that cannot be found.
        """
        if hint is None or isinstance(hint, type | typing.TypeAliasType):
            known = _SIMPLE_FORMS.get(hint) or self._known.get(hint)
            if known is not None:
                return known
        origin: object = typing.get_origin(hint)
        if origin is not None:
            return self._read_generic(hint, origin, where)
        if isinstance(hint, typing.TypeAliasType):
            return self._read_alias(hint, where)
        if isinstance(hint, typing.NewType):
            return self.read(hint.__supertype__, where)
        if isinstance(hint, type) and issubclass(hint, Enum) and not issubclass(hint, Flag):
            return self._read_choices(hint, tuple((item.value, item) for item in hint), where)
        if is_self_describing(hint):
            return self._read_foreign(hint, where)
        if is_record_class(hint):
            return self._records.read(hint, where)
        return self._refuse(hint, where, _reason_against(hint))

    def _read_foreign(self, hint: type[object], where: str) -> TypeForm:
        if self._lenient_reader is self:
            return self._records.read_foreign(hint, where)
        if self._lenient_reader is None:
            self._lenient_reader = TypeReader(self._scope, lenient=True)
        return self._lenient_reader.read(hint, where)

    def _refuse(self, hint: object, where: str, reason: str) -> TypeForm:
        if self._lenient_reader is self:
            return UnionForm(tuple(self.read(part, where) for part in typing.get_args(hint)))
        name = hint.__qualname__ if isinstance(hint, type) else repr(hint)
        message = f"{where}: {name} {reason}."
        raise AgentDefinitionError(message)

    def _read_generic(self, hint: object, origin: object, where: str) -> TypeForm:
        arguments: tuple[object, ...] = typing.get_args(hint)
        if origin is typing.Annotated:
            return self._read_annotated(arguments[0], arguments[1:], where)
        if origin in _UNION_ORIGINS:
            return UnionForm(tuple(self.read(option, where) for option in arguments))
        if origin is typing.Literal:
            return self._read_choices(hint, tuple(map(_literal_choice, arguments)), where)
        if origin is tuple:
            return self._read_tuple(arguments, where)
        if origin in _ARRAY_TYPES:
            return ArrayForm(self.read(arguments[0], f"items of {where}"), as_tuple=False)
        if origin in _MAPPING_TYPES:
            return self._read_mapping(hint, where)
        if origin in _FIELD_QUALIFIERS:
            return self.read(arguments[0], where)
        return self._refuse(hint, where, _reason_against(hint))

    def _read_annotated(
        self, inner: object, metadata: tuple[object, ...], where: str
    ) -> AnnotatedForm:
        for item in metadata:
            if item is SensitiveField or item is SecretField:
                message = f"{where}: Annotated has the class {item.__name__}; give an object of it."
                raise AgentDefinitionError(message)
        description = next((item for item in metadata if isinstance(item, str)), None)
        return AnnotatedForm(self.read(inner, where), description, _markers_of(metadata))

    def _read_tuple(self, arguments: tuple[object, ...], where: str) -> TypeForm:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return ArrayForm(self.read(arguments[0], f"items of {where}"), as_tuple=True)
        return TupleForm(
            tuple(
                self.read(item, f"position {index} of {where}")
                for index, item in enumerate(arguments)
            )
        )

    def _read_mapping(self, hint: object, where: str) -> TypeForm:
        key, value = typing.get_args(hint)
        key_form = self.read(key, f"keys of {where}")
        markers: tuple[Marker, ...] = ()
        while isinstance(key_form, AnnotatedForm | AliasForm):
            if isinstance(key_form, AliasForm):
                key_form = key_form.target
                continue
            markers = (*markers, *key_form.markers)
            key_form = key_form.form
        if key_form is not _TEXT:
            return self._refuse(hint, where, "has keys that are no str, and JSON has no others")
        return MappingForm(self.read(value, f"values of {where}"), markers)

    def _read_choices(
        self, hint: object, pairs: tuple[tuple[object, object], ...], where: str
    ) -> TypeForm:
        choices: list[tuple[JsonPrimitive, object]] = []
        for json_value, value in pairs:
            if json_value is not None and not isinstance(json_value, str | int | float):
                reason = f"has the choice {value!r}; choices must be text or numbers"
                return self._refuse(hint, where, reason)
            choices.append((json_value, value))
        if not choices:
            return self._refuse(hint, where, "has no members, so that no value would fit")
        return ChoiceForm(tuple(choices))

    def _read_alias(self, alias: typing.TypeAliasType, where: str) -> AliasForm:
        form = AliasForm(alias.__name__, UNSEEN_FORM)
        self._known[alias] = form
        try:
            value = alias.__value__
        except NameError as error:
            name = alias.__name__
            message = f"{where}: the alias {name} names {error.name!r}, which cannot be found."
            raise UnresolvedHintError(message) from error
        form.target = self.read(value, where)
        return form


def _literal_choice(value: object) -> tuple[object, object]:
    return (value.value if isinstance(value, Enum) else value, value)


def _markers_of(metadata: tuple[object, ...]) -> tuple[Marker, ...]:
    return tuple(item for item in metadata if isinstance(item, SensitiveField | SecretField))


def _is_one_of(candidates: frozenset[type]) -> Callable[[object], bool]:
    return lambda hint: isinstance(hint, type) and hint in candidates


_REFUSALS: tuple[tuple[Callable[[object], bool], str], ...] = (
    (
        lambda hint: hint is typing.Any or hint is object,
        "says nothing about the shape; name the type, or JsonValue for any JSON",
    ),
    (
        _is_one_of(_ARRAY_TYPES | _MAPPING_TYPES | {tuple}),
        "has no type arguments; write for example list[str] or dict[str, int]",
    ),
    (
        lambda hint: (typing.get_origin(hint) or hint) in _SET_TYPES,
        "is a set, which JSON does not have; use a list",
    ),
    (
        lambda hint: isinstance(hint, typing.TypeVar) or typing.get_origin(hint) is not None,
        "is generic; use a class without type parameters",
    ),
)


def _reason_against(hint: object) -> str:
    for applies, reason in _REFUSALS:
        if applies(hint):
            return reason
    return (
        "has no JSON schema; use a dataclass, an enum, a TypedDict, text, numbers or containers of"
        " them"
    )
