"""The names, values and field orders that programs outside rely on."""

from dataclasses import MISSING, fields
from enum import StrEnum
from inspect import signature

import pytest

from spakky.agent.contracts import (
    approval,
    boundary,
    cancellation,
    delegation,
    events,
    evidence,
    execution,
    model_message,
    model_request,
    model_stream,
    run_input,
    signals,
    state,
    yields,
)

ENUMS: tuple[tuple[type[StrEnum], str], ...] = (
    (model_message.ModelMessageRole, "system user assistant tool evidence"),
    (model_request.ModelToolChoice, "auto none required"),
    (
        model_stream.ModelStreamEventKind,
        "token_delta message_delta reasoning_delta tool_call_start tool_call_args_delta"
        " tool_call_end tool_call_candidate structured_output progress error done",
    ),
    (
        state.AgentStatus,
        "created active interrupted cancelling completed failed cancelled",
    ),
    (
        state.AgentStateTransition,
        "pending running waiting_approval cancelling cancelled completed failed timed_out"
        " interrupted",
    ),
    (
        state.AgentStateReason,
        "approval_required approval_rejected approval_deferred auth_required execution_failed"
        " user_interrupted timeout cancellation_requested cancellation_cleanup_failed"
        " recovery_requires_hitl",
    ),
    (
        signals.AgentSignalKind,
        "user_message approval_decision cancel pause resume steering_instruction external_event"
        " scheduler_wake_up",
    ),
    (
        signals.AgentSignalPollPoint,
        "safe_boundary action_boundary model_stream_tick tool_boundary approval_boundary"
        " configured",
    ),
    (
        evidence.AgentEvidenceKind,
        "action_boundary model tool context context_manifest context_digest context_optimization"
        " evaluation approval cancellation delegation output_guard",
    ),
    (yields.AgentYieldKind, "token progress tool evidence approval final error cancel"),
    (
        events.AgentEventKind,
        "message_delta reasoning_delta tool_call_start tool_call_args_delta tool_call_end"
        " tool_call_result run_started run_paused run_finished step_started step_finished"
        " state_snapshot state_delta artifact custom",
    ),
    (approval.ApprovalDecision, "approve reject modify defer cancel"),
    (
        approval.AgentApprovalBoundaryKind,
        "model_call tool_invocation delegation final_publication external_side_effect"
        " context_transformation cancellation_resume",
    ),
    (approval.AgentApprovalPlanAction, "proceed wait_for_approval"),
    (execution.RecoveryStrategy, "none action_boundary"),
    (
        execution.StreamingExposureMode,
        "low_latency balanced strict no_stream_until_final_guarded",
    ),
    (execution.RejectionPolicy, "fail_run inform_model"),
    (execution.ToolErrorPolicy, "fail_run inform_model"),
    (execution.ModelErrorPolicy, "fail_run interrupt"),
    (
        cancellation.AgentCancellationTargetKind,
        "model_stream tool_execution delegate_execution",
    ),
    (cancellation.AgentCancellationCleanupStatus, "succeeded failed skipped"),
    (boundary.AgentActionKind, "model_call tool_call approval_wait"),
    (boundary.AgentActionBoundaryStage, "before after"),
    (boundary.AgentResumeAction, "start skip_completed retry require_hitl not_resumable"),
    (
        delegation.DelegationReturnPolicy,
        "summary evidence_refs summary_and_evidence final_output",
    ),
)

