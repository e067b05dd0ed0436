"""The public names: each resolves, is documented, and has the members that programs outside rely on."""

import dataclasses
import enum
import inspect

import pytest

import spakky.agent

# One name a line. ``x()`` is callable, ``(x,y)`` are parameters, anything else is a member, field or parameter.
WRITTEN = """
Agent (spec) get() tool_catalog signal_hook_catalog
AgentExecutionSpec name objective instructions output_type accepted_signals recovery streaming_exposure_mode timeout_seconds limits teammates compaction delegation_allowed metadata
AgentExecutionLimits timeout_seconds
AgentRunner for_agent_instance() run() run_events()
AgentRunResult state_id status tool_calls evidence_count
IAgentRunnerFactory
AgentRunnerFactory
RunAgentInput state_id instruction conversation_id parent_run_id resume message_history model_selection metadata effective_conversation_id
AgentTeammate name pod card_url
ICompactionStrategy compact()
KeepRecentMessagesCompactionStrategy (max_messages) compact()
TrimToolResultsCompactionStrategy (max_characters) compact()
SummarizeOldTurnsCompactionStrategy (model,keep_recent,summary_instruction) compact()
ProviderManagedCompactionStrategy compact()
AgentCompactionPolicy strategies trigger_token_threshold
AgentYield kind payload
AgentYieldKind TOKEN PROGRESS TOOL EVIDENCE APPROVAL FINAL ERROR CANCEL
Token
Progress current_step
Tool
Evidence
Approval
Final output metadata
Error
Cancel
AgentEvent
AgentEventKind
AgentEventAttribution agent_id parent_run_id conversation_id
RunStartedEvent
StepStartedEvent
StepFinishedEvent
RunPausedEvent
RunFinishedEvent
ToolCallStartEvent parent_message_id
ToolCallResultEvent message_id
AgentState status transition reason
AgentStateReason AUTH_REQUIRED
AgentSignal payload
AgentSignalKind STEERING_INSTRUCTION USER_MESSAGE APPROVAL_DECISION CANCEL
AgentSignalPollPoint
consume_pending_agent_signals
on_signal (kind)
discover_agent_signal_hooks
AgentSignalHookCatalog
AgentApprovalRequest
plan_agent_tool_approval
parse_agent_approval_decision_signal
begin_agent_cancellation
run_agent_cancellation_cleanup
complete_agent_cancellation
AgentCancellationCleanupTask
AgentCancellationCleanupReport to_evidence_candidate()
AgentEvidence
AgentEvidenceKind CANCELLATION ACTION_BOUNDARY DELEGATION CONTEXT_OPTIMIZATION
AgentEvidenceCandidate tool_result()
AgentActionBoundaryCheckpoint
plan_agent_resume
DelegationPacket
DelegationResult to_parent_evidence() to_parent_yield()
IAgentDelegate
AgentDelegateTarget
ContextPack sensitive_fields
ContextManifest
ContextDigest
ContextSensitivity REDACTED
ContextHealthSignal
ContextRotSymptom
ContextOptimizationAction
IAgentContextHandler
SensitiveField
SecretField
PII EMAIL
CredentialRef
SecretRef
ContextExposurePolicy include_sensitive_schema_metadata
EvidenceExposurePolicy
StreamingSensitivePattern
StreamingRedactionPolicy buffer_size emit_chunk_size
StreamingRedactionSession push() finish()
StreamingGuardFailureMode EMIT_ERROR
StreamingRedactionAudit to_evidence_payload()
IAgentStateRepository
IAgentSignalRepository append() list_pending()
IAgentEvidenceRepository
ITaskStore load_history() append_turns()
ConversationTurn role content as_model_message()
IAgentModel capability capability_for() complete() stream()
ModelCapability supports_reasoning context_window_tokens
ModelSelection
ModelRequest messages model_selection assemble_messages()
ModelResponse guarded()
ModelStreamEvent kind token_delta guarded()
ModelStreamEventKind TOKEN_DELTA MESSAGE_DELTA REASONING_DELTA TOOL_CALL_START TOOL_CALL_END TOOL_CALL_ARGS_DELTA
ModelMessage
ModelMessageRole USER
ModelUsage
ToolCallingSpec
ModelToolSpec
ModelToolCall name arguments
agent_tool (schema_name,effects,idempotency,evidence,approval)
AgentToolBoundInvocation
AgentToolSchemaHandle input_schema output_schema input_sensitive_fields output_sensitive_fields input_schema_for()
ToolEffects external_side_effect()
ToolRisk
ToolApprovalRequirement NOT_REQUIRED DERIVED
ToolResumeMetadata
EvidenceCapture SUMMARY
Idempotency NON_IDEMPOTENT
AgentToolDispatcher (target,catalog) dispatch()
RecoveryStrategy ACTION_BOUNDARY
AgentDefinitionError
AgentBootstrapError
AgentToolBindingError
AgentToolDispatchError
AgentOutputGuardError
"""
ROWS = [line.split() for line in WRITTEN.strip().splitlines()]


def parameters_of(target: object) -> set[str]:
    return set(inspect.signature(target).parameters) if callable(target) else set()


def has(target: object, member: str) -> bool:
    if member.startswith("("):
        return set(member.strip("()").split(",")) <= parameters_of(target)
    if member.endswith("()"):
        return callable(getattr(target, member[:-2], None))
    if isinstance(target, enum.EnumType):
        return member in target.__members__
    known = parameters_of(target)
    if dataclasses.is_dataclass(target):
        known |= {field.name for field in dataclasses.fields(target)}
    return hasattr(target, member) or member in known


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
@pytest.mark.requirement("PKG-1")
def test_a_written_name_has_its_written_members(row: list[str]) -> None:
    name, *members = row
    assert name in spakky.agent.__all__
    target = getattr(spakky.agent, name)
    assert [member for member in members if not has(target, member)] == []


def test_the_list_of_public_names_is_sorted_and_resolves() -> None:
    names = spakky.agent.__all__
    assert len(set(names)) == len(names)
    assert all(hasattr(spakky.agent, name) for name in names)
    assert not [name for name in names if name.startswith("_")]


def test_every_public_class_and_function_says_what_it_is() -> None:
    silent = [
        name
        for name in spakky.agent.__all__
        if (inspect.isclass(target := getattr(spakky.agent, name)) or inspect.isfunction(target))
        and not (inspect.getdoc(target) or "").strip()
    ]
    assert silent == []


def test_public_names_are_listed_before_they_are_loaded_and_others_are_refused() -> None:
    assert set(spakky.agent.__all__) <= set(dir(spakky.agent))
    with pytest.raises(AttributeError, match="no attribute 'AgentRuner'"):
        getattr(spakky.agent, "AgentRuner")  # noqa: B009 - a misspelt name, which the checker would refuse
