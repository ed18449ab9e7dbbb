"""Which inferences of its profiles an arm has."""

import pytest

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.workspace.comparison_arms import RunChoice, all_of, of_method, of_numbers, of_scope
from viewer.workspace.workspace import Workspace

METHODS = DATA / "compare/16_methods_swapped"


@pytest.fixture
def linked():
    return workspace_of(METHODS / "a.etdp", METHODS / "a.etrecord")


def numbers(workspace: Workspace, choice: RunChoice) -> list[tuple[str, int]]:
    """The names and numbers of the inferences that a choice includes."""
    trace = workspace.traces[0]
    table = workspace.links(trace)
    runs = [run for run in trace.inferences() if choice.includes(table, run)]
    return [(trace.scopes[run.scope].name, run.number) for run in runs]


def test_numbers_are_those_of_every_method(linked):
    choice = of_numbers(linked, {2, 3})
    assert (choice.words, choice.warm_up) == ("inferences 2 to 3", True)
    assert {number for _, number in numbers(linked, choice)} == {2, 3}
    assert of_numbers(linked, {4}).words == "inference 4"


def test_many_numbers_are_named_by_their_ranges(linked):
    assert of_numbers(linked, {9, 4, 5, 6}).words == "inferences 4 to 6 and 9"
    assert of_numbers(linked, {1, 3, 4, 8}).words == "inferences 1, 3 to 4 and 8"
    assert of_numbers(linked, {1, 3, 5, 7}).words == "4 chosen inferences"


def test_a_number_in_one_scope_is_of_its_method(linked):
    choice = of_scope(linked, [linked.traces[0].path], {2}, "Execute 2")
    assert (choice.words, choice.method) == ("inference 2 of decode", "decode")
    assert numbers(linked, choice) == [("Execute 2", 2)]


def test_a_method_has_its_name_and_that_of_its_runs(linked):
    choice = of_method(linked, "encode")
    runs = numbers(linked, choice)
    assert len(runs) == 5
    of_name = of_method(linked, runs[0][0])
    assert (of_name.method, of_name.words) == ("encode", "method encode")
    assert numbers(linked, of_name) == runs


def test_unknown_methods_are_an_error_that_lists_the_methods(linked):
    with pytest.raises(ValueError, match="'x'; the methods are: decode, encode"):
        of_method(linked, "x")
    with pytest.raises(ValueError, match="the methods are: none"):
        of_method(Workspace(), "x")


def test_runs_of_two_methods_are_ambiguous(linked):
    path = linked.traces[0].path
    runs = numbers(linked, of_method(linked, "encode"))
    linked.choose_method(path, runs[0][0], "decode", (1, 2))
    with pytest.raises(ValueError, match="is decode and encode; name one of them"):
        of_method(linked, runs[0][0])


def test_all_of_several_choices(linked):
    both = all_of([of_numbers(linked, {2}), of_method(linked, "decode")])
    assert both is not None
    assert len(numbers(linked, both)) == 1
    assert (both.words, both.method) == ("inference 2, method decode", "decode")
    assert all_of([]) is None
