"""Which pending signals may be taken, and in what order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spakky.agent.contracts.signals import AgentSignal, AgentSignalKind
from spakky.agent.rules.signal_queue import CONTROL_KINDS, eligible_prefix, split_lanes

KINDS = list(AgentSignalKind)
queues = st.lists(st.sampled_from(KINDS), max_size=12).map(
    lambda kinds: [AgentSignal(f"s{i}", "r", kind) for i, kind in enumerate(kinds)]
)
accepted_kinds = st.none() | st.frozensets(st.sampled_from(KINDS))


@given(queues, accepted_kinds, st.none() | st.integers(0, 5))
@pytest.mark.requirement("SIG-5", "SIG-6")
def test_what_is_taken_is_a_beginning_of_the_queue_that_skips_nothing(
    queue: list[AgentSignal], accepted: frozenset[AgentSignalKind] | None, bound: int | None
) -> None:
    taken = eligible_prefix(queue, accepted, bound)
    assert list(taken) == queue[: len(taken)]
    assert accepted is None or all(signal.kind in accepted for signal in taken)
    if len(taken) < len(queue) and len(taken) != bound:
        assert accepted is not None
        assert queue[len(taken)].kind not in accepted


@given(queues)
@pytest.mark.requirement("SIG-6")
def test_both_lanes_keep_the_order_and_lose_nothing(queue: list[AgentSignal]) -> None:
    control, rest = split_lanes(queue)
    assert list(control) == [signal for signal in queue if signal.kind in CONTROL_KINDS]
    assert list(rest) == [signal for signal in queue if signal.kind not in CONTROL_KINDS]


def test_the_control_lane_holds_what_steers_a_run() -> None:
    assert {kind.value for kind in CONTROL_KINDS} == {
        "cancel",
        "approval_decision",
        "pause",
        "resume",
    }
