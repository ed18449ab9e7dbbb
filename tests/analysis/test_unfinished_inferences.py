"""Inferences that did not finish are in no figure of the whole trace, whatever asks for it."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders.etdump_writer import Run, framework, operator, write_dump
from tests.paths import DATA
from viewer.analysis.cost.costs import Costs
from viewer.analysis.cost.event_times import WorkTime
from viewer.analysis.cost.source_costs import module_costs
from viewer.analysis.delegates.delegation import Delegation
from viewer.analysis.delegates.handle_maps import HandleMaps
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.analysis.links.coverage import coverage, coverage_of
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import link
from viewer.analysis.statistics.grouping import Grouping
from viewer.formats import open_file
from viewer.model.figures import WHOLE, LeftOut, TimeScope, left_out
from viewer.model.queries import counted_slices, unattributed_time
from viewer.model.trace import KeyKind, Trace
from viewer.model.warm_up import counted_inferences
from viewer.program.module_tree import module_tree

# The first inference of the one failed, the second of the other: its delegate did.
PAIRS = (
    ("etdump/words_failing_x3.etdp", "etrecord/words_toedge_portable.etrecord"),
    ("pte/mix_str_failed.etdp", "pte/mix_str.etrecord"),
)


@pytest.fixture(params=PAIRS, ids=lambda pair: Path(pair[0]).stem)
def table(request: pytest.FixtureRequest) -> LinkTable:
    trace, program = (open_file(str(DATA / name)) for name in request.param)
    return link(trace, program)


def finished(table: LinkTable) -> list[TimeScope]:
    return [TimeScope(run=run) for run in table.trace.finished_inferences()]


def executed(trace: Trace) -> int:
    """The ticks of all slices of Method::execute."""
    slices = trace.slices
    return sum(
        int(slices.end[i] - slices.start[i])
        for i in range(len(slices))
        if trace.name(i) == "Method::execute"
    )


def test_one_of_three_is_left_out_of_the_whole_and_of_nothing_else(table):
    trace = table.trace
    assert len(counted_inferences(trace)) == 2
    assert left_out(trace) == LeftOut(unfinished=1)
    assert left_out(trace, TimeScope(ticks=(trace.start, trace.end))) == LeftOut()
    assert LeftOut(1).text == "Not counted: 1 unfinished inference"
    assert LeftOut(2).text == "Not counted: 2 unfinished inferences"
    (failed,) = (run for run in trace.inferences() if not run.finished)
    out = np.flatnonzero(~counted_slices(trace))
    assert len(out)
    assert trace.slices.start[out].min() == failed.start
    assert trace.slices.end[out].max() == failed.end


def test_the_costs_are_the_sum_of_the_inferences_that_finished(table):
    costs = Costs(table)
    whole, runs = costs.table(), [costs.table(scope) for scope in finished(table)]
    assert whole.whole == executed(table.trace) == sum(run.whole for run in runs)
    assert whole.without_operator == sum(run.without_operator for run in runs)
    for row in whole.rows:
        same = [r for run in runs for r in run.rows if r.operators == row.operators]
        assert (row.ticks, row.kernel, row.slices) == (
            sum(r.ticks for r in same), sum(r.kernel for r in same), sum(r.slices for r in same),
        )  # fmt: skip
        assert len(costs.slices_of({row.operators}, TimeScope())) == sum(
            len(costs.slices_of({row.operators}, scope)) for scope in finished(table)
        )


def test_a_failed_inference_that_is_asked_for_is_shown(table):
    costs = Costs(table)
    (failed,) = (run for run in table.trace.inferences() if not run.finished)
    own = costs.of_run(failed)
    assert own.whole > 0
    assert costs.table(TimeScope(ticks=(failed.start, failed.end))) == own
    assert (
        costs.table(TimeScope(ticks=(table.trace.start, table.trace.end))).whole
        == costs.table().whole + own.whole
    )


def test_modules_add_up_to_the_whole(table):
    cost = Costs(table).table()
    modules = module_costs(module_tree(table.program), cost)
    charged = int((modules.self_ticks + modules.shared).sum())
    assert charged + cost.without_operator == modules.whole == executed(table.trace)


@pytest.mark.parametrize(
    "key", ["operator", "type", "module", "line", "delegate", "thread", "name"]
)
def test_groups_and_the_rest_add_up_without_the_failed_one(table, key):
    grouping = Grouping(table)
    if grouping.missing(key):
        pytest.skip("the trace has no such groups")
    found, runs = grouping.by(key), [grouping.by(key, *s.span[:2]) for s in finished(table)]
    assert sum(group.self_ticks for group in found.groups) + found.ungrouped == found.whole
    if key not in ("thread", "name"):  # these have the load too
        assert found.whole == executed(table.trace)
        counts = {group.label: group.spread.count for group in found.groups}
        for label, count in counts.items():
            own = (g.spread.count for run in runs for g in run.groups if g.label == label)
            assert count == sum(own)
    for group in found.groups:
        assert len(grouping.slices(key, group.number)) == group.spread.count


def test_by_inference_the_failed_one_is_listed_and_no_part_of_the_whole(table):
    found = Grouping(table).by("inference")
    assert len(found.groups) == 3
    (failed,) = (group for group in found.groups if "did not finish" in group.label)
    assert failed.total > 0
    assert failed.share == 0
    assert found.whole == executed(table.trace)
    assert sum(group.share for group in found.groups) == pytest.approx(1)


def test_delegates_maps_work_and_findings_leave_it_out(table):
    whole, runs = Delegation(table).report(), finished(table)
    assert whole.whole == executed(table.trace)
    own = [Delegation(table).report(scope) for scope in runs]
    assert whole.delegated == sum(report.delegated for report in own)
    assert whole.not_delegated == sum(report.not_delegated for report in own)
    assert sum(row.calls for row in whole.instances) == sum(
        row.calls for report in own for row in report.instances
    )
    maps = HandleMaps(table)
    assert sum(row.ticks for row in maps.rows()) == sum(
        row.ticks for scope in runs for row in maps.rows(scope)
    )
    work = WorkTime(table)
    assert np.array_equal(work.ticks(), sum(work.ticks(scope) for scope in runs))
    findings = FindingsAnalysis(table).of(WHOLE, table.trace.clock.ns_per_tick)
    assert findings.scope == "2 of 3 inferences"
    assert {one.whole for one in findings.found if one.whole and not one.across} == {
        executed(table.trace)
    }


def test_how_well_a_file_is_linked_counts_every_slice(table):
    linkable = int((table.states[table.trace.slices.key] > 0).sum())
    assert coverage_of(table)["linkable"] == linkable
    failed = next(run for run in table.trace.inferences() if not run.finished)
    left = coverage(table, TimeScope(failed)).linkable
    assert coverage(table).linkable == linkable - left


def test_unattributed_time_is_that_of_calls_that_count():
    trace = open_file(str(DATA / "pte" / "mix_str_failed.etdp"))
    slices, kind = trace.slices, trace.keys.kind[trace.slices.key]
    calls = np.flatnonzero((kind == KeyKind.DELEGATE_CALL) & counted_slices(trace))
    assert unattributed_time(trace)[1] == int((slices.end - slices.start)[calls].sum())


def test_if_none_finished_all_count_since_nothing_else_is_there(tmp_path):
    loaded = Run("Default", [framework("Method::init", 0, 10)])
    failed = Run("Execute", [operator("OPERATOR_CALL", 0, 20, 50)])
    trace = open_file(str(write_dump(tmp_path / "failed.etdp", [loaded, failed])))
    assert [run.finished for run in trace.inferences()] == [False]
    assert counted_slices(trace) is None
    assert left_out(trace) == LeftOut()


def test_slices_are_not_asked_if_all_inferences_finished():
    trace = open_file(str(DATA / "etdump" / "cnn_portable_x10.etdp"))
    assert counted_slices(trace) is None
    assert left_out(trace) == LeftOut()
