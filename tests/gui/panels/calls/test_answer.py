"""What the Calls panel computes: which nodes, boxes, colors and matches."""

import numpy as np
import pytest

from tests.builders.call_traces import trace_of
from tests.gui.panels.calls.conftest import SLICES
from tests.paths import DATA
from viewer.analysis.statistics.grouping import Grouping
from viewer.formats import open_file
from viewer.gui.panels.calls import answer as calls_answer
from viewer.gui.panels.calls.answer import (
    CallMode,
    CallsAnswer,
    CallsQuestion,
    CallTrees,
    matches_of,
    work_out,
)
from viewer.model.figures import WHOLE, TimeScope
from viewer.model.inference_views import Inferences
from viewer.model.trace import Trace
from viewer.view.open_trace import OpenTrace, palette_of, views_of
from viewer.workspace.workspace import Workspace

RECURSION = (
    ("t", "main", 0, 100), ("t", "f", 0, 60), ("t", "g", 10, 50), ("t", "f", 20, 40),
    ("t", "h", 60, 70),
)  # fmt: skip


def opened(trace: Trace) -> OpenTrace:
    space = Workspace()
    space.add(trace)
    return views_of(space, {Inferences.AS_RUN}, {})[trace, Inferences.AS_RUN]


def answered(
    trace: Trace,
    mode: CallMode = CallMode.TOP_DOWN,
    scope: TimeScope = WHOLE,
    focus: tuple[str, ...] = (),
) -> CallsAnswer:
    return work_out(CallsQuestion(CallTrees(opened(trace)), scope, mode, focus, "name", None))


def paths(answer: CallsAnswer) -> list[str]:
    return ["/".join(answer.table.path(node)) for node in range(len(answer.table))]


def test_a_single_thread_has_no_node_and_siblings_are_in_order_of_their_time():
    answer = answered(trace_of(*SLICES))
    assert paths(answer) == [
        "main", "main/run", "main/run/conv", "main/run/conv/copy", "main/run/copy", "main/load",
    ]  # fmt: skip
    assert answer.table.total.tolist() == [100, 70, 40, 5, 10, 20]
    assert (answer.whole, answer.count) == (100, 6)
    assert answer.is_call.all()


def test_several_threads_have_nodes_and_are_no_calls():
    answer = answered(trace_of(("t", "a", 0, 50), ("u", "b", 0, 70)))
    assert paths(answer) == ["u", "u/b", "t", "t/a"]
    assert answer.is_call.tolist() == [False, True, False, True]
    assert answer.count == 2


def test_bottom_up_boxes_are_as_wide_as_self_time():
    answer = answered(trace_of(*SLICES), CallMode.BOTTOM_UP)
    roots = answer.table.depth == 0
    names = [answer.table.text(node) for node in np.flatnonzero(roots)]
    assert list(zip(names, answer.table.self_ticks[roots].tolist(), strict=True)) == [
        ("conv", 35), ("load", 20), ("run", 20), ("copy", 15), ("main", 10),
    ]  # fmt: skip
    assert answer.whole == 100
    assert answer.count == 6
    assert not any("/t" in path or path.endswith("/p") for path in paths(answer))
    copy = answer.table.find(["copy"])
    assert copy is not None
    assert int(answer.uncut[copy]) == 15


def test_a_node_alone_is_the_whole():
    trace = trace_of(*SLICES)
    answer = answered(trace, focus=("main", "run"))
    assert paths(answer) == ["run", "run/conv", "run/conv/copy", "run/copy"]
    assert answer.uncut.tolist() == [70, 40, 5, 10]
    assert answer.whole == 70
    gone = answered(trace, scope=TimeScope(ticks=(0, 10)), focus=("main", "run"))
    assert gone.focus == ()
    assert paths(gone) == ["main", "main/load"]


def test_durations_of_counted_calls_are_not_cut_at_a_range():
    answer = answered(trace_of(*SLICES), scope=TimeScope(ticks=(25, 50)))
    conv = answer.table.find(["main", "run", "conv"])
    assert conv is not None
    assert int(answer.table.total[conv]) == 20
    assert int(answer.uncut[conv]) == 40
    assert int(answer.table.count[0]) == int(answer.uncut[0]) == 0  # main starts before


