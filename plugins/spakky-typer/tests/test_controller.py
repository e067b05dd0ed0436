"""The stereotype: what it makes of a class, and which classes it refuses."""

import pytest
from spakky.core.pod.annotations.pod import Pod
from spakky.core.stereotype.controller import Controller

from spakky.plugins.typer import CliController, CliDefinitionError, command


class Shared:
    @command()
    def status(self) -> None: ...


@pytest.mark.requirement("WEB-1")
def test_a_controller_is_a_pod_and_a_controller() -> None:
    @CliController("jobs", help="Jobs.", scope=Pod.Scope.PROTOTYPE)
    class Jobs(Shared):
        pass

    mark = CliController.get(Jobs)
    assert Pod.get(Jobs) is mark
    assert Controller.get(Jobs) is mark
    assert (mark.group, mark.help, mark.scope) == ("jobs", "Jobs.", Pod.Scope.PROTOTYPE)
    assert [function.__name__ for function, _ in mark.commands] == ["status"]


def test_pods_of_equal_class_names_have_names_of_their_own() -> None:
    def make() -> type:
        class Jobs(Shared):
            pass

        return CliController()(Jobs)

    class Jobs(Shared):
        pass

    assert CliController.get(make()).name != CliController.get(CliController()(Jobs)).name


def test_a_class_without_commands_is_refused() -> None:
    class Empty:
        pass

    with pytest.raises(CliDefinitionError, match="Empty has no method marked with @command"):
        CliController()(Empty)


def test_two_commands_of_one_name_are_refused() -> None:
    class Twice(Shared):
        @command("status")
        def other(self) -> None: ...

    with pytest.raises(CliDefinitionError, match="the command 'status' twice"):
        CliController()(Twice)


def test_a_class_that_inherits_from_a_pod_is_refused_and_the_pod_stays_usable() -> None:
    @CliController()
    class Parent(Shared):
        pass

    class Child(Parent):
        pass

    with pytest.raises(CliDefinitionError, match="plain base class"):
        CliController()(Child)
    with pytest.raises(CliDefinitionError, match="plain base class"):
        CliController()(Parent)
    assert CliController.get(Parent).type_ is Parent


def test_only_classes_can_be_controllers() -> None:
    def function() -> None: ...

    with pytest.raises(CliDefinitionError, match="must be applied to a class"):
        CliController()(function)


def test_a_blank_group_is_refused() -> None:
    with pytest.raises(CliDefinitionError, match="must not be blank"):
        CliController(" ")
