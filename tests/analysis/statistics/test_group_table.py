"""Names of a plain profile: their wall time counts an instant of a thread once, as findings do."""

import numpy as np

from tests.analysis.cost.test_thread_time import STEPS, TWO, plain, stepped
from tests.paths import DATA
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.analysis.links.linker import unlinked
from viewer.analysis.statistics.group_table import GroupTable
from viewer.analysis.statistics.grouping import Grouping
from viewer.formats import open_file
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.inference_views import aligned_runs


def names(trace, scope=WHOLE) -> GroupTable:
    return Grouping(unlinked(trace)).by("name", *scope.span)


def test_an_annotation_beside_the_frames_of_its_thread_is_not_counted_twice():
    """The annotation starts before the frame around it, so the two are on different lanes."""
    lanes = ("t", "backward", 0, 90), ("t", "frame", 2, 92), ("t", "conv", 10, 80)
    trace = plain(*lanes, ("t", "step", 92, 192))
    table = names(trace)
    assert [(g.label, g.wall, g.self_ticks, g.total) for g in table.groups] == [
        ("step", 100, 100, 100),
        ("conv", 70, 70, 70),
        ("frame", 20, 90, 90),  # conv is on the first lane that has room for it
        ("backward", 2, 20, 90),
    ]
    assert (table.whole, table.ungrouped, table.share_of) == (192, 0, "busy time")


def test_a_span_of_a_whole_thread_is_last_and_has_no_wall_time():
    trace = plain(("profiler", "PyTorch Profiler (0)", 0, 100), *STEPS)
    table = names(trace)
    last = table.groups[-1]
    assert (last.wall, last.share, last.self_ticks, last.total) == (0, 0.0, 100, 100)
    assert (table.not_counted, last.is_counted) == (("PyTorch Profiler (0)",), False)


def test_a_span_that_nothing_explains_keeps_its_time():
    trace = plain(("t", "main", 0, 100), ("t", "conv", 10, 11), ("t", "relu", 11, 12))
    table = names(trace)
    assert {g.label: g.wall for g in table.groups} == {"main": 98, "conv": 1, "relu": 1}
    assert (table.whole, table.ungrouped) == (100, 0)


def test_a_range_has_its_part():
    trace = plain(*STEPS)
    table = names(trace, TimeScope(ticks=(20, 65)))
    assert {g.label: g.wall for g in table.groups} == {"step": 20, "conv": 20, "relu": 5}


def test_wall_times_of_a_pytorch_profile_are_those_of_findings():
    trace = open_file(str(DATA / "chrome_json" / "kineto_cpu.json"))
    analysis = FindingsAnalysis(unlinked(trace))
    context = analysis.context(WHOLE, trace.clock.ns_per_tick)
    found = names(trace)
    spans = {trace.name(i) for i in analysis.threads.whole_spans.tolist()}
    listed = [(g.label, g.wall) for g in found.groups if g.wall and g.label not in spans]
    assert sorted(listed) == sorted(context.work.by_thing(np.asarray(context.ticks)))
    assert found.whole == context.whole_ticks


def test_a_step_that_covers_its_own_thread_has_no_figures_of_others():
    """In a view, all steps start at 0, each on a track of its own."""
    trace = stepped(*TWO, ("t", "conv", 10, 40), ("t", "conv", 60, 80))
    view = aligned_runs(trace)
    for run, long in zip(view.inferences(), (30, 20), strict=True):
        found = {group.label: group for group in names(view, TimeScope(run)).groups}
        conv = found["conv"]
        assert (conv.total, conv.wall, conv.spread.count) == (long, long, 1)
