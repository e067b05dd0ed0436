"""Controllers of a container as one command line: parsing is Typer's, instances are the container's."""

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator, Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pytest
import typer
from spakky.core.application.application import SpakkyApplication
from spakky.core.pod.annotations.pod import Pod
from spakky.core.stereotype.usecase import UseCase
from typer.testing import CliRunner

from spakky.plugins.typer import (
    CliApplication,
    CliController,
    CliDefinitionError,
    CliSettings,
    ErrorExit,
    command,
    run_cli,
)

type Applications = Callable[..., SpakkyApplication]


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class GreetingError(Exception):
    pass


@UseCase()
class Greeter:
    """Something that commands need, which streams."""

    async def greet(self, name: str) -> AsyncGenerator[str]:
        for word in ("hello", name):
            await asyncio.sleep(0)
            yield word


@CliController(help="Never shown, since there is no group.")
class Root:
    def __init__(self, greeter: Greeter) -> None:
        self._greeter = greeter
        self._calls = 0

    @command()
    async def greet(self, name: Annotated[str, typer.Argument(help="Who it is.")]) -> None:
        """Greet somebody."""
        async for word in self._greeter.greet(name):
            typer.echo(word)

    @command()
    def count(self) -> None:
        self._calls += 1
        typer.echo(self._calls)

    @command()
    def paint(
        self,
        path: Annotated[Path, typer.Argument()],
        colour: Annotated[Colour, typer.Option("--colour", "-c")] = Colour.RED,
        *,
        dry: bool = False,
        ctx: typer.Context,
    ) -> None:
        typer.echo(f"{path!r} {colour!r} {dry} {ctx.info_name}")

    @command(name="say", help="Another help.", epilog="The end.")
    def speak(self, words: list[str], times: "int" = 1) -> None:
        typer.echo(" ".join(words * times))


@CliController("tools", help="Tools.")
class FirstTools:
    @command()
    def fail(self) -> None:
        message = "no greeting"
        raise GreetingError(message)

    @command()
    async def fail_late(self) -> None:
        await asyncio.sleep(0)
        raise GreetingError

    @command()
    async def stop(self) -> None:
        raise typer.Exit(5)

    @command()
    async def end(self, code: Annotated[str, typer.Argument()] = "") -> None:
        raise SystemExit(int(code) if code.isdigit() else code or None)

    @command()
    async def give_up(self) -> None:
        raise asyncio.CancelledError

    @command()
    def wrong(self) -> None:
        message = "too long"
        raise typer.BadParameter(message)

    @command()
    def pipe(self) -> None:
        message = "a pipe of its own"
        raise BrokenPipeError(message)

    @command()
    def ask(self) -> None:
        typer.confirm("Go on?", abort=True)


@CliController("tools", help="A help that comes second.")
class SecondTools:
    @command()
    def more(self) -> None:
        typer.echo("more")


@Pod(name="tests.greeting_exit")
def greeting_exit() -> ErrorExit:
    return ErrorExit(GreetingError, 44)


@pytest.fixture
def cli(started: Applications) -> CliApplication:
    application = started(Greeter, Root, FirstTools, SecondTools, greeting_exit)
    return application.container.get(CliApplication)


@pytest.fixture
def invoke(cli: CliApplication) -> Callable[..., tuple[int, str]]:
    def call(*args: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli.typer_app, args)
        return result.exit_code, result.output

    return call


type Invoke = Callable[..., tuple[int, str]]


@pytest.mark.requirement("WEB-1", "WEB-2")
def test_an_async_command_uses_what_was_injected(invoke: Invoke) -> None:
    assert invoke("greet", "you") == (0, "hello\nyou\n")


def test_a_command_gets_the_same_controller_each_time(invoke: Invoke) -> None:
    assert invoke("count") == (0, "1\n")
    assert invoke("count") == (0, "2\n")


def test_parameters_are_parsed_as_typer_parses_them(invoke: Invoke) -> None:
    code, output = invoke("paint", "a/b", "-c", "blue", "--dry")
    assert (code, output) == (0, f"{Path('a/b')!r} {Colour.BLUE!r} True paint\n")
    assert invoke("say", "a", "b", "--times", "2") == (0, "a b a b\n")
    assert invoke("paint", "a", "-c", "green")[0] == 2


def test_help_shows_what_typer_shows_of_a_function(invoke: Invoke) -> None:
    output = invoke("greet", "--help")[1]
    assert "Greet somebody." in output
    assert "Who it is." in output
    assert "self" not in output
    output = invoke("say", "--help")[1]
    assert "Another help." in output
    assert "The end." in output
    output = invoke("paint", "--help")[1]
    assert "ctx" not in output


def test_controllers_of_one_group_share_it(invoke: Invoke) -> None:
    output = invoke("tools", "--help")[1]
    assert "Tools." in output
    assert "second" not in output
    assert invoke("tools", "more") == (0, "more\n")


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (("fail",), 44, "Error: no greeting\n"),
        (("fail-late",), 44, "Error: unexpected GreetingError"),
        (("stop",), 5, ""),
        (("end",), 0, ""),
        (("end", "6"), 6, ""),
        (("give-up",), 1, "Error: unexpected RuntimeError: The command was cancelled from within."),
        (("pipe",), 1, "Error: unexpected BrokenPipeError: a pipe of its own"),
        (("wrong",), 2, "too long"),
        (("ask",), 1, "Aborted"),
        (("unknown",), 2, "No such command"),
        ((), 2, "Usage"),
    ],
)
def test_each_end_of_a_command_has_its_code(
    invoke: Invoke, args: tuple[str, ...], code: int, told: str
) -> None:
    assert invoke("tools", *args)[0] == code
    assert told in invoke("tools", *args)[1]


