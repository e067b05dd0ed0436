"""The measure of all ratios: an agent loop written by hand on httpx, with ``aiter_lines`` and ``json.loads``."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
from scenarios import PROMPT, TOOL, Scenario

# The values of JSON messages are of any type, as json.loads gives them.
type Message = dict[str, Any]
type Store = Callable[[Message], Awaitable[None]]

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "description": "Look a city up.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]


def make_client() -> httpx.AsyncClient:
    """Make the one client that all runs share."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.AsyncClient(timeout=None, limits=limits)  # noqa: S113 - the server is ours


async def look_up(city: str) -> str:
    """Do what the tool does."""
    return f"{city} has {len(city)} letters."


async def keep_nothing(_message: Message) -> None:
    """Stand in for a store."""


async def run_by_hand(
    client: httpx.AsyncClient, server: str, scenario: Scenario, store: Store = keep_nothing
) -> int:
    """Run the loop until an answer has no calls; gives how many deltas of text came."""
    messages: list[Message] = [{"role": "user", "content": PROMPT}]
    seen = 0
    while True:
        texts, calls = await _ask(client, f"{server}/{scenario}/v1/chat/completions", messages)
        seen += len(texts)
        answer: Message = {"role": "assistant", "content": "".join(texts)}
        if calls:
            answer["tool_calls"] = calls
        messages.append(answer)
        await store(answer)
        if not calls:
            return seen
        results = await asyncio.gather(*(_run_tool(call) for call in calls))
        for call, result in zip(calls, results, strict=True):
            message = {"role": "tool", "tool_call_id": call["id"], "content": result}
            messages.append(message)
            await store(message)


async def _run_tool(call: Message) -> str:
    return await look_up(**json.loads(call["function"]["arguments"]))


async def _ask(
    client: httpx.AsyncClient, url: str, messages: list[Message]
) -> tuple[list[str], list[Message]]:
    body = {
        "model": "m",
        "messages": messages,
        "tools": TOOLS,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    texts: list[str] = []
    calls: list[Message] = []
    async with client.stream("POST", url, json=body) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: {"):
                continue
            choices = json.loads(line[6:])["choices"]
            if not choices:
                continue
            delta = choices[0]["delta"]
            if delta.get("content"):
                texts.append(delta["content"])
            for part in delta.get("tool_calls") or ():
                if part["index"] == len(calls):
                    calls.append(part)
                else:
                    arguments = part["function"]["arguments"]
                    calls[part["index"]]["function"]["arguments"] += arguments
    return texts, calls


async def first_by_hand(client: httpx.AsyncClient, server: str) -> float:
    """Give the seconds from asking to the first delta; the answer is read to its end."""
    body = {"model": "m", "messages": [{"role": "user", "content": PROMPT}], "stream": True}
    began = time.perf_counter()
    first = 0.0
    url = f"{server}/{Scenario.FIRST}/v1/chat/completions"
    async with client.stream("POST", url, json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line[6:])["choices"]
                if not first and choices and choices[0]["delta"].get("content"):
                    first = time.perf_counter() - began
    return first