# A name with "=" has a default.
FIELDS: tuple[tuple[type[object], str], ...] = (
    (model_message.ModelToolCall, "name arguments call_id= metadata= arguments_error="),
    (
        model_message.ModelMessage,
        "role content metadata= tool_calls= tool_call_id= tool_name= message_id=",
    ),
    (
        model_request.ModelCapability,
        "supports_reasoning= context_window_tokens= supports_token_counting=",
    ),
    (model_request.ModelSelection, "provider= model= profile= metadata="),
    (model_request.JsonSchemaConstraint, "schema strict="),
    (model_request.StructuredOutputSpec, "constraint output_type_name="),
    (model_request.ModelToolSpec, "name parameters description= metadata="),
    (model_request.ToolCallingSpec, "tools choice="),
    (model_request.SamplingOptions, "temperature= top_p= max_tokens="),
    (model_request.StreamingOptions, "include_usage= include_progress="),
    (
        model_request.ModelRequest,
        "messages context= context_manifest= context_digest= structured_output= tool_calling="
        " sampling= streaming= model_selection= metadata=",
    ),
    (
        model_stream.ModelUsage,
        "input_tokens= output_tokens= total_tokens= cached_input_tokens= reasoning_tokens= cost=",
    ),
    (model_stream.ModelError, "code message retryable= metadata="),
    (model_stream.ModelResponse, "content structured_output= tool_calls= usage= metadata="),
    (
        model_stream.ModelStreamEvent,
        "kind token_delta= message_delta= reasoning_delta= tool_call= tool_call_args_delta="
        " structured_output= error= usage= metadata=",
    ),
    (
        run_input.RunAgentInput,
        "state_id instruction conversation_id= parent_run_id= resume= message_history="
        " model_selection= metadata= context=",
    ),
    (
        state.AgentState,
        "id agent_type status transition= reason= current_activity= input_ref= output_ref="
        " pending_signal_count= last_event_cursor= recovery_marker= metadata= created_at="
        " updated_at= version= checkpoint=",
    ),
    (signals.AgentSignal, "id agent_state_id kind payload= created_at="),
    (signals.AgentSignalConsumptionBatch, "state_id poll_point signals"),
    (
        evidence.AgentEvidence,
        "id agent_state_id kind payload= summary= digest= manifest_ref= reference="
        " sensitive_fields= created_at=",
    ),
    (
        evidence.AgentEvidenceCandidate,
        "kind payload= summary= digest= manifest_ref= reference= sensitive_fields=",
    ),
    (yields.AgentYield, "kind payload"),
    (yields.Token, "text metadata="),
    (yields.TextDelta, "text metadata="),
    (yields.Message, "message current_step= metadata="),
    (yields.Progress, "message current_step= metadata="),
    (yields.Tool, "name call_id= arguments= result= metadata="),
    (yields.Evidence, "evidence metadata="),
    (yields.Approval, "id prompt allowed_decisions metadata="),
    (yields.Final, "output metadata="),
    (yields.Error, "code message retryable= metadata="),
    (yields.Cancel, "reason= requested_by= metadata="),
    (events.AgentEventAttribution, "agent_id run_id conversation_id parent_run_id="),
    (events.MessageDeltaEvent, "attribution message_id delta metadata="),
    (events.ReasoningDeltaEvent, "attribution reasoning_id delta metadata="),
    (
        events.ToolCallStartEvent,
        "attribution call_id tool_name parent_message_id= metadata=",
    ),
    (events.ToolCallArgsDeltaEvent, "attribution call_id args_delta metadata="),
    (events.ToolCallEndEvent, "attribution call_id metadata="),
    (
        events.ToolCallResultEvent,
        "attribution call_id tool_name message_id result= metadata=",
    ),
    (events.RunStartedEvent, "attribution metadata="),
    (
        events.RunPausedEvent,
        "attribution reason prompt state_id approval_id= tool_call_id= allowed_decisions="
        " metadata=",
    ),
    (events.RunFinishedEvent, "attribution error= metadata= result= status="),
    (events.StepStartedEvent, "attribution step_name metadata="),
    (events.StepFinishedEvent, "attribution step_name metadata="),
    (events.StateSnapshotEvent, "attribution snapshot metadata="),
    (events.StateDeltaEvent, "attribution patch metadata="),
    (events.ArtifactEvent, "attribution artifact_id content name= metadata="),
    (events.CustomEvent, "attribution name value= metadata="),
    (
        approval.AgentApprovalRequest,
        "id agent_state_id boundary prompt risk action_ref allowed_decisions= metadata= call_id="
        " argument_digest=",
    ),
    (approval.AgentApprovalPlan, "action request= state= yield_item="),
    (
        approval.AgentApprovalDecisionOutcome,
        "request_id decision status transition reason= modified_payload= comment= result="
        " has_result= decided_by=",
    ),
    (
        execution.AgentExecutionLimits,
        "timeout_seconds= max_steps= max_tool_calls= max_total_tokens= max_parallel_tools="
        " max_output_repairs= max_cost=",
    ),
    (execution.AgentRunResult, "state_id status tool_calls evidence_count output_text="),
    (
        cancellation.AgentCancellationRequest,
        "state_id signal_id target_kind target_ref reason= requested_by= metadata=",
    ),
    (
        cancellation.AgentCancellationCleanupResult,
        "target_kind target_ref status reason= error_code= message= metadata=",
    ),
    (cancellation.AgentCancellationCleanupTask, "target_kind target_ref cleanup metadata="),
    (cancellation.AgentCancellationCleanupReport, "state_id signal_id outcomes="),
    (
        boundary.AgentActionBoundaryCheckpoint,
        "action_id action_kind stage idempotency= metadata=",
    ),
    (
        boundary.AgentResumeBoundary,
        "action_id action_kind stage idempotency evidence_id",
    ),
    (boundary.AgentResumePlan, "state action boundary= signals="),
    (delegation.AgentDelegateTarget, "agent_type agent_name= metadata="),
    (delegation.DelegationContextSlice, "summary= evidence_refs= manifest_ref= metadata="),
    (delegation.DelegationExpectedOutput, "description= schema= metadata="),
    (
        delegation.DelegationBudget,
        "max_steps= max_tokens= timeout_seconds= deadline_at= metadata=",
    ),
    (
        delegation.DelegationPacket,
        "id parent_agent_state_id target task context= constraints= expected_output= budget="
        " allowed_capabilities= return_policy= metadata=",
    ),
    (
        delegation.DelegationResult,
        "id packet_id target summary output= evidence_refs= metadata= created_at=",
    ),
    (delegation.DelegationToolResult, "summary output= events= metadata="),
)


