"""Real processes: their exit codes, what they write, and what a signal does to them."""

import signal
import subprocess
from collections.abc import Callable

import pytest

type Program = Callable[..., subprocess.Popen[str]]

END_SECONDS = 30

JOBS = """
class MyError(Exception):
    pass

@Pod(name="exits")
def exits() -> ErrorExit:
    return ErrorExit(MyError, 7)

@CliController("jobs")
class Jobs:
    @command()
    def good(self, name: str, times: int = 1):
        say(" ".join([name] * times))
    @command()
    def bad(self):
        raise ValueError("first\\nsecond")
    @command()
    def known(self):
        raise MyError("told")
    @command()
    def leave(self):
        raise typer.Exit(9)
    @command()
    def pipe(self):
        raise BrokenPipeError("not the output")
    @command()
    def shout(self, through: bool = False):
        sys.stdout.reconfigure(write_through=through)
        for _ in range(100000):
            print("line")

go(Jobs, exits)
"""


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for the end of a process; gives its exit code, output and errors."""
    stdout, stderr = process.communicate(timeout=END_SECONDS)
    return process.returncode, stdout, stderr


def next_line(process: subprocess.Popen[str]) -> str:
    """Give the next line that a process writes."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.requirement("WEB-1")
def test_a_command_that_ends_exits_with_0(program: Program) -> None:
    assert end(program(JOBS, "jobs", "good", "a", "--times", "2")) == (0, "a a\n", "")


def test_wrong_usage_exits_with_2(program: Program) -> None:
    code, stdout, stderr = end(program(JOBS, "jobs", "good"))
    assert (code, stdout) == (2, "")
    assert "Missing argument" in stderr


def test_an_error_exits_with_1_and_one_line(program: Program) -> None:
    code, _, stderr = end(program(JOBS, "jobs", "bad"))
    assert code == 1
    assert stderr.count("\n") == 1
    assert "unexpected ValueError: first second" in stderr


def test_debug_shows_where_an_error_comes_from(program: Program) -> None:
    code, _, stderr = end(program(JOBS, "--debug", "jobs", "bad"))
    assert code == 1
    assert "Traceback" in stderr
    assert "in bad" in stderr


def test_an_error_with_a_code_exits_with_it(program: Program) -> None:
    assert end(program(JOBS, "jobs", "known")) == (7, "", "Error: told\n")


def test_a_command_may_choose_its_exit_code(program: Program) -> None:
    assert end(program(JOBS, "jobs", "leave")) == (9, "", "")


@pytest.mark.parametrize("option", ["--through", "--no-through"])
def test_a_reader_that_goes_away_ends_the_process_quietly(program: Program, option: str) -> None:
    process = program(JOBS, "jobs", "shout", option)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "line\n"
    process.stdout.close()
    assert process.wait(END_SECONDS) == 1
    assert process.stderr.read() == ""


def test_another_broken_pipe_is_an_error_like_any_other(program: Program) -> None:
    code, _, stderr = end(program(JOBS, "jobs", "pipe"))
    assert code == 1
    assert "unexpected BrokenPipeError: not the output" in stderr


WAITING = """
@Pod(name="service")
class Service:
    pass

@CliController()
class Waiting:
    def __init__(self, service: Service):
        self.service = service
    @command()
    async def soft(self):
        try:
            say("ready")
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            say("cleaned")
    @command()
    async def hard(self):
        while True:
            try:
                say("ready")
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                pass
    @command()
    async def twice(self):
        def interrupt_twice():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        asyncio.get_running_loop().call_soon(interrupt_twice)
        await asyncio.Event().wait()
    @command()
    async def thread(self):
        say("ready")
        await asyncio.to_thread(threading.Event().wait)
    @command()
    async def breaking(self):
        try:
            say("ready")
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ValueError("broken clean-up") from None
    @command()
    def plain(self):
        try:
            say("ready")
            threading.Event().wait()
        finally:
            say("cleaned")
    @command()
    def question(self):
        say("ready")
        typer.prompt("Name")
    @command()
    async def stream(self):
        say("first")
        sys.stdin.readline()
        say("second")

go(Service, Waiting, settings=CliSettings(cleanup_seconds=0.5))
"""


