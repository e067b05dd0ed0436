"""Bad input: each one gives one line with the next step and its exit code, and the run can still be resumed."""

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest
from demo_tests_support.processes import Demo, finish, read_until

from spakky.agent_testkit.http_answers import ChatCall, Ending, chat, raw, reply
from spakky.agent_testkit.http_model import Answer, HttpModelServer

HALF = (
    b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"half"},"finish_reason":null}]}\n\n'
)
RETRY_NOW = {"retry-after": "0"}


def options(server: HttpModelServer) -> tuple[str, ...]:
    return ("--base-url", server.base_url, "--model", "m")


@pytest.mark.requirement("VLLM-1")
async def test_any_compatible_server_can_answer(demo: Demo) -> None:
    async with HttpModelServer([chat("The answer is forty-two.")]) as server:
        outcome = await demo.run("run", "what is it?", *options(server))

    assert outcome.code == 0, outcome
    assert "The answer is forty-two." in outcome.out
    assert server.requests[0].json is not None
    assert server.requests[0].json["model"] == "m"


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        pytest.param(
            [reply(404, {"error": {"message": "The model `m` does not exist."}})],
            "does not exist",
            id="wrong model name",
        ),
        pytest.param([reply(401, {"error": {"message": "bad key"}})], "bad key", id="401"),
        pytest.param([reply(429, {}, headers=RETRY_NOW)] * 3, "429", id="429"),
        pytest.param([reply(500, b"<html>oops</html>")] * 3, "500", id="500"),
        pytest.param([raw(HALF, ending=Ending.CUT)], "", id="half a stream"),
    ],
)
async def test_a_fault_of_the_server_interrupts_the_run_which_then_goes_on(
    demo: Demo, answers: list[Answer], told: str
) -> None:
    async with HttpModelServer([*answers, chat("All is well.")]) as server:
        broken = await demo.run("run", "hello", "--id", "r1", *options(server))
        listed = await demo.run("runs")
        resumed = await demo.run("resume", "r1")

    assert broken.code == 4, broken
    assert told in broken.require_one_line()
    assert "resume" in broken.require_one_line()
    assert "r1  interrupted (execution_failed)" in listed.out
    assert resumed.code == 0, resumed
    assert "All is well." in resumed.out


async def test_a_server_that_is_not_there_can_be_replaced_by_another(demo: Demo) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        broken = await demo.run("run", "hello", "--id", "r1", "--base-url", url, "--model", "m")
    async with HttpModelServer([chat("Here I am.")]) as server:
        resumed = await demo.run("resume", "r1", "--base-url", server.base_url)

    assert broken.code == 4, broken
    assert url in broken.require_one_line()
    assert resumed.code == 0, resumed


async def test_the_key_is_taken_from_its_variable_and_stored_nowhere(demo: Demo) -> None:
    key = "sk-verysecretkey1234567890"
    async with HttpModelServer([chat("Hi."), reply(401, {})], api_key=key) as server:
        named = (*options(server), "--api-key-env", "MY_KEY")
        missing = await demo.run("run", "hello", *named)
        right = await demo.run("run", "hello", *named, env={"MY_KEY": key})

    assert missing.code == 2
    assert "MY_KEY" in missing.require_one_line()
    assert right.code == 0, right
    stored = b"".join(p.read_bytes() for p in demo.home.rglob("*") if p.is_file())
    assert b"MY_KEY" in stored
    assert key.encode() not in stored


@pytest.mark.parametrize("command", ["resume", "approve", "reject", "cancel", "show"])
async def test_an_unknown_run_is_refused(demo: Demo, command: str) -> None:
    outcome = await demo.run(command, "nowhere")

    assert outcome.code == 5
    assert "'nowhere'" in outcome.require_one_line()
    assert "code-assistant runs" in outcome.err


async def test_an_id_that_is_taken_is_refused(demo: Demo) -> None:
    await demo.run("run", "write hello to note.txt", "--id", "r1")
    again = await demo.run("run", "count files", "--id", "r1")
    approved = await demo.run("approve", "r1")
    ended = await demo.run("run", "count files", "--id", "r1")

    assert again.code == 5
    assert "resume" in again.require_one_line()
    assert approved.code == 0, approved
    assert ended.code == 5
    assert ended.require_one_line()


async def test_a_live_run_is_not_resumed_a_second_time(demo: Demo) -> None:
    gate = asyncio.Event()
    async with HttpModelServer([raw(HALF, gate)]) as server:
        live = await demo.start("run", "hello", "--id", "r1", *options(server))
        await read_until(live, "half")

        second = await demo.run("resume", "r1")

        assert second.code == 5, second
        assert "in progress" in second.require_one_line()
        assert len(server.requests) == 1
        gate.set()
        ended = await finish(live)
    assert ended.code == 4


