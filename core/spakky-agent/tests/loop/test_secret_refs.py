"""References to secrets: resolved for the one call that needs them, and only where the tool declares a secret."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, override

import pytest

from spakky.agent import (
    AgentToolError,
    AgentYieldKind,
    Idempotency,
    ISecretResolver,
    SecretField,
    SecretRef,
    ToolEffects,
    agent_tool,
)
from spakky.agent_testkit.desk import Bench
from spakky.agent_testkit.scripted_model import call, say

type Build = Callable[..., Bench]

FREE: dict[str, Any] = {
    "effects": ToolEffects.read_only(),
    "idempotency": Idempotency.IDEMPOTENT,
}


class Vault(ISecretResolver):
    def __init__(self) -> None:
        self.asked: list[str] = []

    @override
    async def resolve(self, ref: SecretRef) -> str:
        self.asked.append(ref.id)
        if ref.id == "lost":
            message = f"There is no secret {ref.id}."
            raise AgentToolError(message)
        return f"value of {ref.id}"


@dataclass
class Login:
    user: str
    password: Annotated[str, SecretField()]


class Doors:
    """Tools that are given secrets in every shape."""

    def __init__(self) -> None:
        self.ledger: list[Any] = []
        self.vault: Vault | None = Vault()

    @agent_tool(schema_name="door.open", **FREE)
    async def open(self, token: Annotated[str, SecretField()], note: str = "") -> str:
        """Open a door."""
        self.ledger.append((token, note))
        return f"opened with {token}"

    @agent_tool(schema_name="door.enter", **FREE)
    async def enter(
        self,
        logins: list[Login],
        keys: Annotated[dict[str, list[str]], SecretField()],
        floor: int = 1,
    ) -> list[str]:
        """Enter with many secrets."""
        self.ledger.append((logins, keys, floor))
        return [login.password for login in logins]


async def used(build: Build, *turns: Any, **more: Any) -> Bench:
    bench = build([*turns, [*say("done")]], base=Doors, **more)
    assert (await bench.run())[-1].kind is AgentYieldKind.FINAL
    return bench


@pytest.mark.requirement("SAFE-2", "SAFE-9")
async def test_a_reference_in_an_open_argument_stays_a_reference(build: Build) -> None:
    """A model that was talked into it would otherwise carry the secret out in a text that nobody guards."""
    asked = {"token": "secret://api", "note": "secret://api"}
    bench = await used(build, [*call("door.open", asked)])
    assert bench.agent.ledger == [("value of api", "secret://api")]


@pytest.mark.requirement("SAFE-2", "SAFE-9")
async def test_references_are_resolved_wherever_a_declared_secret_lies(build: Build) -> None:
    asked: dict[str, Any] = {
        "logins": [
            {"user": "secret://a", "password": "secret://a"},
            {"user": "kim", "password": "secret://b"},
        ],
        "keys": {"door": ["secret://c", "secret://a"]},
        "floor": 3,
    }
    bench = await used(build, [*call("door.enter", asked)])
    logins = [Login("secret://a", "value of a"), Login("kim", "value of b")]
    keys = {"door": ["value of c", "value of a"]}
    assert bench.agent.ledger == [(logins, keys, 3)]
    assert sorted(bench.agent.vault.asked) == ["a", "b", "c"]
    assert "value of" not in repr(bench.ports.store.tables)
    assert "value of" not in repr(bench.model.requests)


async def test_what_a_tool_repeats_of_a_resolved_secret_is_taken_out(build: Build) -> None:
    bench = await used(build, [*call("door.open", {"token": "secret://api"})])
    assert "value of api" not in bench.model.requests[1].messages[-1].content
    assert "opened with" in bench.model.requests[1].messages[-1].content


async def test_a_raw_value_is_passed_on_and_nobody_is_asked(build: Build) -> None:
    bench = await used(build, [*call("door.open", {"token": "raw"})])
    assert bench.agent.ledger == [("raw", "")]
    assert bench.agent.vault.asked == []


async def test_a_reference_without_a_resolver_is_a_value_like_any_other(build: Build) -> None:
    bench = build([[*call("door.open", {"token": "secret://api"})], [*say("ok")]], base=Doors)
    bench.agent.vault = None
    await bench.run()
    assert bench.agent.ledger == [("secret://api", "")]


async def test_a_reference_that_nobody_knows_is_told_to_the_model(build: Build) -> None:
    bench = await used(build, [*call("door.open", {"token": "secret://lost"})])
    assert bench.agent.ledger == []
    assert "There is no secret lost." in bench.model.requests[1].messages[-1].content
