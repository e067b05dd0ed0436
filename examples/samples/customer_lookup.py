"""A tool whose arguments are sensitive: the markers stay with the schema, and out of what the model is shown."""

from typing import Annotated

from spakky.agent import PII, SecretField, SensitiveField, agent_tool

_TIERS = {"ann@example.org": "gold"}


@agent_tool(schema_name="customer.lookup")
async def lookup_customer(
    email: Annotated[str, SensitiveField(PII.EMAIL)],
    api_token: Annotated[str, SecretField()],
) -> dict[str, str]:
    """Give what is known about a customer; an empty token knows nothing."""
    return {"tier": _TIERS.get(email, "none")} if api_token else {}
