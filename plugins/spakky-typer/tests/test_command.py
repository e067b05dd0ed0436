"""The mark of a command: what may bear it, and how the commands of a class are found."""

from collections.abc import AsyncGenerator, Generator

import pytest

from spakky.plugins.typer import CliDefinitionError, command
from spakky.plugins.typer.command import command_name, find_commands


def names(owner: type) -> list[str]:
    return [command_name(function, mark) for function, mark in find_commands(owner)]


def test_commands_keep_the_order_of_their_definition() -> None:
    class Owner:
        @command()
        def second_one(self) -> None: ...

        @command("given")
        def first(self) -> None: ...

        def helper(self) -> None: ...

        @command()
        async def Third(self) -> None: ...  # noqa: N802  # the name's case is what is tested

    assert names(Owner) == ["second-one", "given", "third"]


def test_commands_of_a_plain_base_are_inherited_unless_they_are_overridden() -> None:
    class Base:
        @command()
        def kept(self) -> None: ...

        @command()
        def hidden(self) -> None: ...

        @command("old")
        def renamed(self) -> None: ...

    class Owner(Base):
        def hidden(self) -> None: ...

        @command("new")
        def renamed(self) -> None: ...

    assert names(Owner) == ["kept", "new"]
    assert names(Base) == ["kept", "hidden", "old"]


def test_a_marked_method_is_still_itself() -> None:
    def method(self: object, name: str) -> str:
        return name

    assert command()(method) is method


def test_options_are_kept_as_typer_spells_them() -> None:
    class Owner:
        @command(help="h", hidden=True, rich_help_panel="p", options_metavar="[o]")
        def one(self) -> None: ...

        @command(context_settings={"allow_extra_args": True})
        def two(self) -> None: ...

    (_, first), (_, second) = find_commands(Owner)
    assert first.options["help"] == "h"
    assert first.options["hidden"] is True
    assert (first.options["rich_help_panel"], first.options["options_metavar"]) == ("p", "[o]")
    assert second.options["context_settings"] == {"allow_extra_args": True}
    assert "rich_help_panel" not in second.options


def test_only_methods_bear_the_mark() -> None:
    def bare() -> None: ...

    with pytest.raises(CliDefinitionError, match="self"):
        command()(bare)
    with pytest.raises(CliDefinitionError, match="not to a type"):
        command()(int)
    with pytest.raises(CliDefinitionError, match="not to a staticmethod"):
        command()(staticmethod(bare))


def test_generators_are_refused() -> None:
    def plain(self: object) -> Generator[int]:
        yield 1

    async def streaming(self: object) -> AsyncGenerator[int]:
        yield 1

    for method in (plain, streaming):
        with pytest.raises(CliDefinitionError, match="generator"):
            command()(method)


def test_parameters_without_a_place_on_a_command_line_are_refused() -> None:
    def many(self: object, *names: str) -> None: ...

    def open_ended(self: object, **values: str) -> None: ...

    def by_place(self: object, name: str, /) -> None: ...

    for method, told in (
        (many, r"\*args"),
        (open_ended, r"\*\*kwargs"),
        (by_place, "positional-only"),
    ):
        with pytest.raises(CliDefinitionError, match=told):
            command()(method)
