"""A tool with effects outside: it asks for approval, is never repeated by itself, and leaves a summary."""

import asyncio

from spakky.agent import (
    EvidenceCapture,
    Idempotency,
    ToolApprovalRequirement,
    ToolEffects,
    agent_tool,
)


@agent_tool(
    effects=ToolEffects.external_side_effect(),
    idempotency=Idempotency.NON_IDEMPOTENT,
    evidence=EvidenceCapture.SUMMARY,
    approval=ToolApprovalRequirement.DERIVED,
)
async def run_shell(command: str) -> dict[str, str]:
    """Run a command line and give its output."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec("/bin/sh", "-c", command, stdout=pipe)
    output, _ = await process.communicate()
    return {"output": output.decode("utf-8", "replace"), "exit_code": str(process.returncode)}