async def test_an_interrupt_in_the_middle_of_a_stream_leaves_a_run_that_goes_on(demo: Demo) -> None:
    async with HttpModelServer([raw(HALF, asyncio.Event()), chat("Done now.")]) as server:
        live = await demo.start("run", "hello", "--id", "r1", *options(server))
        await read_until(live, "half")
        os.killpg(live.pid, signal.SIGINT)
        ended = await finish(live)
        await server.wait_for_disconnects()
        listed = await demo.run("runs")
        resumed = await demo.run("resume", "r1")

    assert ended.code == 130
    assert ended.require_one_line() == "Interrupted."
    assert "r1  interrupted (user_interrupted)" in listed.out
    assert resumed.code == 0, resumed
    assert "Done now." in resumed.out


async def test_a_store_that_cannot_be_written_is_told_in_one_line(
    demo: Demo, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    url = f"sqlite:///{blocked}/runs.sqlite3"

    for command in (("run", "count files"), ("runs",), ("resume", "r1")):
        outcome = await demo.run(*command, env={"SPAKKY_SQLALCHEMY__URL": url})
        assert outcome.code == 6, outcome
        assert str(blocked) in outcome.require_one_line()


@pytest.mark.parametrize("url", ["mysql://u:secret@h/d", "postgresql://u:secret@127.0.0.1:1/d"])
async def test_a_store_that_cannot_be_used_is_told_without_its_password(
    demo: Demo, url: str
) -> None:
    outcome = await demo.run("runs", env={"SPAKKY_SQLALCHEMY__URL": url})

    assert outcome.code == 6, outcome
    assert "secret" not in outcome.require_one_line()


async def test_a_workspace_that_is_gone_is_told_and_another_one_may_be_named(demo: Demo) -> None:
    wrong = await demo.run("run", "list", "--workspace", str(demo.home / "nowhere"))
    await demo.run("run", "write hello to note.txt", "--id", "r1", "--workspace", "src")
    (demo.workspace / "src").rename(demo.workspace / "moved")
    gone = await demo.run("resume", "r1")
    moved = await demo.run("resume", "r1", "--workspace", "moved", "--yes")

    assert wrong.code == 2
    assert "nowhere" in wrong.require_one_line()
    assert gone.code == 2
    assert "--workspace" in gone.require_one_line()
    assert moved.code == 0, moved
    assert (demo.workspace / "moved" / "note.txt").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", " "),
        ("run", "list", "--id", " "),
        ("run", "list", "--model", "m"),
        ("run", "list", "--base-url", "http://127.0.0.1:1/v1"),
        ("run", "list", "--base-url", "ftp://h", "--model", "m"),
    ],
)
async def test_options_that_do_not_fit_are_refused(demo: Demo, arguments: tuple[str, ...]) -> None:
    outcome = await demo.run(*arguments)

    assert outcome.code == 2
    assert outcome.require_one_line()


async def test_a_lease_that_is_no_number_is_refused(demo: Demo) -> None:
    outcome = await demo.run("run", "list", env={"CODE_ASSISTANT_LEASE_SECONDS": "soon"})

    assert outcome.code == 2
    assert "CODE_ASSISTANT_LEASE_SECONDS" in outcome.require_one_line()


async def test_an_outcome_is_only_for_a_call_that_was_cut_off(demo: Demo) -> None:
    await demo.run("run", "write hello to note.txt", "--id", "r1")

    told = await demo.run("approve", "r1", "--outcome", "done already")
    other = await demo.run("approve", "r1", "--approval", "nothing")

    assert told.code == 2
    assert "--outcome" in told.require_one_line()
    assert other.code == 5
    assert "'nothing'" in other.require_one_line()
    assert demo.ledger == []


async def test_of_several_open_changes_one_must_be_named(demo: Demo) -> None:
    first = ChatCall("workspace_write", '{"path": "a.txt", "content": "a"}', "c1")
    second = ChatCall("workspace_write", '{"path": "b.txt", "content": "b"}', "c2")
    async with HttpModelServer([chat(first, second), chat("Both are decided.")]) as server:
        paused = await demo.run("run", "write both", "--id", "r1", *options(server))
        unnamed = await demo.run("approve", "r1")
        refused = await demo.run("reject", "r1", "--approval", "r1/call/1.1/approval")
        approved = await demo.run("approve", "r1", "--approval", "r1/call/1.2/approval")

    assert (paused.code, unnamed.code) == (3, 2)
    assert "r1/call/1.1/approval, r1/call/1.2/approval" in unnamed.require_one_line()
    assert refused.code == 3, refused
    assert approved.code == 0, approved
    assert demo.ledger == ["b.txt created"]
