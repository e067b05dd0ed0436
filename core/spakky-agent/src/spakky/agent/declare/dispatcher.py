"""Looks up, binds and runs the tool that a model asks for."""

from dataclasses import dataclass

from spakky.agent.contracts.model_message import ModelToolCall
from spakky.agent.declare.catalog import AgentToolCatalog, AgentToolDescriptor
from spakky.agent.declare.injection import NO_VALUES, InjectedValues
from spakky.agent.declare.invoke import invoke_tool
from spakky.agent.declare.runtime_context import AgentToolRuntimeContext
from spakky.agent.error import AgentToolBindingError

__all__ = ["AgentToolDispatcher", "AgentToolRuntimeContext", "invoke_tool"]


@dataclass(frozen=True, slots=True)
class AgentToolDispatcher:
    """Runs tool calls without a loop: no approval, no evidence, errors are raised.

    Attributes:
        target: The instance that the tools are methods of; None for tools without owner.
        catalog: The tools.
        runtime_context: What tools get that ask for it.
    """

    target: object
    catalog: AgentToolCatalog
    runtime_context: AgentToolRuntimeContext | None = None

    def descriptor_for(self, call: ModelToolCall) -> AgentToolDescriptor:
        """Give the tool that a call names.

        Args:
            call: The model's call.

        Raises:
            AgentToolDispatchError: No tool has that name.
        """
        return self.catalog.by_schema_name(call.name)

    async def dispatch(self, call: ModelToolCall) -> object:
        """Run the tool that a call names and give its result.

        Args:
            call: The model's call.

        Raises:
            AgentToolDispatchError: No tool has that name, or the tool needs an instance or a
                runtime context that the dispatcher does not have.
            AgentToolBindingError: The arguments do not fit; the tool was not run.
        """
        descriptor = self.descriptor_for(call)
        if call.arguments_error is not None:
            message = (
                f"The arguments do not fit the tool {call.name!r}, which was not run."
                f" {call.arguments_error}"
            )
            raise AgentToolBindingError(message)
        bound = descriptor.bind_invocation(call.arguments)
        context = self.runtime_context
        values: InjectedValues = NO_VALUES
        if context is not None:
            values = {AgentToolRuntimeContext: context}
        return await invoke_tool(descriptor, self.target, bound, values)
