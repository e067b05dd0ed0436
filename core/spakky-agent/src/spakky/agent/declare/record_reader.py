"""Reads classes with named fields into forms: dataclasses, ``TypedDict``, self-describing ones."""

import dataclasses
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping

from spakky.agent.declare.docstring import entries_of
from spakky.agent.declare.hints import (
    READ_ONLY,
    HintScope,
    own_annotations,
    read_parameters,
    resolve_class_hint,
)
from spakky.agent.declare.type_form import (
    AliasForm,
    ForeignForm,
    RecordField,
    RecordForm,
    TypeForm,
)
from spakky.agent.error import AgentDefinitionError
from spakky.agent.json_value import JsonObject

type HintReader = Callable[[object, str], TypeForm]
type KnownForms = dict[object, RecordForm | ForeignForm | AliasForm]

_TRANSPARENT_QUALIFIERS: tuple[object, ...] = (typing.Annotated, *READ_ONLY)


class _SelfDescribing(typing.Protocol):
    """What a class offers that brings its own schema and validation."""

    def model_json_schema(self) -> JsonObject:
        """Give the class's JSON schema."""

    def model_validate(self, obj: object) -> object:
        """Make an instance of the class, or raise."""


def is_self_describing(hint: object) -> typing.TypeGuard[type[object]]:
    """Tell whether a class brings its own schema and validation, as pydantic's models do.

    Args:
        hint: Any type.
    """
    if not isinstance(hint, type):
        return False
    # getattr: the class is recognised by two names, so that no library has to be imported.
    methods = (getattr(hint, "model_json_schema", None), getattr(hint, "model_validate", None))
    return all(callable(method) for method in methods)


def is_record_class(hint: object) -> typing.TypeGuard[type[object]]:
    """Tell whether a type is a dataclass or a ``TypedDict``.

    Args:
        hint: Any type.
    """
    if not isinstance(hint, type):
        return False
    return dataclasses.is_dataclass(hint) or typing.is_typeddict(hint)


class RecordReader:
    """Reads each class once, so that classes may refer to each other and to themselves.

    Args:
        read: Reads the hint of a field.
        known: The forms that were begun, by class; shared with the caller.
        scope: The names that the first hint could see.
        lenient: Takes dataclasses too that cannot be constructed from their fields.
    """

    def __init__(
        self, read: HintReader, known: KnownForms, scope: HintScope | None, *, lenient: bool
    ) -> None:
        self._read = read
        self._known = known
        self._scope = scope
        self._lenient = lenient

    def read(self, record: type[object], where: str) -> RecordForm:
        """Give the form of a dataclass or ``TypedDict`` that was not read before.

        Args:
            record: The class.
            where: What refers to it, for messages.

        Raises:
            AgentDefinitionError: A field cannot be expressed, or the class cannot be constructed
                from its fields.
        """
        form = RecordForm(record.__name__, record)
        self._known[record] = form
        read_fields = (
            self._typed_dict_fields if typing.is_typeddict(record) else self._dataclass_fields
        )
        form.fields = tuple(read_fields(record, where))
        return form

    def _dataclass_fields(self, record: type[object], where: str) -> Iterator[RecordField]:
        # cast to Any: that it is a dataclass was looked at before, which no public type tells.
        declared = dataclasses.fields(typing.cast("typing.Any", record))
        if not self._lenient:
            _require_plain_constructor(record, declared, where)
        described = entries_of(record.__doc__)
        for field in declared:
            has_default = (
                field.default is not dataclasses.MISSING
                or field.default_factory is not dataclasses.MISSING
            )
            field_where = _name_field(record, field.name, where)
            hint = resolve_class_hint(record, field.name, field_where, self._scope)
            yield RecordField(
                name=field.name,
                form=self._read(hint, field_where),
                required=field.init and not has_default,
                settable=field.init,
                description=described.get(field.name),
            )

    def _typed_dict_fields(self, record: type[object], where: str) -> Iterator[RecordField]:
        described = entries_of(record.__doc__)
        # getattr: every TypedDict has the attribute, which no public type tells.
        required: frozenset[str] = getattr(record, "__required_keys__")  # noqa: B009  # see above
        for name in own_annotations(record):
            field_where = _name_field(record, name, where)
            hint = resolve_class_hint(record, name, field_where, self._scope)
            yield RecordField(
                name=name,
                form=self._read(hint, field_where),
                required=_is_required(hint, default=name in required),
                description=described.get(name),
            )

    def read_foreign(self, record: type[object], where: str) -> ForeignForm:
        """Give the form of a class with its own schema that was not read before.

        Args:
            record: The class.
            where: What refers to it, for messages.

        Raises:
            UnresolvedHintError: A field's hint names something that cannot be found.
        """
        # cast: both methods were found by name before.
        model = typing.cast("_SelfDescribing", record)
        form = ForeignForm(record.__name__, model.model_json_schema, model.model_validate)
        self._known[record] = form
        fields: list[RecordField] = []
        for name, keys in _foreign_keys(record):
            field_where = _name_field(record, name, where)
            hint = resolve_class_hint(record, name, field_where, self._scope)
            inner = self._read(hint, field_where)
            fields.extend(RecordField(key, inner, required=False) for key in keys)
        form.fields = tuple(fields)
        return form


def _name_field(record: type[object], name: str, where: str) -> str:
    return f"field '{name}' of {record.__qualname__} ({where})"


def _require_plain_constructor(
    record: type[object], declared: Iterable[dataclasses.Field[object]], where: str
) -> None:
    taken = {parameter.name for parameter in read_parameters(record)}
    settable = {field.name for field in declared if field.init}
    if taken != settable:
        odd = ", ".join(sorted(taken ^ settable))
        message = (
            f"{where}: the constructor of {record.__qualname__} does not take exactly its fields"
            f" (see: {odd}); use a dataclass without InitVar and without an own __init__."
        )
        raise AgentDefinitionError(message)


def _is_required(hint: object, *, default: bool) -> bool:
    # The class's own key sets are wrong where the qualifier was written as text.
    origin: object = typing.get_origin(hint)
    while origin in _TRANSPARENT_QUALIFIERS:
        hint = typing.get_args(hint)[0]
        origin = typing.get_origin(hint)
    if origin is typing.Required:
        return True
    return False if origin is typing.NotRequired else default


def _foreign_keys(record: type[object]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give the fields of a self-describing class, each with the JSON keys that it may have."""
    # getattr: the class is known by its methods only; pydantic lists its fields under this name.
    listed: object = getattr(record, "model_fields", None)
    if not isinstance(listed, Mapping):
        for name in own_annotations(record):
            yield name, (name,)
        return
    for name, info in listed.items():
        # getattr: an alias may be set under three names, or under none.
        aliases = (getattr(info, kind, None) for kind in ("alias", "validation_alias"))
        # getattr: as above.
        output = getattr(info, "serialization_alias", None)
        keys = [key for alias in (*aliases, output) for key in _alias_keys(alias)]
        yield name, tuple(dict.fromkeys((name, *keys)))


def _alias_keys(alias: object) -> Iterator[str]:
    if isinstance(alias, str):
        yield alias
        return
    # getattr: an alias object lists choices, or a path whose first element is a key of the object.
    for choice in getattr(alias, "choices", ()):
        yield from _alias_keys(choice)
    # getattr: as above.
    yield from (key for key in getattr(alias, "path", ())[:1] if isinstance(key, str))
