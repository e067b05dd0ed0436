"""HTTP errors, what is sent again and when, and the way on to another profile."""

import asyncio
from datetime import UTC, datetime

import httpx
import pytest
from vllm_server import JSON, ModelServer, Reply
from vllm_wire import DONE, ask, call, call_part, finish, listen, text

from spakky.plugins.vllm import (
    VllmAgentModel,
    VllmModelError,
    VllmProfile,
    VllmRetry,
    VllmRuntime,
    VllmTimeouts,
)

KEY = "sk-live-0123456789"
OVERFLOW = (
    b'{"error":{"message":"maximum context length is 4096 tokens, 4097 requested",'
    b'"type":"BadRequestError","param":"input_tokens","code":400}}'
)
GOOD = Reply([text("ok"), finish("stop"), DONE])


class Waits:
    """Takes the waits between attempts down in place of waiting."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


def make(server: ModelServer, waits: Waits, **fields: object) -> VllmAgentModel:
    profile = VllmProfile.model_validate(
        {"base_url": server.base_url, "model": "m", "api_key": KEY, **fields}
    )
    now = datetime(2026, 1, 1, tzinfo=UTC)
    runtime = VllmRuntime(sleep=waits.sleep, chance=lambda: 1.0, now=lambda: now)
    return VllmAgentModel(profiles={"default": profile}, runtime=runtime)


def error(status: int, body: bytes = b"{}", **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply([body], status=status, headers={**JSON, **named})


@pytest.mark.requirement("VLLM-6")
async def test_a_context_overflow_has_its_own_code_and_is_asked_once(
    server: ModelServer, waits: Waits
) -> None:
    """OP-A11."""
    model = make(server, waits)
    server.reply(error(400, OVERFLOW))

    heard = await listen(model, ask())

    assert heard.code == "agent.model.context_overflow"
    assert not heard.errors[0].retryable
    assert len(server.requests) == 1


@pytest.mark.requirement("VLLM-6")
async def test_a_rate_limit_is_asked_again_when_the_server_says(
    server: ModelServer, waits: Waits
) -> None:
    """OP-A11."""
    model = make(server, waits)
    server.reply(error(429, retry_after="2"), error(503), GOOD)

    heard = await listen(model, ask())

    assert heard.text == "ok"
    assert waits.seconds[0] >= 2
    assert waits.seconds[1] == 1.0
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "code"),
    [(429, "rate_limit"), (500, "unavailable"), (503, "unavailable"), (408, "timeout")],
)
@pytest.mark.requirement("VLLM-6")
async def test_a_passing_failure_is_retryable_and_tried_as_often_as_allowed(
    server: ModelServer, waits: Waits, status: int, code: str
) -> None:
    """OP-A11."""
    model = make(server, waits, retry={"max_attempts": 4, "base_seconds": 1, "max_seconds": 3})
    server.reply(error(status, b"<html><title>Oops</title></html>"))

    heard = await listen(model, ask())

    assert heard.code == f"agent.model.{code}"
    assert heard.errors[0].retryable
    assert waits.seconds == [1.0, 2.0, 3.0]
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid_request"),
        (401, "authentication"),
        (402, "invalid_request"),
        (403, "authentication"),
        (404, "not_found"),
        (405, "not_found"),
        (413, "context_overflow"),
        (422, "invalid_request"),
        (204, "protocol"),
        (307, "protocol"),
    ],
)
@pytest.mark.requirement("VLLM-6")
async def test_a_lasting_failure_is_asked_once(
    server: ModelServer, waits: Waits, status: int, code: str
) -> None:
    """OP-A11."""
    model = make(server, waits)
    server.reply(error(status, b"" if status == 204 else b'{"detail":"no"}', location="/other"))

    with pytest.raises(VllmModelError) as raised:
        await model.complete(ask())

    assert raised.value.error_code == f"agent.model.{code}"
    assert raised.value.status == status
    assert not raised.value.retryable
    assert waits.seconds == []
    assert len(server.requests) == 1


@pytest.mark.requirement("VLLM-6")
async def test_no_message_holds_a_credential(server: ModelServer, waits: Waits) -> None:
    """OP-A11: a server that echoes what it was sent."""
    host = server.base_url.removeprefix("http://")
    model = make(
        server,
        waits,
        base_url=f"http://user:pass-word@{host}",
        headers={"X-Team-Token": "team-secret"},
    )
    echoed = f"bad key {KEY} (Authorization: Bearer {KEY}, team-secret, pass-word) at http://user:pass-word@{host}"
    server.reply(error(401, f'{{"error":{{"message":"{echoed}"}}}}'.encode()))

    with pytest.raises(VllmModelError) as raised:
        await model.complete(ask())
    heard = await listen(model, ask())

    sent = server.requests[0].headers
    assert sent["authorization"] == f"Bearer {KEY}"
    assert sent["x-team-token"] == "team-secret"
    for shown in (str(raised.value), repr(raised.value), repr(heard.errors), repr(model)):
        for secret in (KEY, "team-secret", "pass-word"):
            assert secret not in shown
    assert host in str(raised.value)
    assert "'m'" in str(raised.value)
    assert "API key" in str(raised.value)


@pytest.mark.requirement("VLLM-6")
async def test_after_the_first_delta_nothing_is_sent_again(
    server: ModelServer, waits: Waits
) -> None:
    """OP-A11."""
    model = make(server, waits)
    server.reply(Reply([text("a")], reset=True), GOOD)

    heard = await listen(model, ask())

    assert heard.text == "a"
    assert heard.errors[0].retryable
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "broken",
    [
        Reply([], reset=True),
        Reply([b": comment\n\n"], cut=True),
        Reply([b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n'], reset=True),
        Reply([b'data: {"error":{"code":503,"message":"overloaded"}}\n\n']),
        Reply([b'data: {"error":{"code":"429","message":"slow down"}}\n\n']),
        Reply([b'{"error":{"type":"overloaded_error","message":"busy"}}'], headers=JSON),
        Reply([]),
        Reply([b"<html>"], headers={"content-type": "text/html"}),
    ],
)
@pytest.mark.requirement("VLLM-6")
async def test_what_broke_before_the_first_delta_is_sent_again(
    server: ModelServer, waits: Waits, broken: Reply
) -> None:
    model = make(server, waits)
    server.reply(broken, GOOD)

    heard = await listen(model, ask())

    assert heard.text == "ok"
    assert heard.errors == []
    assert len(server.requests) == 2


@pytest.mark.requirement("VLLM-6")
async def test_a_whole_answer_that_broke_off_is_asked_for_again(
    server: ModelServer, waits: Waits
) -> None:
    model = make(server, waits)
    body = b'{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}'
    server.reply(Reply([body[:30]], headers=JSON, cut=True), Reply([body], headers=JSON))

    assert (await model.complete(ask())).content == "ok"


@pytest.mark.requirement("VLLM-6")
async def test_a_server_that_asks_for_a_longer_wait_than_allowed_is_not_waited_for(
    server: ModelServer, waits: Waits
) -> None:
    model = make(server, waits)
    server.reply(error(429, retry_after="61"))

    heard = await listen(model, ask())

    assert heard.errors[0].metadata == {"http_status": 429, "retry_after_seconds": 61.0}
    assert len(server.requests) == 1


@pytest.mark.requirement("VLLM-6")
async def test_a_wait_that_outlasts_the_total_time_is_not_begun(
    server: ModelServer, waits: Waits
) -> None:
    model = make(server, waits, timeouts={"total_seconds": 5})
    server.reply(error(503, retry_after="10"))

    heard = await listen(model, ask())

    assert heard.code == "agent.model.unavailable"
    assert waits.seconds == []


@pytest.mark.requirement("VLLM-6")
async def test_a_wait_between_attempts_ends_with_the_total_time(server: ModelServer) -> None:
    profile = VllmProfile(
        base_url=server.base_url,
        model="m",
        timeouts=VllmTimeouts(total_seconds=0.2),
        retry=VllmRetry(base_seconds=0.001),
    )

    async def sleep(_: float) -> None:
        await asyncio.Event().wait()

    model = VllmAgentModel(profiles={"default": profile}, runtime=VllmRuntime(sleep=sleep))
    server.reply(error(503))
    async with asyncio.timeout(5):
        heard = await listen(model, ask())

    assert heard.code == "agent.model.unavailable"


@pytest.mark.requirement("VLLM-6")
async def test_an_error_page_that_breaks_off_is_known_by_its_status(
    server: ModelServer, waits: Waits
) -> None:
    model = make(server, waits, retry={"max_attempts": 1})
    server.reply(Reply([b'{"error": {"mess'], status=404, reset=True))

    assert (await listen(model, ask())).code == "agent.model.not_found"


@pytest.mark.requirement("VLLM-6")
async def test_an_endless_error_page_is_read_to_its_bound_only(
    server: ModelServer, waits: Waits
) -> None:
    model = make(server, waits, retry={"max_attempts": 1})
    server.reply(Reply([b"x" * 40_000] * 3, status=400))

    heard = await listen(model, ask())

    assert heard.code == "agent.model.invalid_request"
    assert len(heard.errors[0].message) < 1000


@pytest.mark.requirement("VLLM-6")
async def test_a_server_that_is_not_there_is_unavailable(waits: Waits) -> None:
    probe = ModelServer()
    await probe.start()
    model = make(probe, waits)
    await probe.stop()

    heard = await listen(model, ask())

    assert heard.code == "agent.model.unavailable"
    assert heard.errors[0].retryable
    assert len(waits.seconds) == 2
    await model.aclose()


@pytest.mark.requirement("VLLM-6")
async def test_a_host_without_an_address_is_unavailable(waits: Waits) -> None:
    profile = VllmProfile(
        base_url="http://no-such-host.invalid/v1", model="m", retry=VllmRetry(max_attempts=1)
    )
    model = VllmAgentModel(profiles={"default": profile})

    assert (await listen(model, ask())).code == "agent.model.unavailable"
    await model.aclose()


@pytest.mark.requirement("VLLM-6", "VLLM-7")
async def test_a_profile_that_fails_before_its_answer_gives_way_to_its_fallbacks(
    server: ModelServer, waits: Waits
) -> None:
    other = ModelServer()
    await other.start()
    profiles = {
        "first": VllmProfile(
            base_url=server.base_url,
            model="a",
            retry=VllmRetry(max_attempts=1),
            fallbacks=("second", "third"),
        ),
        "second": VllmProfile(base_url=server.base_url, model="b", retry=VllmRetry(max_attempts=1)),
        "third": VllmProfile(base_url=other.base_url, model="c"),
    }
    model = VllmAgentModel(profiles=profiles, default_profile="first")
    server.reply(error(503))
    other.reply(GOOD)

    heard = await listen(model, ask())

    assert heard.text == "ok"
    assert [item.json["model"] for item in (*server.requests, *other.requests)] == ["a", "b", "c"]
    server.reply(error(401))
    assert (await listen(model, ask())).code == "agent.model.authentication"
    server.reply(Reply([text("half")], cut=True))
    assert (await listen(model, ask())).text == "half"
    assert len(other.requests) == 1
    await model.aclose()
    await other.stop()


@pytest.mark.requirement("VLLM-6")
async def test_the_attempts_of_one_answer_share_their_connection(
    server: ModelServer, waits: Waits
) -> None:
    model = make(server, waits)
    server.reply(error(503), error(503), GOOD, GOOD)

    for _ in range(2):
        assert (await listen(model, ask())).text == "ok"

    assert {item.connection for item in server.requests} <= {1, 2, 3}
    assert server.requests[2].connection == server.requests[3].connection


@pytest.mark.requirement("VLLM-6")
async def test_a_call_after_the_text_and_then_a_reset_hands_no_call_over(
    server: ModelServer, waits: Waits
) -> None:
    model = make(server, waits)
    part = call_part(0, id="a", name="read", arguments="{}")
    server.reply(Reply([text("t"), call(part)], reset=True))

    heard = await listen(model, ask(tools=["read"]))

    assert heard.candidates == []
    assert heard.code == "agent.model.protocol"


class _Failing(httpx.AsyncBaseTransport):
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise self.error


@pytest.mark.parametrize(
    ("raised", "code", "retryable"),
    [
        (httpx.ConnectTimeout(""), "timeout", True),
        (httpx.PoolTimeout(""), "timeout", True),
        (httpx.ReadError(""), "unavailable", True),
        (httpx.RemoteProtocolError(""), "unavailable", True),
        (OSError("broken"), "unavailable", True),
    ],
)
@pytest.mark.requirement("VLLM-6")
async def test_every_fault_of_the_transport_is_typed(
    raised: Exception, code: str, retryable: bool
) -> None:
    profile = VllmProfile(model="m", retry=VllmRetry(max_attempts=1))
    runtime = VllmRuntime(transport=lambda: _Failing(raised))
    model = VllmAgentModel(profiles={"default": profile}, runtime=runtime)

    heard = await listen(model, ask())

    assert heard.code == f"agent.model.{code}"
    assert heard.errors[0].retryable is retryable
    await model.aclose()


async def test_a_fault_of_ours_is_not_taken_for_one_of_the_server() -> None:
    runtime = VllmRuntime(transport=lambda: _Failing(RuntimeError("ours")))
    model = VllmAgentModel(base_url="http://127.0.0.1:1/v1", model="m", runtime=runtime)

    with pytest.raises(RuntimeError, match="ours"):
        await listen(model, ask())
    await model.aclose()