def test_run_gives_the_exit_code_and_leaves_the_container_started(
    cli: CliApplication, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["tools", "more"]) == 0
    assert cli.run(["tools", "fail"]) == 44
    assert cli.run(["tools", "unknown"]) == 2
    assert cli.run(["tools", "end"]) == 0
    assert cli.run(["tools", "end", "last words"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "more\n"
    assert "Error: no greeting\n" in captured.err
    assert captured.err.endswith("last words\n")


def test_run_reads_the_arguments_of_the_process(
    cli: CliApplication, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["prog", "count"])
    assert cli.run() == 0
    assert capsys.readouterr().out == "1\n"


@pytest.mark.parametrize("variable", [None, "1"])
def test_debug_is_an_option_or_a_variable(
    cli: CliApplication,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str | None,
) -> None:
    if variable is not None:
        monkeypatch.setenv("SPAKKY_TYPER__DEBUG", variable)
    options = [] if variable else ["--debug"]
    assert cli.run([*options, "tools", "fail"]) == 44
    assert "Traceback" in capsys.readouterr().err


def test_settings_may_be_a_pod(started: Applications) -> None:
    @Pod(name="tests.settings")
    def settings() -> CliSettings:
        return CliSettings("the-program", help="All about it.", add_completion=False)

    application = started(Greeter, Root, settings).container.get(CliApplication)
    output = CliRunner().invoke(application.typer_app, ["--help"], prog_name="the-program").output
    assert "All about it." in output
    assert "the-program" in output
    assert "completion" not in output


def test_a_single_command_keeps_its_name(started: Applications) -> None:
    class Single:
        @command()
        def only(self) -> None:
            typer.echo("only")

    cli = started(CliController()(Single)).container.get(CliApplication)
    assert CliRunner().invoke(cli.typer_app, ["only"]).output == "only\n"


def test_each_invocation_of_an_async_command_has_a_loop_of_its_own(started: Applications) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    class Looping:
        @command()
        async def loop(self) -> None:
            loops.append(asyncio.get_running_loop())
            assert await asyncio.to_thread(threading.current_thread) is not None

    cli = started(CliController()(Looping)).container.get(CliApplication)
    assert (cli.run(["loop"]), cli.run(["loop"])) == (0, 0)
    assert loops[0] is not loops[1]
    assert all(loop.is_closed() for loop in loops)


def test_a_prototype_is_made_anew_for_each_command(started: Applications) -> None:
    class Counting:
        def __init__(self) -> None:
            self.calls = 0

        @command()
        def count(self) -> None:
            self.calls += 1
            typer.echo(self.calls)

    cli = started(CliController(scope=Pod.Scope.PROTOTYPE)(Counting)).container.get(CliApplication)
    runner = CliRunner()
    outputs = [runner.invoke(cli.typer_app, ["count"]).output for _ in range(2)]
    assert outputs == ["1\n", "1\n"]


def test_equal_commands_of_two_controllers_are_refused(started: Applications) -> None:
    class Other:
        @command()
        def more(self) -> None: ...

    cli = started(SecondTools, CliController("tools")(Other)).container.get(CliApplication)
    with pytest.raises(CliDefinitionError, match="'more' of group 'tools'"):
        _ = cli.typer_app


def test_an_application_without_controllers_is_refused(started: Applications) -> None:
    with pytest.raises(CliDefinitionError, match="No @CliController"):
        started().container.get(CliApplication).run([])


def test_an_application_of_no_container_is_refused() -> None:
    with pytest.raises(CliDefinitionError, match="started container"):
        CliApplication().run([])


def test_an_application_is_started_for_a_command_and_stopped_after_it(
    new_application: Applications, capsys: pytest.CaptureFixture[str]
) -> None:
    application = new_application(Greeter, Root)
    assert run_cli(application, ["greet", "you"]) == 0
    assert capsys.readouterr().out == "hello\nyou\n"
    assert not application.application_context.is_started
    assert run_cli(application, ["greet", "you"]) == 1
    assert "stopped" in capsys.readouterr().err


def test_an_application_that_runs_is_used_as_it_is(started: Applications) -> None:
    application = started(Greeter, Root, FirstTools, greeting_exit)
    assert run_cli(application, ["count"]) == 0
    assert run_cli(application, ["tools", "fail"], CliSettings("p")) == 44
    assert application.application_context.is_started


def test_a_command_may_run_in_a_thread_that_gets_no_signals(cli: CliApplication) -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(cli.run(["tools", "fail-late"])))
    thread.start()
    thread.join(30)
    assert codes == [44]


def test_a_handler_of_the_application_keeps_its_signal(cli: CliApplication) -> None:
    def own(_number: int, _frame: object) -> None: ...

    before = signal.signal(signal.SIGINT, own)
    try:
        assert cli.run(["tools", "stop"]) == 5
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)
