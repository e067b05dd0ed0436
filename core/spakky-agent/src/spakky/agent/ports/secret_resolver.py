"""The port that turns a reference to a secret into the secret, at the moment a tool is called."""

from abc import ABC, abstractmethod

from spakky.agent.guards.sensitive import SecretRef


class ISecretResolver(ABC):
    """Looks secrets up. What it gives goes into the tool call and nowhere else."""

    @abstractmethod
    async def resolve(self, ref: SecretRef) -> str:
        """Give the secret that a reference names.

        Raises:
            AgentToolError: No secret has that id, or this run may not have it; the model is told, without the secret.
        """
