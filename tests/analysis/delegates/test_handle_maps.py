"""Handle maps: what is registered beside what is logged, and whose handles nobody stands for."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.builders.delegation_cases import DATA, DUMPS, linked, name_of, ranges, spans, within
from tests.builders.etdump_writer import delegate, framework, operator
from viewer.analysis.delegates.delegation import Delegation
from viewer.analysis.delegates.handle_maps import HandleMaps, IdentifierStatus, recorded_rows
from viewer.analysis.links.linker import link, unlinked
from viewer.formats import open_file
from viewer.model.figures import TimeScope
from viewer.model.trace import KeyKind
from viewer.program.debug_handles import DelegateMap
from viewer.program.program import GraphNode, Method, Operator, Program


def statuses(rows):
    return {row.identifier or f"handle {row.handles[0]}": row.status for row in rows}


@pytest.mark.parametrize("pair", DUMPS, ids=map(name_of, DUMPS))
def test_the_times_of_identifiers_are_what_events_account_for(pair):
    """Against the events themselves, one by one."""
    table = linked(*pair)
    trace, maps, delegation = table.trace, HandleMaps(table), Delegation(table)
    events = spans(trace, KeyKind.DELEGATE_EVENT)
    for first, last in ranges(trace):
        rows = maps.rows(TimeScope(ticks=(first, last)))
        assert sum(row.ticks for row in rows) == within(events, first, last)
        of_calls = [row for row in rows if row.status is not IdentifierStatus.OUTSIDE_CALLS]
        report = delegation.report(TimeScope(ticks=(first, last)))
        assert sum(row.ticks for row in of_calls) == sum(x.covered for x in report.instances)
        assert sum(row.slices for row in of_calls) == sum(x.events for x in report.instances)


@pytest.mark.parametrize("pair", DUMPS, ids=map(name_of, DUMPS))
def test_every_event_is_in_one_row(pair):
    table = linked(*pair)
    kind = table.trace.keys.kind
    keys = Counter(key for row in HandleMaps(table).rows() for key in row.keys)
    assert keys == Counter(k for k in range(len(kind)) if kind[k] == KeyKind.DELEGATE_EVENT)


def test_text_identifiers():
    rows = HandleMaps(linked(*DUMPS[1])).rows()
    assert statuses(rows) == {
        "Fancy Fusion": IdentifierStatus.LOGGED,
        "Fancy Fusion 2": IdentifierStatus.LOGGED,
        "sin:0;a=b": IdentifierStatus.LOGGED,
        "cos/1": IdentifierStatus.LOGGED,
        "div": IdentifierStatus.LOGGED,
        "not in map": IdentifierStatus.NOT_REGISTERED,
        "DEMO_INIT": IdentifierStatus.OUTSIDE_CALLS,
    }
    assert [(row.handles, row.slices) for row in rows[:2]] == [((1, 2), 4), ((3, 4), 4)]
    assert rows[0].operators == (0, 1)


def test_numbers_that_are_parts_of_each_other_stay_apart():
    rows = {row.identifier: row for row in HandleMaps(linked(*DUMPS[2])).rows()}
    assert (rows["10"].handles, rows["1"].handles, rows["0"].handles) == ((1, 2), (3, 4), (5,))
    assert rows["9999"].status is IdentifierStatus.NOT_REGISTERED
    assert "which is not in its debug handle map" in rows["9999"].detail


def test_of_a_backend_without_a_map_every_handle_is_uncovered():
    rows = HandleMaps(linked(*DUMPS[4])).rows()
    found = Counter((row.instruction, row.status) for row in rows)
    assert found == {
        (0, IdentifierStatus.NOT_REGISTERED): 3, (0, IdentifierStatus.UNCOVERED): 3,
        (2, IdentifierStatus.NOT_REGISTERED): 3, (2, IdentifierStatus.UNCOVERED): 2,
        (4, IdentifierStatus.NOT_REGISTERED): 2, (4, IdentifierStatus.UNCOVERED): 2,
    }  # fmt: skip
    assert {row.detail for row in rows} == {"XnnpackBackend wrote no debug handle map"}


def test_what_a_run_did_not_log_another_may_have():
    """How an identifier stands is of all runs; its time is of the asked one."""
    table = linked(*DUMPS[1])
    maps = HandleMaps(table)
    load = next(run for run in table.trace.runs if run.kind == 0)
    rows = maps.rows(TimeScope(load))
    assert statuses(rows)["div"] is IdentifierStatus.LOGGED
    assert {row.identifier for row in rows if row.ticks} == {"DEMO_INIT"}


MADE = Program(
    "record", "ETRecord", "",
    (
        Method(
            "forward",
            tuple(
                Operator(i, "forward", i + 1, (GraphNode("n", "aten.relu.default", i + 1),))
                for i in range(4)
            ),
            handles={0: (1, 2, 3), 1: (4,)},
            delegates={
                0: DelegateMap("Npu", {"a": (1,), "b": (2,), "odd": (9,), "other": (4,), "e": ()}),
                1: DelegateMap("Npu", {"a": (4,)}),
            },
        ),
    ),
)  # fmt: skip


@pytest.fixture
def made(dump):
    """A run in which the first call logs "a" and "new", and the second is not called."""
    events = [
        delegate("a", 0, 0, 4), delegate("new", 0, 5, 7), operator("DELEGATE_CALL", 0, 0, 10),
        framework("Method::execute", 0, 12),
    ]  # fmt: skip
    return link(open_file(str(dump(("Execute", events)))), MADE)


def test_registered_and_never_logged_logged_and_not_registered_and_uncovered(made):
    first = [row for row in HandleMaps(made).rows() if row.instruction == 0]
    assert statuses(first) == {
        "a": IdentifierStatus.LOGGED,
        "b": IdentifierStatus.NEVER_LOGGED,
        "odd": IdentifierStatus.NEVER_LOGGED,
        "other": IdentifierStatus.NEVER_LOGGED,
        "e": IdentifierStatus.NEVER_LOGGED,
        "new": IdentifierStatus.NOT_REGISTERED,
        "handle 3": IdentifierStatus.UNCOVERED,
    }
    assert {row.identifier: row.ticks for row in first if row.ticks} == {"a": 4, "new": 2}


def test_an_instance_that_was_not_called_did_not_fail_to_log(made):
    (second,) = [row for row in HandleMaps(made).rows() if row.instruction == 1]
    assert (second.identifier, second.status) == ("a", IdentifierStatus.NOT_RUN)


def test_what_is_wrong_with_the_handles_of_an_entry_is_said(made):
    detail = {r.identifier: r.detail for r in HandleMaps(made).rows() if r.instruction == 0}
    assert detail["odd"] == "The ETRecord's graph has no operator with debug handle 9"
    assert detail["other"] == "The call does not have debug handle 4"
    assert detail["e"] == "The map gives it no debug handle"
    assert detail["a"] == ""


def test_a_record_alone_has_its_entries_and_what_none_of_them_covers():
    rows = recorded_rows(MADE)
    assert [row.instruction for row in rows] == [0] * 6 + [1]
    assert {row.status for row in rows} == {IdentifierStatus.NOT_RUN, IdentifierStatus.UNCOVERED}


def test_without_a_record_nothing_is_called_unregistered():
    trace = open_file(str(DATA / "etdump/demo_str_x4.etdp"))
    rows = HandleMaps(unlinked(trace)).rows()
    assert {row.status for row in rows} == {
        IdentifierStatus.NO_RECORD,
        IdentifierStatus.OUTSIDE_CALLS,
    }


def test_totals_of_a_call_are_not_missing_from_a_map():
    rows = HandleMaps(linked(*DUMPS[-1])).rows()
    total = next(row for row in rows if "execute" in row.identifier)
    assert (total.status, total.has_time, total.foreign) == (
        IdentifierStatus.WHOLE_CALL,
        False,
        1,
    )


def test_where_the_method_is_not_decided_nothing_is_called_never_logged():
    table = linked(*DUMPS[8])
    method = table.program.methods[0]
    filled = {0: DelegateMap("XnnpackBackend", {"x": (1,)})}
    program = replace(
        table.program, methods=(replace(method, delegates=filled), *table.program.methods[1:])
    )
    rows = HandleMaps(replace(table, program=program)).rows()
    row = next(row for row in rows if row.identifier == "x")
    assert row.status is IdentifierStatus.UNCLEAR
    assert "choose it under Links" in row.detail


# -- debug handle map files ------------------------------------------------------------------------


def map_file(**calls: dict) -> Program:
    """A debug handle map of `forward`: any={...}, i0={...}."""
    delegates = {
        -1 if at == "any" else int(at[1:]): DelegateMap("Npu", entries)
        for at, entries in calls.items()
    }
    operators = tuple(
        Operator(i, "forward", i, (GraphNode("", f"debug handle {i}", i),)) for i in range(5)
    )
    method = Method("forward", operators, delegates=delegates, delegates_only=True)
    return Program("m.json", "Debug handle map", "", (method,))


@pytest.fixture
def trace(dump):
    """Two calls, which log "a" and "new", and 10 as a number and as a text."""
    events = [
        delegate("a", 0, 0, 4), delegate("new", 0, 5, 7), operator("DELEGATE_CALL", 0, 0, 10),
        delegate(10, 3, 20, 21), delegate("10", 3, 22, 24), operator("DELEGATE_CALL", 3, 20, 30),
        framework("Method::execute", 0, 32),
    ]  # fmt: skip
    return open_file(str(dump(("Execute", events))))


def test_the_map_of_any_call_is_of_those_that_have_none(trace):
    program = map_file(any={"a": (1,), 10: (2,), "never": (3,)}, i3={"10": (4,), "no": (4,)})
    rows = HandleMaps(link(trace, program)).rows()
    assert [(r.identifier, r.instruction, r.status, r.slices, r.ticks) for r in rows] == [
        ("a", -1, IdentifierStatus.LOGGED, 1, 4),
        ("10", -1, IdentifierStatus.NEVER_LOGGED, 0, 0),
        ("never", -1, IdentifierStatus.NEVER_LOGGED, 0, 0),
        ("10", 3, IdentifierStatus.LOGGED, 2, 3),  # both kinds, where the map has but one
        ("no", 3, IdentifierStatus.NEVER_LOGGED, 0, 0),
        ("new", 0, IdentifierStatus.NOT_REGISTERED, 1, 2),
    ]
    assert [row.no_instruction for row in rows[:1]] == ["any call"]


def test_numbers_and_texts_have_rows_of_their_own(trace):
    rows = HandleMaps(link(trace, map_file(i3={10: (1,), "10": (2,)}))).rows()
    assert [(r.identifier, r.handles, r.ticks) for r in rows if r.instruction == 3] == [
        ("10", (1,), 1), ("10", (2,), 2),
    ]  # fmt: skip


def test_a_map_of_calls_that_nobody_made_was_not_run(trace):
    rows = HandleMaps(link(trace, map_file(i0={"a": (1,)}, i7={"x": (2,)}))).rows()
    assert {r.identifier: r.status for r in rows if r.instruction in (0, 7)} == {
        "a": IdentifierStatus.LOGGED,
        "new": IdentifierStatus.NOT_REGISTERED,
        "x": IdentifierStatus.NOT_RUN,
    }
    assert recorded_rows(map_file(any={"a": (1,)}))[0].status is IdentifierStatus.NOT_RUN