def interrupt(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait until a process is ready, interrupt it, and wait for its end."""
    assert next_line(process) == "ready"
    process.send_signal(signal.SIGINT)
    return end(process)


@pytest.mark.parametrize("command", ["soft", "plain"])
def test_an_interrupt_lets_a_command_clean_up_and_exits_with_130(
    program: Program, command: str
) -> None:
    assert interrupt(program(WAITING, command)) == (130, "cleaned\n", "Interrupted.\n")


@pytest.mark.parametrize("command", ["hard", "thread"])
def test_what_does_not_end_after_an_interrupt_is_abandoned(program: Program, command: str) -> None:
    code, _, stderr = interrupt(program(WAITING, command))
    assert code == 130
    assert stderr == "Interrupted; the command did not end within 0.5 seconds.\n"


def test_a_second_interrupt_ends_at_once(program: Program) -> None:
    body = WAITING.replace("cleanup_seconds=0.5", "cleanup_seconds=600")
    process = program(body, "hard")
    assert next_line(process) == "ready"
    process.send_signal(signal.SIGINT)
    assert next_line(process) == "ready"
    process.send_signal(signal.SIGINT)
    code, _, stderr = end(process)
    assert code == 130
    assert stderr.startswith("Interrupted")
    assert "Traceback" not in stderr


def test_a_second_interrupt_ends_a_waiting_loop(program: Program) -> None:
    code, _, stderr = end(program(WAITING, "twice"))
    assert code == 130
    assert stderr.startswith("Interrupted; the command did not end")


def test_an_interrupted_prompt_exits_with_130(program: Program) -> None:
    code, _, stderr = interrupt(program(WAITING, "question"))
    assert code == 130
    assert "Traceback" not in stderr


def test_a_clean_up_that_fails_is_shown_under_debug(program: Program) -> None:
    assert interrupt(program(WAITING, "breaking"))[::2] == (130, "Interrupted.\n")
    code, _, stderr = interrupt(program(WAITING, "--debug", "breaking"))
    assert code == 130
    assert "ValueError: broken clean-up" in stderr
    assert stderr.endswith("Interrupted.\n")


@pytest.mark.requirement("WEB-4")
def test_output_is_seen_while_the_command_runs(program: Program) -> None:
    process = program(WAITING, "stream")
    assert next_line(process) == "first"
    assert process.poll() is None
    assert end(process) == (0, "second\n", "")


LIFE = """
from spakky.core.service.interfaces.service import IService

@Pod(name="life")
class Life(IService):
    def set_stop_event(self, stop_event): pass
    def start(self): say("start")
    def stop(self):
        say("stop")
        if "late" in sys.argv:
            raise ValueError("no stop")

@CliController()
class Commands:
    @command()
    def late(self): say("late")
    @command()
    def broken(self, late: str = ""): raise KeyError("broken")

go(Life, Commands)
"""


def test_the_application_lives_around_the_command(program: Program) -> None:
    code, stdout, _ = end(program(LIFE, "broken"))
    assert (code, stdout) == (1, "start\nstop\n")


def test_help_needs_no_start(program: Program) -> None:
    code, stdout, _ = end(program(LIFE, "late", "--help"))
    assert code == 0
    assert "start" not in stdout


def test_a_stop_that_fails_is_an_error_of_its_own_or_a_note(program: Program) -> None:
    assert end(program(LIFE, "late"))[2].startswith("Error: unexpected ValueError: no stop")
    code, _, stderr = end(program(LIFE, "--debug", "broken", "--late", "late"))
    assert code == 1
    assert stderr.splitlines()[-1].startswith("Error: unexpected KeyError: 'broken'")
    assert "Stopping the application failed too: ValueError('no stop')" in stderr


START = """
class StartError(Exception):
    pass

@Pod(name="broken")
class Broken:
    def __init__(self):
        if "deaf" in sys.argv:
            signal.raise_signal(signal.SIGINT)
        raise StartError("no start")

@CliController()
class Commands:
    def __init__(self, broken: Broken): pass
    @command()
    def one(self): say("never")
    @command()
    def deaf(self): say("never")

go(Broken, Commands, settings=CliSettings(error_exits=(ErrorExit(StartError, 78),)))
"""


def test_an_application_that_does_not_start_is_told_in_a_line(program: Program) -> None:
    assert end(program(START, "one")) == (78, "", "Error: no start\n")


def test_an_interrupt_while_the_application_starts_exits_with_130(program: Program) -> None:
    assert end(program(START, "deaf")) == (130, "", "Interrupted.\n")


def test_an_application_without_commands_is_told_in_a_line(program: Program) -> None:
    code, _, stderr = end(program("go()\n", "one"))
    assert code == 1
    assert stderr.startswith("Error: No @CliController class is registered;")


@pytest.mark.requirement("PKG-13")
def test_the_plugin_does_not_import_the_agent_package(program: Program) -> None:
    body = """
import spakky.plugins.typer.main
say([name for name in sys.modules if name.startswith("spakky.agent")])
"""
    assert end(program(body)) == (0, "[]\n", "")
