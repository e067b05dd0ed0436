"""Builds the request of a model call out of what was declared and what has been said so far."""

from collections.abc import Sequence

from spakky.agent.compaction.summarize import SummarizeOldTurnsCompactionStrategy
from spakky.agent.contracts.context import ContextManifest, ContextPack
from spakky.agent.contracts.context_build import estimate_tokens
from spakky.agent.contracts.model_message import ModelMessage, ModelMessageRole
from spakky.agent.contracts.model_request import (
    JsonSchemaConstraint,
    ModelCapability,
    ModelRequest,
    ModelToolSpec,
    ToolCallingSpec,
)
from spakky.agent.contracts.model_stream import ModelUsage
from spakky.agent.declare.catalog import AgentToolCatalog
from spakky.agent.declare.schema_walk import is_strict_schema
from spakky.agent.loop.kit import RunKit
from spakky.agent.loop.progress import Progress
from spakky.agent.ports.compaction import AgentCompactionPolicy, ICompactionStrategy
from spakky.agent.rules.history import repair_history, show_executed


async def build_request(
    kit: RunKit,
    progress: Progress,
    packs: Sequence[ContextPack] = (),
    manifest: ContextManifest | None = None,
) -> ModelRequest:
    """Give the request of the next model call: instructions, dialogue, this run's messages, tools and output form."""
    history = show_executed(repair_history(progress.seeds + progress.transcript))
    history = await compact_history(kit, history, progress.last_usage)
    return ModelRequest(
        messages=(*_system(kit.spec.instructions), *history),
        context=tuple(packs),
        context_manifest=manifest,
        structured_output=kit.output.request_spec(),
        tool_calling=tool_calling_of(kit.catalog),
        model_selection=kit.run_input.model_selection,
        metadata=kit.run_input.metadata,
    )


def tool_calling_of(catalog: AgentToolCatalog) -> ToolCallingSpec | None:
    """Give what the model is told about its tools; None when there are none."""
    tools = tuple(
        ModelToolSpec(
            name=tool.name,
            parameters=JsonSchemaConstraint(
                tool.schema.input_schema, strict=is_strict_schema(tool.schema.input_schema)
            ),
            description=tool.description,
        )
        for tool in catalog.descriptors
    )
    return ToolCallingSpec(tools) if tools else None


def _system(instructions: str | None) -> tuple[ModelMessage, ...]:
    if instructions is None:
        return ()
    return (ModelMessage(ModelMessageRole.SYSTEM, instructions),)


async def compact_history(
    kit: RunKit, history: tuple[ModelMessage, ...], usage: ModelUsage
) -> tuple[ModelMessage, ...]:
    """Apply the declared compaction when the history has grown beyond its threshold; always well-formed afterwards."""
    policy = kit.spec.compaction
    if policy is None:
        return history
    capability = kit.model.capability_for(kit.run_input.model_selection)
    if not needs_compaction(policy, history, usage, capability):
        return history
    for strategy in policy.strategies:
        history = await _with_model(strategy, kit).compact(history, usage, capability)
    return repair_history(history)


def _with_model(strategy: ICompactionStrategy, kit: RunKit) -> ICompactionStrategy:
    """Give a summary that was declared without a model the one of the run: a decorator runs before there is any."""
    if isinstance(strategy, SummarizeOldTurnsCompactionStrategy) and strategy.model is None:
        return strategy.with_model(kit.model)
    return strategy


def needs_compaction(
    policy: AgentCompactionPolicy,
    history: Sequence[ModelMessage],
    usage: ModelUsage,
    capability: ModelCapability,
) -> bool:
    """Say whether a history is larger than the policy's threshold or than the model's window.

    The size is the larger of the estimate, about four characters a token over all messages but the system one, and what
    the provider counted for the last request.
    """
    size = sum(estimate_tokens(message_text(message)) for message in history)
    size = max(size, usage.input_tokens or 0)
    window = capability.context_window_tokens
    bound = (
        policy.trigger_token_threshold
        if window is None
        else min(policy.trigger_token_threshold, window)
    )
    return size > bound


def message_text(message: ModelMessage) -> str:
    """Give the text that a message costs: its content, and the arguments of its calls."""
    if not message.tool_calls:
        return message.content
    return message.content + "".join(f"{call.name}{call.arguments}" for call in message.tool_calls)
