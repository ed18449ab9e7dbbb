"""Delegation: calls, what stayed outside and the rest are the whole, as single slices say."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.builders.delegation_cases import (
    DATA,
    DUMPS,
    OTHERS,
    linked,
    name_of,
    ranges,
    spans,
    within,
)
from tests.builders.etdump_writer import framework, operator
from tests.builders.workspaces import workspace_of
from viewer.analysis.cost.costs import Costs
from viewer.analysis.delegates.delegation import Delegation, recorded
from viewer.analysis.links.link_table import LinkState, Reason
from viewer.analysis.links.linker import unlinked
from viewer.analysis.statistics.grouping import Grouping
from viewer.formats import open_file
from viewer.model.figures import STEADY, TimeScope
from viewer.model.queries import unattributed_time
from viewer.model.trace import KeyKind
from viewer.model.warm_up import warm_up_inferences
from viewer.program.debug_handles import DelegateMap

EXECUTE = "Method::execute"


@pytest.fixture(scope="module", params=DUMPS, ids=map(name_of, DUMPS))
def of_dump(request):
    return linked(*request.param)


@pytest.fixture(scope="module", params=DUMPS + OTHERS, ids=map(name_of, DUMPS + OTHERS))
def table(request):
    return linked(*request.param)


@pytest.fixture(scope="module")
def attention():
    return Delegation(linked(*DUMPS[0]))


@pytest.fixture(scope="module")
def demo():
    return Delegation(linked(*DUMPS[1]))


# -- sums ------------------------------------------------------------------------------------------


def test_calls_outside_and_neither_are_the_time_of_the_inferences(of_dump):
    """By slices alone: nothing of the charging is used here."""
    trace, found = of_dump.trace, Delegation(of_dump)
    executes = [
        (int(trace.slices.start[i]), int(trace.slices.end[i]))
        for i in range(len(trace.slices))
        if trace.name(i) == EXECUTE
    ]
    calls = spans(trace, KeyKind.DELEGATE_CALL)
    outside = spans(trace, KeyKind.OPERATOR_CALL, KeyKind.KERNEL)
    for first, last in ranges(trace):
        report = found.report(TimeScope(ticks=(first, last)))
        assert report.delegated == within(calls, first, last)
        assert report.not_delegated == within(outside, first, last)
        assert report.whole == within(executes, first, last)
        rest = within(executes, first, last) - within(calls + outside, first, last)
        assert report.no_operator == rest


@pytest.mark.slow
def test_of_every_call_the_part_that_no_event_accounts_for(of_dump):
    trace, found = of_dump.trace, Delegation(of_dump)
    for first, last in ranges(trace):
        for row in found.report(TimeScope(ticks=(first, last))).instances:
            if len(trace.scopes) > 2 or not row.keys:
                continue  # instruction ids of two methods are told apart by `keys` alone
            calls = spans(trace, KeyKind.DELEGATE_CALL, instruction=row.instruction)
            events = spans(trace, KeyKind.DELEGATE_EVENT, instruction=row.instruction)
            assert row.ticks == within(calls, first, last)
            assert row.covered == within(events, first, last)
            if row.unattributed is not None:
                assert row.unattributed == row.ticks - within(events, first, last)


def test_the_unattributed_parts_are_those_that_info_tells(of_dump):
    report = Delegation(of_dump).report()
    told = [row for row in report.instances if row.unattributed is not None]
    part, whole = unattributed_time(of_dump.trace)
    assert sum(row.unattributed for row in told) == part
    assert sum(row.ticks for row in told) == whole


def test_the_whole_is_that_of_the_costs_and_operators_outside_cost_the_same(table):
    found, costs = Delegation(table), Costs(table)
    delegated = set(np.isin(table.trace.keys.kind, (5, 6)).nonzero()[0].tolist())
    inside = {table.set_of_key[k] for k in delegated}
    for first, last in ranges(table.trace):
        report, cost = (
            found.report(TimeScope(ticks=(first, last))),
            costs.table(TimeScope(ticks=(first, last))),
        )
        assert report.whole == cost.whole
        charged = {row.operators: (row.ticks, row.slices) for row in cost.rows}
        for row in report.not_delegated_rows:
            if row.operators and table.sets.index(row.operators) not in inside:
                assert charged[row.operators] == (row.ticks, row.slices)


def test_instances_cost_what_the_statistics_by_delegate_say(of_dump):
    grouping, found = Grouping(of_dump), Delegation(of_dump)
    ran = sorted(row.ticks for row in found.report().instances if row.keys)
    called = not grouping.missing("delegate")
    assert ran == (sorted(g.total for g in grouping.by("delegate").groups) if called else [])


def test_ranges_side_by_side_add_up(table):
    found, trace = Delegation(table), table.trace
    cuts = [trace.start, *sorted(run.start for run in trace.runs), trace.end]
    cuts = sorted({*cuts, (trace.start + trace.end) // 2})
    whole, parts = found.report(), [found.report(TimeScope(ticks=span)) for span in pairwise(cuts)]
    assert sum(part.whole for part in parts) == whole.whole
    ticks: Counter[tuple[str, int]] = Counter()
    calls: Counter[tuple[str, int]] = Counter()
    for row in (row for part in parts for row in part.instances):
        ticks[row.method, row.instruction] += row.ticks
        calls[row.method, row.instruction] += row.calls
    for row in whole.instances:
        assert ticks[row.method, row.instruction] == row.ticks
        assert calls[row.method, row.instruction] == row.calls
    assert sum(part.coverage.linkable for part in parts) == whole.coverage.linkable
    assert sum(part.coverage.linked_ticks for part in parts) == whole.coverage.linked_ticks


def test_the_runs_on_their_tracks_are_the_whole(of_dump):
    found = Delegation(of_dump)
    parts = [found.report(TimeScope(run)) for run in of_dump.trace.inferences()]
    whole = found.report()
    assert sum(part.whole for part in parts) == whole.whole
    assert sum(part.delegated for part in parts) == whole.delegated
    assert sum(part.not_delegated for part in parts) == whole.not_delegated


# -- links -----------------------------------------------------------------------------------------


def test_the_groups_of_unlinked_slices_are_all_of_them(table):
    trace, found = table.trace, Delegation(table)
    derived = trace.slices.derived
    for first, last in ranges(trace):
        report = found.report(TimeScope(ticks=(first, last)))
        state: Counter[LinkState] = Counter()
        reasons: Counter[str] = Counter()
        for i, key in enumerate(trace.slices.key.tolist()):
            start = int(trace.slices.start[i])
            inside = first <= start < last or start == last == trace.end
            if inside and (derived is None or not derived[i]):
                state[table.links[key].reason.state] += 1
                reasons[table.links[key].reason.name] += 1
        told: Counter[str] = Counter()
        for row in report.unlinked:
            told[row.reason.name] += row.slices
            assert row.slices == len(found.slices_of(row.keys, TimeScope(ticks=(first, last))))
        linked_reasons = {r.name for r in Reason if r.state is LinkState.LINKED}
        assert told == Counter({n: c for n, c in reasons.items() if n not in linked_reasons})
        assert report.coverage.linked == state[LinkState.LINKED]
        assert report.coverage.linkable == state[LinkState.LINKED] + state[LinkState.UNLINKED]


def test_each_reason_says_what_to_do(table):
    for row in Delegation(table).report().unlinked:
        assert row.remedy.endswith(".")
        assert "None" not in row.remedy


def test_a_backend_that_never_writes_a_map_is_named_and_its_calls_still_link(attention):
    row = attention.report().unlinked[0]
    assert (row.reason, row.backend, row.slices) == (
        Reason.NO_DELEGATE_MAP, "XnnpackBackend", 270
    )  # fmt: skip
    assert row.remedy == (
        "XnnpackBackend writes no debug handle map. Also open the program file (.pte) that ran: "
        "its nodes have the debug handles. The 10 delegate calls themselves are linked to 32 "
        "operators."
    )
    # Of 36 in all calls; some are in two, since a debug handle may be split between partitions.
    calls = [found.operators for found in attention.report().instances]
    assert (sum(map(len, calls)), len({i for own in calls for i in own})) == (36, 32)


def test_an_identifier_that_the_map_lacks_is_named_with_what_to_do(demo):
    row = demo.report().unlinked[0]
    assert row.reason is Reason.IDENTIFIER_UNKNOWN
    assert "'not in map'" in row.remedy
    assert "register exactly the text" in row.remedy


def test_without_a_record_it_says_to_open_one():
    trace = open_file(str(DATA / "etdump/demo_str_x4.etdp"))
    assert "generate_etrecord=True" in Delegation(unlinked(trace)).report().unlinked[0].remedy
    refused = Delegation(unlinked(trace, "They do not belong together")).report().unlinked[0]
    assert "not linked" in refused.remedy


# -- instances -------------------------------------------------------------------------------------


def test_an_instance_has_its_label_its_method_and_its_operators(attention):
    first, second = attention.report().instances[:2]
    assert (first.label, first.method, first.instruction) == (
        "blocks.0.qkv · linear", "forward", 1
    )  # fmt: skip
    assert (second.label, second.backend, second.calls) == (
        "XnnpackBackend · 5 ops", "XnnpackBackend", 5
    )  # fmt: skip
    assert len(second.operators) == 5


def test_the_report_of_a_run_counts_that_run_alone(attention):
    run = next(attention.table.trace.inferences())
    report = attention.report(TimeScope(run))
    assert report.whole == run.end - run.start
    assert all(row.calls == 1 for row in report.instances)


def test_a_call_without_events_has_an_unknown_rest_and_says_so(dump):
    events = [operator("DELEGATE_CALL", 0, 0, 10), framework(EXECUTE, 0, 15)]
    report = Delegation(unlinked(open_file(str(dump(("Execute", events)))))).report()
    (row,) = report.instances
    assert (row.ticks, row.unattributed, report.no_operator) == (10, None, 5)
    assert row.why_not_attributed == "the delegate logged no events in its calls"


def test_events_on_a_clock_of_their_own_account_for_nothing():
    (row,) = Delegation(linked(*DUMPS[-1])).report().instances
    assert (row.events, row.foreign, row.covered, row.unattributed) == (3, 3, 0, None)
    assert "separate clock" in row.why_not_attributed


def test_events_without_a_call_are_an_instance_that_says_so():
    table = linked("torq/demo_str_c1.csv", "etrecord/demo_str.etrecord")
    assert not any(row.keys for row in Delegation(table).report().instances)
    by_column = open_with_identifiers("torq/demo_str_c1.csv", "etrecord/demo_str.etrecord")
    (row,), trace = Delegation(by_column).report().instances, by_column.trace
    assert (row.instruction, row.has_call, row.unattributed) == (-1, False, None)
    assert "has no delegate calls" in row.why
    assert row.ticks == within(spans(trace, KeyKind.DELEGATE_EVENT), trace.start, trace.end)


def test_where_the_method_is_not_decided_no_call_is_said_to_be_missing():
    report = Delegation(linked(*DUMPS[8])).report()
    assert [row.method for row in report.instances] == ["Execute 2", "Execute 1"]
    assert "does not name the one that ran" in report.instances[0].why


def test_a_call_of_the_record_that_never_ran_is_listed_without_time(demo):
    method = demo.table.program.methods[0]
    delegates = {**method.delegates, 7: DelegateMap("Npu", None)}
    method = replace(method, handles={**method.handles, 7: (1, 2)}, delegates=delegates)
    table = replace(demo.table, program=replace(demo.table.program, methods=(method,)))
    ran, missing = Delegation(table).report().instances
    assert (ran.instruction, missing.instruction) == (0, 7)
    assert (missing.label, missing.ticks, missing.unattributed) == ("Npu · 2 ops", 0, None)
    assert missing.why_not_attributed == "this profile has no calls"


def test_a_record_alone_lists_its_instances_and_what_stays_outside():
    program = open_file(str(DATA / "etrecord/cnn_standalone_after_tobackend.etrecord"))
    report = recorded(program)
    assert not report.ran
    assert [(row.label, row.instruction) for row in report.instances] == [
        ("XnnpackBackend · 3 ops", 0), ("XnnpackBackend · 2 ops", 2), ("XnnpackBackend · 2 ops", 4)
    ]  # fmt: skip
    assert [row.label for row in report.not_delegated_rows] == ["features.3 · max_pool2d", "mean"]


def test_a_profile_of_an_npu_has_no_calls_to_report():
    report = Delegation(linked(*OTHERS[1])).report()
    assert not report.has_calls
    assert report.instances == ()
    assert report.whole > 0


# -- outside ---------------------------------------------------------------------------------------


def test_what_stayed_outside_is_ranked_and_named(attention):
    labels = [(row.label, row.ticks) for row in attention.report().not_delegated_rows]
    assert labels[0][0] == "blocks.0 · scaled_dot_product_attention"
    assert [ticks for _, ticks in labels] == sorted((t for _, t in labels), reverse=True)


def test_kernels_without_a_record_are_told_by_their_names():
    trace = open_file(str(DATA / "etdump/cnn_xnnpack_x10.etdp"))
    (row,) = Delegation(unlinked(trace)).report().not_delegated_rows
    assert (row.label, row.operators, row.slices) == ("mean.out", (), 10)
    calls = spans(trace, KeyKind.OPERATOR_CALL)
    assert row.ticks == sum(end - start for start, end in calls)


def open_with_identifiers(profile, record):
    """A profile whose column of identifiers the workspace has found."""

    space = workspace_of(DATA / profile, DATA / record)
    return space.links(space.traces[0])


def test_counts_of_slices_are_those_after_warm_up_too():
    found = Delegation(linked(*DUMPS[0]))
    every, steady = found.report(), found.report(STEADY)
    runs = len(list(found.table.trace.inferences()))
    warm = len(warm_up_inferences(found.table.trace))
    assert warm > 0
    assert steady.coverage.linkable * runs == every.coverage.linkable * (runs - warm)
    assert sum(
        row.slices for row in steady.unlinked if row.reason.state is LinkState.UNLINKED
    ) < sum(row.slices for row in every.unlinked if row.reason.state is LinkState.UNLINKED)
