"""The items of a run's stream: spellings, typing and checks."""

from collections.abc import AsyncGenerator
from typing import Any, get_args

import pytest

from spakky.agent.contracts import yields
from spakky.agent.contracts.approval import ApprovalDecision
from spakky.agent.contracts.evidence import AgentEvidence, AgentEvidenceKind
from spakky.agent.contracts.yields import (
    AgentYield,
    AgentYieldKind,
    AgentYieldPayload,
    Approval,
    Cancel,
    Error,
    Evidence,
    Final,
    Message,
    Progress,
    TextDelta,
    Token,
    Tool,
)
from spakky.agent.error import AgentValueError

# Any: the tests put values of wrong types in.
WRONG: Any = "wrong"


async def execute() -> AsyncGenerator[AgentYield[Final[str]], None]:
    yield AgentYield(kind=AgentYieldKind.TOKEN, payload=Token("hel"))
    yield AgentYield(
        kind=AgentYieldKind.PROGRESS, payload=Progress("halfway", current_step="writing")
    )
    yield AgentYield(kind=AgentYieldKind.FINAL, payload=Final(output="hello", metadata={}))


async def pass_on(
    items: AsyncGenerator[AgentYield[object], None],
) -> AsyncGenerator[AgentYield[object], None]:
    async for item in items:
        yield item


@pytest.mark.requirement("YIELD-1", "YIELD-4", "YIELD-5")
async def test_a_generator_of_a_final_type_may_yield_what_comes_before_it() -> None:
    # A generator of one payload type is accepted where any payload is: the type is covariant.
    items: AsyncGenerator[AgentYield[object], None] = execute()
    seen = [item async for item in pass_on(items)]
    assert seen == [
        AgentYield(AgentYieldKind.TOKEN, Token("hel")),
        AgentYield(AgentYieldKind.PROGRESS, Progress("halfway", "writing")),
        AgentYield(AgentYieldKind.FINAL, Final("hello")),
    ]


@pytest.mark.requirement("YIELD-1")
def test_an_item_shows_its_parts_and_compares_by_them() -> None:
    item = AgentYield(kind=AgentYieldKind.TOKEN, payload=Token("a"))
    assert item != AgentYield(AgentYieldKind.TOKEN, Token("b"))
    assert "kind=" in repr(item)
    assert "Token(text='a'" in repr(item)
    match item:
        case AgentYield(kind, Token(text)):
            assert (kind, text) == (AgentYieldKind.TOKEN, "a")
        case _:
            pytest.fail("An item matches by position.")


@pytest.mark.requirement("YIELD-3")
def test_a_generic_value_may_be_built_with_its_type_named() -> None:
    assert Final[str]("a") == Final("a")
    assert AgentYield[Token](AgentYieldKind.TOKEN, Token("a")).payload.text == "a"


@pytest.mark.requirement("YIELD-3")
def test_there_is_one_payload_class_for_each_kind() -> None:
    interim, final = get_args(AgentYieldPayload.__value__)
    classes = {kind.__name__.lower() for kind in get_args(interim.__value__)} | {"final"}
    assert classes >= {kind.value for kind in AgentYieldKind}
    assert classes - {kind.value for kind in AgentYieldKind} == {"textdelta", "message"}
    assert final == Final[object]


def test_payloads_keep_what_they_were_given() -> None:
    evidence = AgentEvidence("e1", "r1", AgentEvidenceKind.TOOL)
    assert Token("a", {"b": 1}).metadata == {"b": 1}
    assert TextDelta("a").text == "a"
    assert Message("a", "step", {"b": 1}).current_step == "step"
    assert Tool("t", "c1", {"x": 1}, [1], {"b": 1}).arguments == {"x": 1}
    assert Evidence(evidence).evidence is evidence
    assert Approval("a1", "May I?", (ApprovalDecision.APPROVE,)).metadata == {}
    assert Error("code", "text", retryable=True).retryable
    assert Cancel("enough", "ann").requested_by == "ann"
    assert Final(output=3).metadata == {}


@pytest.mark.parametrize(
    ("build", "part"),
    [
        (lambda: Approval("", "May I?", ()), "Approval.id"),
        (lambda: Approval("a1", "May I?", WRONG), "Approval.allowed_decisions"),
        (lambda: Error(" ", "text"), "Error.code"),
        (lambda: Tool("t", arguments=WRONG), "Tool.arguments"),
        (lambda: Progress("x", metadata=WRONG), "Progress.metadata"),
        (lambda: Message("x", metadata=WRONG), "Message.metadata"),
        (lambda: Final(1, WRONG), "Final.metadata"),
        (lambda: Cancel(metadata=WRONG), "Cancel.metadata"),
    ],
)
def test_a_payload_that_no_client_could_use_is_refused(build: Any, part: str) -> None:
    with pytest.raises(AgentValueError, match=part):
        build()


def test_every_class_of_the_module_says_what_it_is() -> None:
    public = [item for name, item in vars(yields).items() if not name.startswith("_")]
    own = [item for item in public if getattr(item, "__module__", "") == yields.__name__]
    assert all(item.__doc__ for item in own if isinstance(item, type))
