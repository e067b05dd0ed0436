"""Reads the run's pending signals, takes those that are eligible, and calls the agent's hooks for them."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from spakky.agent.contracts.approval import ApprovalDecision
from spakky.agent.contracts.evidence import AgentEvidenceCandidate, AgentEvidenceKind
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.contracts.yields import AgentYieldKind
from spakky.agent.declare.signal_hook import AgentSignalHookDescriptor
from spakky.agent.error import AbstractSpakkyAgentError
from spakky.agent.json_value import FrozenObject, clean_text
from spakky.agent.loop.decisions import decide_on_signal
from spakky.agent.loop.fault_log import log_fault
from spakky.agent.loop.frames import Frame, HookShown
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import Decided, HookBroke, InboxRead, Outcome
from spakky.agent.loop.progress import CancelOrder, Progress, with_call
from spakky.agent.loop.steps import ReadInbox
from spakky.agent.rules.signal_queue import eligible_prefix, split_lanes

_TEXT_KEYS = {
    AgentSignalKind.USER_MESSAGE: "message",
    AgentSignalKind.STEERING_INSTRUCTION: "instruction",
}

_CLOSING = frozenset(
    {AgentYieldKind.FINAL, AgentYieldKind.ERROR, AgentYieldKind.CANCEL, AgentYieldKind.APPROVAL}
)
"""The items that end a stream or ask a person; a hook that yielded one would break the stream's order."""


async def read_inbox(
    kit: RunKit, progress: Progress, step: ReadInbox
) -> AsyncGenerator[Frame | Outcome, None]:
    """Read the queue once, without waiting. Hooks run after the consumption is stored, so each runs at most once."""
    pending = await kit.journal.read_pending()
    if not pending:
        yield InboxRead()
        return
    reading = _Reading(kit, progress)
    control, rest = split_lanes(pending)
    reading.take_control(control)
    if step.messages and reading.cancel is None and not reading.pause:
        reading.take_messages(eligible_prefix(rest, kit.spec.accepted_signals))
    yield reading.outcome()
    async with aclosing(_call_hooks(kit, reading.messages)) as items:
        async for item in items:
            yield item


@dataclass(slots=True)
class _Reading:
    """What is gathered while one look into the queue is worked through."""

    kit: RunKit
    progress: Progress
    consumed: list[str] = field(default_factory=list)
    decisions: list[Decided] = field(default_factory=list)
    cancel: CancelOrder | None = None
    pause: bool = False
    messages: list[AgentSignal] = field(default_factory=list)
    texts: list[ModelMessage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    evidence: list[AgentEvidenceCandidate] = field(default_factory=list)

    def take_control(self, signals: Sequence[AgentSignal]) -> None:
        """Take the control lane in order, up to and including the first order to cancel."""
        for signal in signals:
            self.consumed.append(signal.id)
            match signal.kind:
                case AgentSignalKind.CANCEL:
                    self.cancel = cancel_order(signal)
                case AgentSignalKind.PAUSE:
                    self.pause = True
                case AgentSignalKind.RESUME:
                    self.pause = False
                case _:
                    self._take_decision(signal)
            if self.cancel is not None:
                return

    def _take_decision(self, signal: AgentSignal) -> None:
        decided = decide_on_signal(self.kit, self.progress, signal)
        self.decisions.append(decided)
        if decided.call is not None:
            self.progress = with_call(self.progress, decided.call)
        if decided.decision is not None and decided.decision.decision is ApprovalDecision.CANCEL:
            self.cancel = CancelOrder(
                signal.id, decided.decision.comment, decided.decision.decided_by
            )

    def take_messages(self, signals: Sequence[AgentSignal]) -> None:
        """Take the other lane in order."""
        for signal in signals:
            self.consumed.append(signal.id)
            self.messages.append(signal)
            self._read_text(signal)

    def _read_text(self, signal: AgentSignal) -> None:
        key = _TEXT_KEYS.get(signal.kind)
        text = None if key is None else signal.payload.get(key)
        hooked = bool(self.kit.hooks.hooks_for(signal.kind))
        if isinstance(text, str) and text.strip():
            mark = FrozenObject({"signal_id": signal.id})
            self.texts.append(ModelMessage(ModelMessageRole.USER, clean_text(text), mark))
            if signal.kind is AgentSignalKind.USER_MESSAGE and not hooked:
                self.notes.append("A message from the user joins the run.")
        elif not hooked:
            payload = FrozenObject(
                {"signal_id": signal.id, "kind": signal.kind.value, "ignored": True}
            )
            self.evidence.append(AgentEvidenceCandidate(AgentEvidenceKind.CONTEXT, payload))

    def outcome(self) -> InboxRead:
        """Give what the look into the queue came to."""
        return InboxRead(
            consumed=tuple(self.consumed),
            decisions=tuple(self.decisions),
            cancel=self.cancel,
            pause=self.pause,
            messages=tuple(self.texts),
            notes=tuple(self.notes),
            evidence=tuple(self.evidence),
        )


def cancel_order(signal: AgentSignal) -> CancelOrder:
    """Read a CANCEL signal."""
    reason, who = signal.payload.get("reason"), signal.payload.get("requested_by")
    return CancelOrder(
        signal.id,
        reason if isinstance(reason, str) else None,
        who if isinstance(who, str) else None,
    )


async def _call_hooks(
    kit: RunKit, signals: Sequence[AgentSignal]
) -> AsyncGenerator[Frame | Outcome, None]:
    calls = [(signal, hook) for signal in signals for hook in kit.hooks.hooks_for(signal.kind)]
    for signal, hook in calls:
        async with aclosing(_call_hook(kit, hook, signal)) as items:
            async for item in items:
                yield item
                if isinstance(item, HookBroke):
                    return


async def _call_hook(
    kit: RunKit, hook: AgentSignalHookDescriptor, signal: AgentSignal
) -> AsyncGenerator[Frame | Outcome, None]:
    key = hook.identity.key
    try:
        async with aclosing(hook.callable(kit.target, signal)) as items:
            async for item in items:
                if item.kind in _CLOSING:
                    message = f"Signal hook {key} yielded {item.kind.value}, which only the loop may; yield progress instead."
                    # Nobody reads on after it: this generator, and with it the hook, is closed here.
                    yield HookBroke("agent.hook.failed", message)
                yield HookShown(item)
    except AbstractSpakkyAgentError as error:
        yield HookBroke(error.code, str(error))
    except Exception as error:  # noqa: BLE001 - a fault of the author's code ends the run, typed
        log_fault(f"Signal hook {key}", error)
        message = f"Signal hook {key} raised {type(error).__name__}."
        yield HookBroke("agent.hook.failed", message)
