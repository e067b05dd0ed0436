"""Decodes JSON values into the Python values that a type hint promises, strictly.

Texts are never turned into numbers or truth values. A number without a fraction is an integer, and
an integer is accepted where a ``float`` is asked for, as JSON Schema has it.
"""

from typing import assert_never

from spakky.agent.declare.decode_containers import (
    array_decoder,
    foreign_decoder,
    mapping_decoder,
    optional_decoder,
    record_decoder,
    tuple_decoder,
    union_decoder,
)
from spakky.agent.declare.decode_error import DecodeMismatch
from spakky.agent.declare.decode_leaves import Decoder, leaf_decoder
from spakky.agent.declare.type_form import (
    LEAF_FORMS,
    AliasForm,
    AnnotatedForm,
    ArrayForm,
    ForeignForm,
    JsonType,
    MappingForm,
    RecordForm,
    ScalarForm,
    TupleForm,
    TypeForm,
    UnionForm,
)
from spakky.agent.declare.type_reader import TypeReader
from spakky.agent.error import AgentToolBindingError

_NULL = ScalarForm(JsonType.NULL)
_EXACT_KINDS: tuple[tuple[type, TypeForm], ...] = (
    (int, ScalarForm(JsonType.INTEGER)),
    (float, ScalarForm(JsonType.NUMBER)),
)


def decode_value(tp: object, value: object, where: str) -> object:
    """Decode one JSON value.

    Args:
        tp: The type; not a text.
        value: The JSON value.
        where: What the value is, for the message.

    Returns:
        An instance of the type.

    Raises:
        AgentDefinitionError: JSON cannot express the type.
        AgentToolBindingError: The value does not fit; the message has the path, what was expected
            and the type of what came, never the value.
    """
    decode = compile_decoder(TypeReader().read(tp, where))
    return run_decoder(decode, value, where)


def run_decoder(decode: Decoder, value: object, where: str) -> object:
    """Decode with a compiled decoder.

    Args:
        decode: The decoder.
        value: The JSON value.
        where: What the value is, for the message.

    Raises:
        AgentToolBindingError: As ``decode_value``.
    """
    try:
        return decode(value)
    except DecodeMismatch as mismatch:
        message = mismatch.tell(where)
    except RecursionError:
        message = f"{where}: the value is nested too deeply."
    raise AgentToolBindingError(message)


def compile_decoder(form: TypeForm) -> Decoder:
    """Give the function that decodes values of a form.

    Args:
        form: The form.

    Returns:
        A function that gives the Python value or raises ``DecodeMismatch``.
    """
    return _Compiler().compile(form)


class _Deferred:
    """Stands for a decoder that is being made."""

    __slots__ = ("decoder",)

    decoder: Decoder

    def __call__(self, value: object) -> object:
        return self.decoder(value)


class _Compiler:
    """Makes decoders; a form that refers to itself gets one, which is looked up when it is used."""

    def __init__(self) -> None:
        self._begun: dict[RecordForm | AliasForm, _Deferred] = {}

    def compile(self, form: TypeForm) -> Decoder:
        """Give the decoder of a form."""
        if isinstance(form, LEAF_FORMS):
            return leaf_decoder(form)
        match form:
            case AnnotatedForm(form=inner):
                return self.compile(inner)
            case ArrayForm(item=item, as_tuple=as_tuple):
                return array_decoder(self.compile(item), as_tuple=as_tuple)
            case TupleForm(items=items):
                return tuple_decoder(tuple(map(self.compile, items)))
            case MappingForm(value=value):
                return mapping_decoder(self.compile(value))
            case UnionForm(options=options):
                return self._compile_union(options)
            case _:
                return self._compile_named(form)

    def _compile_named(self, form: RecordForm | AliasForm | ForeignForm) -> Decoder:
        if isinstance(form, ForeignForm):
            return foreign_decoder(form.name, form.validate)
        known = self._begun.get(form)
        if known is not None:
            return known
        begun = self._begun[form] = _Deferred()
        match form:
            case AliasForm(target=target):
                begun.decoder = self.compile(target)
            case RecordForm():
                begun.decoder = self._compile_record(form)
            case _:
                assert_never(form)
        return begun.decoder

    def _compile_record(self, form: RecordForm) -> Decoder:
        settable = [field for field in form.fields if field.settable]
        decoders = {field.name: self.compile(field.form) for field in settable}
        required = [field.name for field in settable if field.required]
        return record_decoder(form.name, form.construct, decoders, required)

    def _compile_union(self, options: tuple[TypeForm, ...]) -> Decoder:
        decoders = [self.compile(option) for option in options]
        if len(options) == 2 and _NULL in options:
            return optional_decoder(decoders[1 if options[0] == _NULL else 0])
        plain = dict(zip(map(_unwrap, options), decoders, strict=True))
        exact = {kind: plain[form] for kind, form in _EXACT_KINDS if form in plain}
        return union_decoder(decoders, exact)


def _unwrap(form: TypeForm) -> TypeForm:
    while isinstance(form, AnnotatedForm):
        form = form.form
    return form
