"""Reports open again: the same slices as in the trace, and nothing that a hostile file wants."""

import json
from fractions import Fraction

import pytest

from tests.builders.reports import HOSTILE, Page, hostile_workspace, sample, trace_named
from viewer.codecs.reading import UnreadableFile
from viewer.formats import choose, open_file
from viewer.html_report.html import embedded_json
from viewer.html_report.report import write_report
from viewer.html_report.timelines import NAME
from viewer.model.timing import timings
from viewer.workspace.workspace import Workspace


def reopened(workspace, folder):
    """The trace that a report of a workspace opens as."""
    path = folder / "report.html"
    write_report(workspace, path)
    return open_file(str(path))


def seen(trace):
    """The slices as (start, end, depth, timing), sorted."""
    slices = trace.slices
    depth = slices.row_depth[slices.rows()]
    columns = slices.start, slices.end, depth, timings(slices)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("key", ["attention_xnnpack", "plain_csv"])
def test_slices_are_those_of_the_trace(key, tmp_path):
    workspace = sample(key)
    trace = reopened(workspace, tmp_path)
    assert trace.format == "Opscope report"
    assert seen(trace) == seen(workspace.traces[0])
    assert trace.clock == workspace.traces[0].clock
    assert trace.problems == ()


def test_operators_modules_and_lines_are_texts(tmp_path):
    trace = reopened(sample("attention_xnnpack"), tmp_path)
    columns = trace.slices.columns
    i = next(i for i in range(len(trace.slices)) if trace.name(i) == "blocks.0.qkv · linear")
    assert columns["operator"].value(i) == "blocks.0.qkv · linear"
    assert columns["module"].value(i) == "blocks.0.qkv"
    assert columns["source"].value(i) == "models.py:48"
    assert columns["name_in_file"].value(i) == "DELEGATE_CALL"


def test_several_clocks_start_at_their_own_zero(tmp_path):
    workspace = sample("torq_npu")
    trace = reopened(workspace, tmp_path)
    assert [p.count for p in trace.problems if "several clocks" in p.kind] == [2]
    assert len(trace.slices) == sum(len(t.slices) for t in workspace.traces)
    assert trace.start == 0
    assert trace.clock.ns_per_tick == Fraction(1)


@pytest.mark.slow
def test_what_a_report_leaves_out_is_counted(tmp_path):
    workspace = Workspace()
    trace = trace_named(tuple(f"n{i % 7}" for i in range(90_000)))
    workspace.add(trace)
    found = reopened(workspace, tmp_path)
    (problem,) = found.problems
    assert problem.kind == (
        f"The report has {len(found.slices):,} of 90,000 slices: others left out"
    )
    assert problem.count == 90_000 - len(found.slices)
    assert set((found.slices.end - found.slices.start).tolist()) == {100}


def test_hostile_names_come_back_as_text(tmp_path):
    trace = reopened(hostile_workspace(), tmp_path)
    names = {trace.name(i) for i in range(len(trace.slices))}
    assert HOSTILE[0] in names
    assert not any("\x00" in name or "\u202e" in name for name in names)


def written(folder, change):
    """A report of two slices whose data is changed, as a path."""
    workspace = Workspace()
    workspace.add(trace_named(("a", "b")))
    path = folder / "report.html"
    write_report(workspace, path)
    text = path.read_text(encoding="utf-8")
    data = Page(text).data()
    changed = change(data)
    before = text.index(f'<script type="application/json" id="{NAME}">')
    after = text.index("</script>", before) + len("</script>")
    data = data if changed is None else changed
    path.write_text(text[:before] + embedded_json(NAME, data) + text[after:], encoding="utf-8")
    return str(path)


def profile_of(data):
    return data["axes"][0]["profiles"][0]


def setting(name, value):
    return lambda data: profile_of(data).__setitem__(name, value)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: [],
        lambda data: data.update(version=2),
        lambda data: data.update(version=None),
        lambda data: data.update(axes={}),
        lambda data: data.update(axes=[{"profiles": [7, None, []]}]),
        setting("gap", "x"),
        setting("gap", [-1, 0]),
        setting("gap", ["1e9", 0]),
        setting("gap", [[], 0]),
        setting("gap", [0]),
        setting("dur", [10**30, 1]),
        setting("text", [0]),
        setting("group", [5]),
        setting("start", "1e5"),
        setting("start", str(1 << 64)),
        setting("clock", {"unit": "ns", "numerator": "0", "denominator": "1"}),
        setting("clock", {"unit": "fortnight", "numerator": "1", "denominator": "1"}),
        setting("clock", None),
        setting("rows", []),
        setting("rows", [[0, 1 << 60, "p", "t", 0]]),
        setting("rows", [None, 3, ["x"]]),
    ],
)
def test_damaged_data_is_refused_with_a_reason(change, tmp_path):
    with pytest.raises(UnreadableFile) as refused:
        open_file(written(tmp_path, change))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [
        setting("texts", []),
        setting("texts", [7, None]),
        setting("text", [10**9, 1]),
        setting("key", [10**18, 10**18]),
        setting("keys", [None]),
        setting("keys", [[10**18, -1, 10**18]]),
        setting("groups", 7),
        setting("timing", [255, 1]),
        setting("native", {"99": "x", "y": 1}),
        setting("slices", -5),
        lambda data: data.update(places=[[["x", None], [0], []]], files=None),
    ],
)
def test_other_damage_loses_texts_but_no_slice(change, tmp_path):
    assert len(open_file(written(tmp_path, change)).slices) == 2


def test_a_row_that_is_too_far_is_left_out_and_counted(tmp_path):
    def far(data):
        profile = profile_of(data)
        profile["dur"] = [1 << 62, 1]

    with pytest.raises(UnreadableFile):
        open_file(written(tmp_path, far))


def test_a_cut_report_says_so(tmp_path):
    path = tmp_path / "report.html"
    write_report(sample("plain_csv"), path)
    whole = path.read_bytes()
    for size in (2000, len(whole) // 2):
        path.write_bytes(whole[:size])
        with pytest.raises(UnreadableFile, match="missing or cut"):
            open_file(str(path))


def test_another_page_is_no_report():
    with pytest.raises(UnreadableFile, match="does not recognize the format"):
        choose(b"<!DOCTYPE html><html><head></head></html>", "x.html")


def test_slices_of_a_separate_clock_are_left_out_and_counted(tmp_path):
    path = written(tmp_path, setting("native", {"1": "5 cycles"}))
    trace = open_file(path)
    assert len(trace.slices) == 1
    assert [p.count for p in trace.problems] == [1]


def test_a_report_is_json_of_whole_numbers(tmp_path):
    path = tmp_path / "report.html"
    write_report(sample("attention_xnnpack"), path)
    profile = profile_of(Page(path.read_text(encoding="utf-8")).data())
    assert all(isinstance(n, int) for name in ("gap", "dur") for n in profile[name])
    assert max(profile["dur"]) == 386_096
    assert json.loads(profile["start"]) == sample("attention_xnnpack").traces[0].start