def test_a_node_leads_to_its_slices_and_back():
    trace = trace_of(*RECURSION)
    for mode in (CallMode.TOP_DOWN, CallMode.BOTTOM_UP):
        answer = answered(trace, mode)
        for node in range(len(answer.table)):
            slices = answer.tree.slices_of(answer.numbers(node))
            assert len(slices) == answer.table.count[node]
            assert {trace.name(i) for i in slices.tolist()} <= set(answer.table.labels)
            if mode is CallMode.TOP_DOWN:
                assert {answer.node_of(i) for i in slices.tolist()} == {node}
    inner = int(np.flatnonzero(trace.slices.start == 20)[0])
    assert paths(answer)[answer.node_of(inner)] == "f"


def test_matches_inside_one_another_count_once():
    for mode in (CallMode.TOP_DOWN, CallMode.BOTTOM_UP):
        found = matches_of(answered(trace_of(*RECURSION), mode), "F")
        assert (found.calls, found.ticks, found.whole) == (2, 60, 100)
    none = matches_of(answered(trace_of(*RECURSION)), "nothing")
    assert (none.calls, none.ticks) == (0, 0)


def test_nodes_have_the_color_of_their_slices():
    trace = trace_of(*RECURSION)
    palette = palette_of(opened(trace), "name")
    by_name = {trace.name(i): int(color) for i, color in enumerate(palette)}
    for mode in (CallMode.TOP_DOWN, CallMode.BOTTOM_UP):
        answer = answered(trace, mode)
        for node, color in enumerate(answer.color.tolist()):
            assert color == by_name[answer.table.text(node)]


@pytest.mark.parametrize("mode", [CallMode.TOP_DOWN, CallMode.BOTTOM_UP])
@pytest.mark.parametrize("part", [(0, 3), (1, 2)], ids=["whole", "range"])
@pytest.mark.parametrize(
    "name", ["chrome_json/kineto_cpu.json", "table_csv/two_threads.csv", "etdump/SYN_qnn_like.etdp"]
)
def test_calls_of_a_name_have_the_figures_of_statistics(
    name: str, part: tuple[int, int], mode: CallMode
):
    trace = open_file(str(DATA / name))
    third = (trace.end - trace.start) // 3
    span = trace.start + part[0] * third, trace.start + part[1] * third
    scope = WHOLE if part == (0, 3) else TimeScope(ticks=span)
    answer = answered(trace, mode, scope)
    table = answer.table
    nodes = answer.is_call & ((table.depth == 0) if mode.is_inverted else True)
    found: dict[str, list[int]] = {}
    for node in np.flatnonzero(nodes).tolist():
        figures = (table.count[node], answer.uncut[node], table.self_ticks[node])
        known = found.get(table.text(node), [0, 0, 0])
        found[table.text(node)] = [old + int(new) for old, new in zip(known, figures, strict=True)]
    shown = answer.shown
    grouping = Grouping(shown.table, shown.axis.ns_per_tick)
    groups = grouping.by("name", *scope.span[:2]).groups
    assert groups
    repeated = {trace.name(i) for i in answer.tree.annotations.tolist()}
    assert repeated == ({"PyTorch Profiler (0)"} if "kineto" in name else set())
    for group in groups:
        if group.label in repeated or not group.total:  # instants have a process of their own
            continue
        count, uncut, own = found.get(group.label, [0, 0, 0])
        assert group.spread is not None
        assert count == group.spread.count
        assert own == (group.self_ticks or 0)
        if count and not group.is_apart:
            assert uncut / count == pytest.approx(float(group.spread.mean))


def test_bottom_up_of_long_paths_has_fewer_levels(monkeypatch: pytest.MonkeyPatch):
    deep = trace_of(*(("t", f"n{i}", i, 100 - i) for i in range(20)))
    assert answered(deep, CallMode.BOTTOM_UP).levels == 0
    monkeypatch.setattr(calls_answer, "_MOST_CALLERS", 100)
    answer = answered(deep, CallMode.BOTTOM_UP)
    assert 2 <= answer.levels < 20
    assert int(answer.table.depth.max()) == answer.levels - 1
    assert len(answer.table) <= 100
    assert answer.whole == 100