@pytest.mark.requirement(
    "MODEL-8", "MODEL-9", "STATE-2", "STATE-3", "STATE-4", "SIG-2", "EVID-4", "YIELD-2", "EVENT-2"
)
@pytest.mark.parametrize(
    ("members", "values"), ENUMS, ids=lambda item: getattr(item, "__name__", "")
)
def test_an_enum_has_exactly_its_members_spelled_after_their_values(
    members: type[StrEnum], values: str
) -> None:
    assert [member.value for member in members] == values.split()
    assert [member.name for member in members] == values.upper().split()


@pytest.mark.requirement("LOOP-18", "MODEL-4", "MODEL-5", "DELEG-11", "DELEG-12", "EVENT-3")
@pytest.mark.parametrize(("kind", "names"), FIELDS, ids=lambda item: getattr(item, "__name__", ""))
def test_a_value_takes_its_fields_by_name_and_position_in_a_fixed_order(
    kind: type[object], names: str
) -> None:
    parameters = signature(kind).parameters
    # The classes come from the table above, so the checker sees no dataclass in them.
    declared = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if kind is yields.AgentYield:  # its constructor is written by hand
        assert list(parameters) == declared == names.split()
        return
    given = [
        f"{name}=" if parameter.default is not parameter.empty else name
        for name, parameter in parameters.items()
    ]
    assert given == names.split()
    assert list(parameters) == declared


@pytest.mark.parametrize(("kind", "names"), FIELDS, ids=lambda item: getattr(item, "__name__", ""))
def test_no_value_has_room_for_fields_that_nobody_declared(kind: type[object], names: str) -> None:
    del names
    # Final has room for reasons of the language, see the comment there.
    assert kind is yields.Final or "__dict__" not in dir(kind)
    # As above.
    assert all(field.default_factory is MISSING for field in fields(kind))  # type: ignore[arg-type]
