"""Tool calls out of the pieces that a stream brings: one state machine.

Servers agree on little here: some number the calls, some do not, some repeat the id and the name in every piece, some use one
index for two calls. Each piece is put by the first row that fits it. *Its call* is the last one that was opened on the
piece's index; of a piece without an index it is the call that was opened last.

    piece                                                                  what happens
    -----------------------------------------------------------------------------------------------------------
    of a whole message (nothing can follow it)                             opens a call
    no index, with the id of an open call                                  goes on with that call
    its index has no call, and it has an id or a name                      opens a call on that index
    its index has no call, and it has neither                              goes on with the call that was opened last;
                                                                           opens one without a name when there is none
    its call has an id, and it has a different one and a name              opens a call on that index
    one of the two has no id, it has a name, no index, and its call has
        another name                                                       opens a call
    one of the two has no id, it has a name and the beginning of an
        object, and its call is whole                                      opens a call on that index
    anything else                                                          goes on with its call

Going on means: the first id and the first name that are not empty are kept, and argument text is appended. Nothing else is
ever joined. *Whole* means that the argument text is already a JSON object.

A call is shown once its name is known (START, then the text so far), and is finished when the answer ends (END, then CANDIDATE
with the decoded arguments). A call without an id gets ``call_<position>``; an id that an earlier call of the same answer has gets
its position appended, so that each call of an answer can be told from the others.
"""

from collections.abc import Sequence

from spakky.agent.contracts.model_message import ModelToolCall
from spakky.agent.contracts.model_stream import ModelStreamEvent, ModelStreamEventKind
from spakky.agent.json_value import EMPTY_OBJECT, JsonObject
from spakky.plugins.vllm.tool_names import ToolNameMap
from spakky.plugins.vllm.wire import (
    ToolCallPart,
    WireFormatError,
    parse_json,
    read_arguments,
    read_index,
)


class _OpenCall:
    """A call that is being put together."""

    __slots__ = ("call_id", "name", "position", "shown", "texts")

    def __init__(self, position: int) -> None:
        self.position = position
        self.call_id = ""
        self.name = ""
        self.texts: list[str] = []
        self.shown: ModelToolCall | None = None

    def is_whole(self) -> bool:
        text = "".join(self.texts)
        return bool(text.strip()) and parse_arguments(text)[1] is None


class ToolCallAssembler:
    """Puts the tool calls of one answer together.

    Args:
        names: Gives the declared name for the name that the model wrote.
    """

    __slots__ = ("_by_index", "_calls", "_ids", "_names")

    def __init__(self, names: ToolNameMap) -> None:
        self._names = names
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._ids: set[str] = set()

    @property
    def has_calls(self) -> bool:
        """Whether the answer has asked for a call, a whole one or the beginning of one."""
        return bool(self._calls)

    def add(
        self,
        parts: Sequence[ToolCallPart],
        events: list[ModelStreamEvent],
        *,
        whole_message: bool = False,
    ) -> None:
        """Take the pieces of one chunk and append what they show.

        Args:
            parts: In the chunk's order.
            events: Gets TOOL_CALL_START and TOOL_CALL_ARGS_DELTA events.
            whole_message: Whether the pieces are the whole calls of a message that is not streamed.

        Raises:
            WireFormatError: Argument text is nested too deeply.
        """
        for part in parts:
            function = part.function
            name = function.name if function is not None and isinstance(function.name, str) else ""
            text = read_arguments(function.arguments) if function is not None else None
            call_id = part.id if isinstance(part.id, str) else ""
            if whole_message:
                call = self._open(None)
            else:
                opens_object = text is not None and text.lstrip().startswith("{")
                call = self._find(read_index(part.index), call_id, name, opens_object=opens_object)
            call.call_id = call.call_id or call_id
            call.name = call.name or name
            if text:
                call.texts.append(text)
            self._show(call, text, events)

    def finish(self, events: list[ModelStreamEvent]) -> None:
        """End the answer: append TOOL_CALL_END and TOOL_CALL_CANDIDATE for each call, in the order in which they were opened."""
        for call in self._calls:
            shown = call.shown
            text = "".join(call.texts)
            if shown is None:
                # The model never named the tool; the call is passed on so that the model can be told.
                shown = self._start(call, events)
                self._append_text(shown, text, events)
            arguments, problem = parse_arguments(text)
            events.append(ModelStreamEvent(ModelStreamEventKind.TOOL_CALL_END, tool_call=shown))
            candidate = ModelToolCall(shown.name, arguments, shown.call_id, arguments_error=problem)
            events.append(
                ModelStreamEvent(ModelStreamEventKind.TOOL_CALL_CANDIDATE, tool_call=candidate)
            )

    def _find(self, index: int | None, call_id: str, name: str, *, opens_object: bool) -> _OpenCall:
        if index is None:
            same = [call for call in self._calls if call_id and call.call_id == call_id]
            if same:
                return same[-1]
            call = self._calls[-1] if self._calls else None
        else:
            call = self._by_index.get(index)
            if call is None and not call_id and not name and self._calls:
                return self._calls[-1]
        if call is None or self._opens_another(
            call, index, call_id, name, opens_object=opens_object
        ):
            return self._open(index)
        return call

    @staticmethod
    def _opens_another(
        call: _OpenCall, index: int | None, call_id: str, name: str, *, opens_object: bool
    ) -> bool:
        if not name:
            return False
        if call_id and call.call_id:
            return call_id != call.call_id
        if index is None and call.name and name != call.name:
            return True
        return opens_object and call.is_whole()

    def _open(self, index: int | None) -> _OpenCall:
        call = _OpenCall(len(self._calls))
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _show(self, call: _OpenCall, text: str | None, events: list[ModelStreamEvent]) -> None:
        shown = call.shown
        if shown is None:
            if not call.name:
                return
            shown = self._start(call, events)
            text = "".join(call.texts)
        self._append_text(shown, text, events)

    def _start(self, call: _OpenCall, events: list[ModelStreamEvent]) -> ModelToolCall:
        call_id = call.call_id or f"call_{call.position}"
        while call_id in self._ids:
            call_id = f"{call_id}_{call.position}"
        self._ids.add(call_id)
        shown = ModelToolCall(self._names.to_declared(call.name), EMPTY_OBJECT, call_id)
        call.shown = shown
        events.append(ModelStreamEvent(ModelStreamEventKind.TOOL_CALL_START, tool_call=shown))
        return shown

    @staticmethod
    def _append_text(
        shown: ModelToolCall, text: str | None, events: list[ModelStreamEvent]
    ) -> None:
        if text:
            events.append(
                ModelStreamEvent(
                    ModelStreamEventKind.TOOL_CALL_ARGS_DELTA,
                    tool_call=shown,
                    tool_call_args_delta=text,
                )
            )


def parse_arguments(text: str) -> tuple[JsonObject, str | None]:
    """Decode argument text; a blank one and ``null`` stand for no arguments.

    Returns:
        The arguments and None, or an empty object and what was wrong, without the text itself.
    """
    if not text.strip() or text.strip() == "null":
        return EMPTY_OBJECT, None
    try:
        value = parse_json(text)
    except WireFormatError as error:
        return EMPTY_OBJECT, f"The arguments are not valid JSON: {error}. Send one JSON object."
    if isinstance(value, dict):
        return value, None
    kind = {list: "an array", str: "a text", bool: "a truth value"}.get(type(value), "a number")
    return EMPTY_OBJECT, f"The arguments are {kind} in JSON; send one JSON object."
