"""An agent that asks before it pays: declared effects make the question, the durable store keeps it."""

from spakky.agent import (
    Agent,
    AgentExecutionSpec,
    AgentSignal,
    AgentSignalKind,
    AgentToolRuntimeContext,
    IAgentModel,
    IAgentSignalRepository,
    Idempotency,
    RecoveryStrategy,
    ToolEffects,
    agent_tool,
)


@Agent(
    spec=AgentExecutionSpec(
        name="billing_agent",
        instructions="Pay the bills that you are asked to pay.",
        recovery=RecoveryStrategy.ACTION_BOUNDARY,
    )
)
class BillingAgent:
    """Pays bills, each after a person has agreed to it."""

    def __init__(self, model: IAgentModel) -> None:
        self._model = model
        self.paid: dict[str, int] = {}

    @agent_tool(
        schema_name="bill.pay",
        effects=ToolEffects.external_side_effect(),
        idempotency=Idempotency.NON_IDEMPOTENT,
    )
    async def pay(self, amount: int, context: AgentToolRuntimeContext) -> str:
        """Pay an amount."""
        # A payment service takes the key, so that the same call can never be charged twice.
        self.paid[context.idempotency_key] = amount
        return f"paid {amount}"


async def approve(signals: IAgentSignalRepository, run_id: str, approval_id: str) -> None:
    """Answer the question that the run waits with; the run goes on when it is resumed."""
    payload = {"request_id": approval_id, "decision": "approve", "decided_by": "ada"}
    kind = AgentSignalKind.APPROVAL_DECISION
    await signals.append(AgentSignal(f"decision-of-{approval_id}", run_id, kind, payload))
