"""Which column of a profile has its identifiers, and who says so."""

import itertools
from copy import copy

import pytest

from tests.builders.workspaces import (
    DATA,
    DEMO,
    EVENTS,
    GENERATED,
    JOBS,
    MANUAL,
    STR,
    TASKS,
    TORQ,
    chosen,
    handles,
    in_force,
    opened,
    read,
    warnings,
    with_torq,
)
from viewer.formats import open_file
from viewer.workspace.link_choices import Choices, apply
from viewer.workspace.workspace import Workspace


def test_words_of_a_record_link_by_themselves_in_any_order():
    for paths in itertools.permutations(
        [TORQ / EVENTS, *(DATA / "etrecord" / r for r in (STR, MANUAL))]
    ):
        workspace = Workspace()
        for path in paths:
            workspace.add(open_file(str(path)))
        assert in_force(workspace) == ("type", "evidence")
        assert chosen(workspace) == {EVENTS: STR}
        assert handles(workspace) == DEMO * 2
        assert warnings(workspace) == ""
        assert not workspace.is_explicit(workspace.traces[0])


@pytest.mark.parametrize(
    ("csv", "record", "column"), [(JOBS, MANUAL, "job_id"), (TASKS, GENERATED, "task_id")]
)
def test_numbers_are_proposed_and_link_once_they_are_chosen(csv, record, column):
    workspace = with_torq(csv, record)
    trace = workspace.traces[0]
    assert in_force(workspace) == (None, "nobody")
    assert chosen(workspace) == {csv: None}
    assert f"5 of the 5 values in column {column} of {csv}" in warnings(workspace)
    assert "Numbers can match by chance, so they were not linked" in warnings(workspace)
    assert [m.column for _, m in workspace.identifiers.candidates(trace, None)] == [column]
    workspace.identify(trace.path, column)
    assert in_force(workspace) == (column, "user")
    assert handles(workspace) == DEMO
    assert warnings(workspace) == ""
    assert workspace.is_explicit(workspace.traces[0])
    workspace.match_automatically(trace.path)
    assert workspace.traces == [trace]
    assert chosen(workspace) == {csv: None}


@pytest.mark.parametrize(
    ("csv", "record"),
    [
        (EVENTS, MANUAL), (EVENTS, GENERATED), (EVENTS, "cnn_teal_xnnpack.etrecord"), (JOBS, STR),
        (TASKS, STR), ("compile_c3_taskid.csv", STR), ("compile_c0_callsite.csv", STR),
        ("runtime_r1_nss_noloc.csv", MANUAL),
    ],
)  # fmt: skip
def test_false_pairs_stay_unlinked(csv, record):
    workspace = with_torq(csv, record)
    assert chosen(workspace) == {csv: None}
    assert in_force(workspace) == (None, "nobody")


def test_a_column_of_other_things_too_is_proposed_and_links_when_both_are_chosen():
    workspace = with_torq("demo_str_dma_c1.csv", STR)
    path = workspace.traces[0].path
    assert "5 of the 7 values in column type" in warnings(workspace)
    assert "chance" not in warnings(workspace)
    workspace.identify(path, "type")
    linked = [h for h in handles(workspace) if h]
    assert linked == DEMO  # the transfers are in no map


def test_what_an_mlir_text_says_of_the_slices_is_not_taken_from_them(tmp_path):
    """Locations that are found in a text mean something else, so words alone do not decide."""
    body = "module {\n  func.func @f() {\n" + "    %0 = tosa.abs %a\n" * 5 + "  }\n}\n"
    other, text = tmp_path / "other.mlir", tmp_path / "demo.mlir"
    other.write_text(body)
    text.write_text(body)
    workspace = with_torq(EVENTS, STR)
    workspace.add(open_file(str(other)))
    assert chosen(workspace) == {EVENTS: STR}
    workspace.add(open_file(str(text)))
    assert in_force(workspace) == (None, "nobody")
    assert chosen(workspace) == {EVENTS: "demo.mlir"}
    workspace.identify(workspace.traces[0].path, "type")
    assert chosen(workspace) == {EVENTS: STR}
    workspace.pair(workspace.traces[0].path, str(text))
    assert {x.reason.name for x in workspace.links(workspace.traces[0]).links} == {"BY_LOCATION"}


def test_a_choice_is_remembered_for_profiles_of_its_form():
    first = with_torq(JOBS, MANUAL)
    first.identify(first.traces[0].path, "job_id", remember=True)
    again = Workspace(first.choices.lasting)
    again.add(read(MANUAL))
    again.add(open_file(str(TORQ / JOBS)))
    assert in_force(again) == ("job_id", "memory")
    assert handles(again) == DEMO
    # Without a record that has any of its values a profile is what its file says.
    other = Workspace(first.choices.lasting)
    other.add(open_file(str(TORQ / JOBS)))
    assert in_force(other) == (None, "nobody")
    # A form with other columns is another one, and the choice can be taken back.
    other.add(read(MANUAL))
    other.match_automatically(other.traces[0].path)
    assert other.choices.remembered == {}
    assert in_force(other) == (None, "nobody")
    assert len(first.choices.remembered) == 1


def test_that_no_column_is_meant_is_remembered_too():
    first = with_torq(EVENTS, STR)
    first.identify(first.traces[0].path, None, remember=True)
    assert chosen(first) == {EVENTS: None}
    assert warnings(first) == ""
    first = Workspace(first.choices.lasting)
    first.add(open_file(str(TORQ / EVENTS)))
    first.add(read(STR))
    assert in_force(first) == (None, "memory")
    assert chosen(first) == {EVENTS: None}


def test_traces_are_the_same_objects_as_long_as_nothing_changed():
    workspace = with_torq(EVENTS, STR)
    shown = workspace.traces[0]
    table = workspace.links(shown)
    workspace.add(open_file(str(TORQ / TASKS)))
    assert workspace.traces[0] is shown
    copied = copy(workspace)
    copied.identify(shown.path, None)
    assert workspace.traces[0] is shown
    assert copied.traces[0] is not shown
    assert workspace.links(shown).links == table.links


def test_a_dump_says_itself_what_its_slices_are():
    workspace = opened("demo_str_x4.etdp", STR)
    trace, path = workspace.traces[0], workspace.traces[0].path
    linked = workspace.links(trace).program
    assert workspace.identifiers.candidates(trace, linked) == []
    with pytest.raises(ValueError, match="already have operator IDs"):
        workspace.identify(path, "name")


def test_columns_of_a_command_line():
    workspace = with_torq(JOBS, MANUAL)
    workspace.add(open_file(str(TORQ / TASKS)))
    jobs, tasks = (t.path for t in workspace.traces)
    assert apply(Choices(columns=((None, "job_id"), (tasks, "task_id"))), workspace) == []
    assert [workspace.identifiers.column(t).column for t in workspace.traces] == [
        "job_id",
        "task_id",
    ]
    assert apply(Choices(columns=((None, ""),)), workspace) == []
    assert [workspace.identifiers.column(t).column for t in workspace.traces] == [None, None]
    assert apply(Choices(columns=((None, "nope"),)), workspace) == [
        "--identifier-column nope: no open profile has such a column; the columns are job_id, "
        "name, event, location, task_id"
    ]
    (complaint,) = apply(Choices(columns=((jobs, "event"),)), workspace)
    assert complaint.endswith(
        "has no column 'event' of texts or whole numbers; it has job_id, name"
    )
    (complaint,) = apply(Choices(columns=(("gone.csv", "event"),)), workspace)
    assert complaint == "--identifier-column gone.csv=event: gone.csv is not an open profile"
