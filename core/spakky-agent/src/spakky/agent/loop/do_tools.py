"""Runs a batch of tool calls beside each other, and passes on their results as they land."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from spakky.agent.contracts.cancellation import (
    AgentCancellationCleanupTask,
    AgentCancellationTargetKind,
)
from spakky.agent.contracts.execution import ToolErrorPolicy
from spakky.agent.contracts.signals import AgentSignal
from spakky.agent.contracts.state import AgentState
from spakky.agent.declare.catalog import AgentToolDescriptor
from spakky.agent.declare.dispatcher import AgentToolDispatcher
from spakky.agent.declare.encode import encode_value
from spakky.agent.declare.runtime_context import AgentToolRuntimeContext
from spakky.agent.error import (
    AbstractSpakkyAgentError,
    AgentAuthRequiredError,
    AgentToolBindingError,
    AgentToolDispatchError,
    AgentToolError,
)
from spakky.agent.guards.redact import redact_text
from spakky.agent.loop.do_delegate import run_delegate
from spakky.agent.loop.fault_log import log_fault
from spakky.agent.loop.frames import Frame
from spakky.agent.loop.gate import Tripped
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.outcomes import AuthNeeded, CallBroke, Outcome
from spakky.agent.loop.plan_calls import mistake_of
from spakky.agent.loop.progress import CallState, Progress
from spakky.agent.loop.secret_refs import resolve_secrets
from spakky.agent.loop.steps import RunCalls
from spakky.agent.loop.stopping import CLEANUP_SECONDS, stop_with_cleanup
from spakky.agent.loop.tool_result import clean_failure, failed, returned, without_values

_LOG = logging.getLogger(__name__)

type Item = Frame | Outcome | None
"""What a running call hands over; None says that it has ended."""


async def run_calls(
    kit: RunKit, progress: Progress, step: RunCalls
) -> AsyncGenerator[Frame | Outcome, None]:
    """Run the batch, each call in a task of its own, until all have ended or the run is stopped.

    A call that breaks the run, or asks for a sign-in, lets the others of its batch end first: they are harmless, and
    their results are not lost.
    """
    items: asyncio.Queue[Item] = asyncio.Queue()
    tasks = {
        call.action_id: asyncio.create_task(
            _run_into(kit, progress, call, items), name=f"{call.call.name} {call.action_id}"
        )
        for call in step.batch
    }
    endings: list[Outcome] = []
    stopped = False
    try:
        try:
            left = len(tasks)
            while left:
                item = await kit.gate.wait(items.get())
                if item is None:
                    left -= 1
                elif isinstance(item, CallBroke | AuthNeeded):
                    endings.append(item)
                else:
                    yield item
            # What is no ordinary exception, a tool's SystemExit for example, goes the way it would go without the loop.
            await asyncio.gather(*tasks.values())
        except Tripped:
            stopped = True
        for ending in endings:
            yield ending
        if stopped:
            cleanups = [_cleanup_task(call, tasks[call.action_id]) for call in step.batch]
            async with aclosing(stop_with_cleanup(kit, cleanups)) as stopping:
                async for outcome in stopping:
                    yield outcome
    finally:
        await _cancel_all(list(tasks.values()))


async def _run_into(
    kit: RunKit, progress: Progress, call: CallState, items: "asyncio.Queue[Item]"
) -> None:
    try:
        if call.delegate is None:
            items.put_nowait(await run_call(kit, call))
            return
        async with aclosing(run_delegate(kit, progress, call)) as child:
            async for item in child:
                items.put_nowait(item)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # Nobody cancelled the call: the tool raised it, as a library does that mixes up its own cancel scopes.
        message = f"{call.call.name} raised CancelledError, although nobody cancelled it."
        items.put_nowait(CallBroke(call, "agent.tool.failed", message))
    finally:
        items.put_nowait(None)


async def run_call(kit: RunKit, call: CallState) -> Outcome:
    """Run one call and say what came of it. A cancellation passes through, whatever the tool makes of it."""
    tool = kit.find_tool(call.call.name)
    if tool is None:
        return mistake_of(call, f"The agent has no tool {call.call.name} any more.")
    dispatcher = AgentToolDispatcher(
        target=kit.target_for(tool), catalog=kit.catalog, runtime_context=_context(kit, call)
    )
    timeout = tool.metadata.timeout.seconds
    secrets: tuple[str, ...] = ()
    timer = asyncio.timeout(timeout)
    try:
        async with timer:
            ready, secrets = await resolve_secrets(kit, tool, call)
            result = await dispatcher.dispatch(ready)
        return returned(call, tool, without_values(encode_value(result), secrets))
    except AgentAuthRequiredError as error:
        prompt = redact_text(clean_failure(call, tool, error.prompt), secrets)
        return AuthNeeded(error.provider, prompt, call)
    except (AgentToolBindingError, AgentToolDispatchError) as error:
        return mistake_of(call, str(error), tool)
    except AgentToolError as error:
        return failed(call, tool, redact_text(str(error), secrets))
    except TimeoutError as error:
        if timer.expired():
            return _broke(
                kit,
                call,
                tool,
                "agent.tool.timeout",
                f"{tool.name} took longer than {timeout:g} seconds.",
            )
        return _fault(kit, call, tool, error, secrets)
    except Exception as error:  # noqa: BLE001 - a fault of the tool's code is an outcome, typed
        return _fault(kit, call, tool, error, secrets)


def _context(kit: RunKit, call: CallState) -> AgentToolRuntimeContext:
    return AgentToolRuntimeContext(
        state_id=kit.run_id,
        conversation_id=kit.run_input.effective_conversation_id,
        call_id=call.call_id,
        tool_name=call.call.name,
        action_id=call.action_id,
    )


def _fault(
    kit: RunKit,
    call: CallState,
    tool: AgentToolDescriptor,
    error: Exception,
    secrets: tuple[str, ...],
) -> Outcome:
    code = error.code if isinstance(error, AbstractSpakkyAgentError) else "agent.tool.failed"
    log_fault(f"Tool {tool.name}", error)
    text = redact_text(clean_failure(call, tool, str(error)), secrets)
    message = f"{tool.name} raised {type(error).__name__}{': ' + text if text else '.'}"
    return _broke(kit, call, tool, code, message)


def _broke(
    kit: RunKit, call: CallState, tool: AgentToolDescriptor, code: str, message: str
) -> Outcome:
    if kit.spec.on_tool_error is ToolErrorPolicy.INFORM_MODEL:
        return failed(call, tool, message)
    return CallBroke(call, code, message)


def _cleanup_task(call: CallState, task: "asyncio.Task[None]") -> AgentCancellationCleanupTask:
    async def cancel(_state: AgentState, _signal: AgentSignal) -> None:
        await _cancel_all([task])

    kind = (
        AgentCancellationTargetKind.TOOL_EXECUTION
        if call.delegate is None
        else AgentCancellationTargetKind.DELEGATE_EXECUTION
    )
    return AgentCancellationCleanupTask(kind, call.action_id, cancel)


async def _cancel_all(tasks: "list[asyncio.Task[None]]") -> None:
    """Cancel what still runs and wait until it has ended, so that nothing outlives the run.

    A tool that takes no notice of its cancellation is left behind in the end, for it would hold up the run for ever.
    """
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        _, left = await asyncio.wait(running, timeout=CLEANUP_SECONDS)
        for task in left:
            _LOG.warning(
                "A tool takes no notice of its cancellation and was left running: %s.",
                task.get_name(),
            )
