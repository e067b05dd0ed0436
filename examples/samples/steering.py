"""A signal hook: what an agent does, beside the loop, when it is steered.

The agent accepts the signal, so it is durable and needs repositories; a hook on an agent that does not accept its kind of
signal is refused.
"""

# ruff: noqa: D101, D102 - the method stands as the document has it

from collections.abc import AsyncGenerator

from spakky.agent import (
    Agent,
    AgentExecutionSpec,
    AgentSignal,
    AgentSignalKind,
    AgentYield,
    AgentYieldKind,
    IAgentEvidenceRepository,
    IAgentModel,
    IAgentSignalRepository,
    IAgentStateRepository,
    IAgentTranscriptRepository,
    IAgentUnitOfWork,
    Progress,
    on_signal,
)


@Agent(
    spec=AgentExecutionSpec(
        name="steered_file_agent",
        accepted_signals=(AgentSignalKind.STEERING_INSTRUCTION,),
    )
)
class FileAgent:
    def __init__(
        self,
        model: IAgentModel,
        states: IAgentStateRepository,
        signals: IAgentSignalRepository,
        evidence: IAgentEvidenceRepository,
        transcripts: IAgentTranscriptRepository,
        unit_of_work: IAgentUnitOfWork,
    ) -> None:
        self.model = model
        self.states = states
        self.signals = signals
        self.evidence = evidence
        self.transcripts = transcripts
        self.unit_of_work = unit_of_work

    @on_signal(AgentSignalKind.STEERING_INSTRUCTION)
    async def on_steering(
        self,
        signal: AgentSignal,
    ) -> AsyncGenerator[AgentYield[object], None]:
        yield AgentYield(
            kind=AgentYieldKind.PROGRESS,
            payload=Progress(
                f"steering: {signal.payload.get('instruction')}",
                current_step="steering",
            ),
        )
