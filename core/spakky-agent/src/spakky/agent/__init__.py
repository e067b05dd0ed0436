"""Agents as ordinary application components: contracts, declarations, and the one loop that runs them.

Every public name can be imported from here. A name's module is loaded when the name is first used, so that an adapter
which needs the model port does not pay for the loop. ``__init__.pyi`` tells type checkers the same names.
"""

from importlib import import_module

_NAMES_BY_MODULE: dict[str, tuple[str, ...]] = {
    "agent": ("Agent",),
    "compaction.keep_recent": ("KeepRecentMessagesCompactionStrategy",),
    "compaction.provider_managed": ("ProviderManagedCompactionStrategy",),
    "compaction.summarize": ("SummarizeOldTurnsCompactionStrategy",),
    "compaction.trim_tools": ("TrimToolResultsCompactionStrategy",),
    "contracts.approval": (
        "AgentApprovalBoundaryKind",
        "AgentApprovalDecisionOutcome",
        "AgentApprovalPlan",
        "AgentApprovalPlanAction",
        "AgentApprovalRequest",
    ),
    "contracts.approval_decision": (
        "ApprovalDecision",
        "DEFAULT_APPROVAL_DECISIONS",
    ),
    "contracts.boundary": (
        "AgentActionBoundaryCheckpoint",
        "AgentActionBoundaryStage",
        "AgentActionKind",
        "AgentResumeAction",
        "AgentResumeBoundary",
        "AgentResumePlan",
    ),
    "contracts.cancellation": (
        "AgentCancellationCleanupCallable",
        "AgentCancellationCleanupReport",
        "AgentCancellationCleanupResult",
        "AgentCancellationCleanupStatus",
        "AgentCancellationCleanupTask",
        "AgentCancellationRequest",
        "AgentCancellationTargetKind",
    ),
    "contracts.content_events": (
        "ArtifactEvent",
        "CustomEvent",
        "StateDeltaEvent",
        "StateSnapshotEvent",
    ),
    "contracts.context": (
        "ContextDigest",
        "ContextFreshness",
        "ContextManifest",
        "ContextManifestEntry",
        "ContextPack",
        "ContextPackRole",
        "ContextSensitivity",
        "ContextTokenBudget",
    ),
    "contracts.context_health": (
        "ContextHealthSignal",
        "ContextOptimizationAction",
        "ContextOptimizationActionKind",
        "ContextOptimizationEvidenceStage",
        "ContextRotSymptom",
    ),
    "contracts.delegation": (
        "AgentDelegateTarget",
        "DelegationBudget",
        "DelegationContextSlice",
        "DelegationExpectedOutput",
        "DelegationPacket",
        "DelegationResult",
        "DelegationReturnPolicy",
        "DelegationToolResult",
    ),
    "contracts.event_kinds": (
        "AgentEventAttribution",
        "AgentEventKind",
    ),
    "contracts.events": ("AgentEvent",),
    "contracts.evidence": (
        "AgentEvidence",
        "AgentEvidenceCandidate",
        "AgentEvidenceKind",
    ),
    "contracts.execution": (
        "AgentExecutionLimits",
        "AgentRunResult",
        "ModelErrorPolicy",
        "RecoveryStrategy",
        "RejectionPolicy",
        "StreamingExposureMode",
        "ToolErrorPolicy",
    ),
    "contracts.json_form": ("to_json_value",),
    "contracts.model_events": (
        "MessageDeltaEvent",
        "ReasoningDeltaEvent",
        "ToolCallArgsDeltaEvent",
        "ToolCallEndEvent",
        "ToolCallResultEvent",
        "ToolCallStartEvent",
    ),
    "contracts.model_message": (
        "ModelMessage",
        "ModelMessageRole",
        "ModelToolCall",
    ),
    "contracts.model_request": (
        "JsonSchemaConstraint",
        "ModelCapability",
        "ModelRequest",
        "ModelSelection",
        "ModelToolChoice",
        "ModelToolSpec",
        "SamplingOptions",
        "StreamingOptions",
        "StructuredOutputSpec",
        "ToolCallingSpec",
    ),
    "contracts.model_stream": (
        "ModelError",
        "ModelResponse",
        "ModelStreamEvent",
        "ModelStreamEventKind",
        "ModelUsage",
    ),
    "contracts.run_events": (
        "RunFinishedEvent",
        "RunPausedEvent",
        "RunStartedEvent",
        "StepFinishedEvent",
        "StepStartedEvent",
    ),
    "contracts.run_input": ("RunAgentInput",),
    "contracts.signals": (
        "AgentSignal",
        "AgentSignalConsumptionBatch",
        "AgentSignalKind",
        "AgentSignalPollPoint",
    ),
    "contracts.state": (
        "AgentState",
        "AgentStateReason",
        "AgentStateTransition",
        "AgentStatus",
    ),
    "contracts.tool_metadata": (
        "AgentToolMetadata",
        "DataAccess",
        "EvidenceCapture",
        "Externality",
        "Idempotency",
        "ResultBudget",
        "TimeoutPolicy",
        "ToolApprovalRequirement",
        "ToolEffects",
        "ToolPermission",
        "ToolResumeAction",
        "ToolResumeMetadata",
        "ToolRisk",
        "ToolRiskAxis",
    ),
    "contracts.yields": (
        "AgentYield",
        "AgentYieldKind",
        "AgentYieldPayload",
        "Approval",
        "Cancel",
        "Error",
        "Evidence",
        "Final",
        "Message",
        "Progress",
        "TextDelta",
        "Token",
        "Tool",
    ),
    "declare.binding": (
        "AgentToolBoundInvocation",
        "bind_agent_tool_invocation",
    ),
    "declare.catalog": (
        "AgentToolCatalog",
        "discover_agent_tools",
        "merge_catalogs",
    ),
    "declare.descriptor": (
        "AgentToolApprovalContext",
        "AgentToolDescriptor",
        "AgentToolIdentity",
    ),
    "declare.dispatcher": ("AgentToolDispatcher",),
    "declare.runtime_context": ("AgentToolRuntimeContext",),
    "declare.schema": ("AgentToolSchemaHandle",),
    "declare.signal_hook": (
        "AgentSignalHookCatalog",
        "AgentSignalHookDescriptor",
        "AgentSignalHookIdentity",
        "discover_agent_signal_hooks",
        "on_signal",
    ),
    "declare.spec": ("AgentExecutionSpec",),
    "declare.teammate": (
        "AgentTeammate",
        "schema_token",
    ),
    "declare.tool": (
        "AgentToolDefinition",
        "agent_tool",
    ),
    "error": (
        "AbstractSpakkyAgentError",
        "AgentApprovalDecisionError",
        "AgentAuthRequiredError",
        "AgentBootstrapError",
        "AgentCheckpointError",
        "AgentDefinitionError",
        "AgentLeaseLostError",
        "AgentLifecycleError",
        "AgentModelConfigurationError",
        "AgentModelError",
        "AgentOutputGuardError",
        "AgentPersistenceConfigurationError",
        "AgentPersistenceError",
        "AgentRecordNotFoundError",
        "AgentRunEndedError",
        "AgentRunInProgressError",
        "AgentRunRefusedError",
        "AgentRunUnfinishedError",
        "AgentSignalConsumedError",
        "AgentStateConflictError",
        "AgentToolBindingError",
        "AgentToolDispatchError",
        "AgentToolError",
        "AgentValueError",
    ),
    "execute_contract": ("require_streaming",),
    "guards.exposure": (
        "ContextExposurePolicy",
        "EvidenceExposurePolicy",
    ),
    "guards.sensitive": (
        "CredentialRef",
        "DataSensitivity",
        "MaskingPolicy",
        "PII",
        "RedactionPolicy",
        "SECRET_SCHEME",
        "SecretField",
        "SecretRef",
        "SensitiveField",
        "SensitiveFieldDescriptor",
    ),
    "guards.stream_audit": (
        "StreamingRedactionAudit",
        "StreamingRedactionAuditStatus",
    ),
    "guards.stream_redaction": (
        "StreamingGuardFailureMode",
        "StreamingRedactionPolicy",
        "StreamingRedactionResult",
        "StreamingRedactionSession",
    ),
    "guards.streaming_pattern": (
        "StreamingRedactionMatch",
        "StreamingSensitivePattern",
    ),
    "json_value": (
        "EMPTY_OBJECT",
        "FrozenObject",
        "JsonObject",
        "JsonPrimitive",
        "JsonValue",
    ),
    "loop.checkpoint": ("open_approval_requests",),
    "loop.consume": ("consume_pending_agent_signals",),
    "loop.watcher": ("WatchTimes",),
    "main": ("PLUGIN_NAME",),
    "ports.compaction": (
        "AgentCompactionPolicy",
        "ICompactionStrategy",
    ),
    "ports.context_handler": (
        "IAgentContextHandler",
        "IAgentContextProvider",
    ),
    "ports.delegate": ("IAgentDelegate",),
    "ports.model": (
        "IAgentModel",
        "IAgentModelResolver",
    ),
    "ports.repositories": (
        "AgentLease",
        "AgentUnitOfWorkScope",
        "IAgentEvidenceRepository",
        "IAgentSignalRepository",
        "IAgentStateRepository",
        "IAgentTranscriptRepository",
        "IAgentUnitOfWork",
    ),
    "ports.secret_resolver": ("ISecretResolver",),
    "ports.streaming_patterns": ("IStreamingPatternProvider",),
    "ports.task_store": (
        "ConversationTurn",
        "ITaskStore",
    ),
    "rules.approval": (
        "materialize_agent_approval_decision_state",
        "parse_agent_approval_decision_signal",
        "plan_agent_tool_approval",
    ),
    "rules.cancellation": (
        "begin_agent_cancellation",
        "complete_agent_cancellation",
        "run_agent_cancellation_cleanup",
    ),
    "rules.recovery": ("plan_agent_resume",),
    "runner": ("AgentRunner",),
    "runner_factory": (
        "AgentRunnerFactory",
        "IAgentRunnerFactory",
    ),
    "tool_contributor": ("IAgentToolContributor",),
}

_MODULE_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = sorted(_MODULE_BY_NAME)  # noqa: PLE0605 - the stub has the literal list


def __getattr__(name: str) -> object:
    """Load the module of a public name, and keep the name.

    Raises:
        AttributeError: There is no such name.
    """
    module = _MODULE_BY_NAME.get(name)
    if module is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    # The module is one of those named above, and has the name.
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return __all__
