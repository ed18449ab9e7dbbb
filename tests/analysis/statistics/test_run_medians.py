"""The median per inference of every key: by plain loops, and the same wherever it is displayed."""

import statistics
from fractions import Fraction

import pytest

from tests.builders.stepped_traces import counted_spans, self_times, stepped
from tests.paths import DATA
from viewer.analysis.statistics.pivot import cell_medians, medians_per_inference, pivot
from viewer.api.profile import Profile
from viewer.formats import open_file
from viewer.gui.panels.base.group_rows import group_contents
from viewer.model.figures import STEADY
from viewer.model.inference_views import Inferences
from viewer.model.times import format_time, plain_spaces
from viewer.reports.stats import NoSuchGroups, stats, stats_text
from viewer.tables.statistics import statistics_columns
from viewer.view.open_trace import views_of
from viewer.workspace.workspace import Workspace

KEYS = ("name", "thread", "process", "category", "arg:batch")


def open_trace_of(trace):
    space = Workspace()
    space.add(trace)
    (open_trace,) = views_of(space, {Inferences.AS_RUN}, {}).values()
    return space, open_trace


def spans_of(trace):
    """The counted inferences of the phase that figures are of: the one with most time."""
    return max(counted_spans(trace).values(), key=lambda own: sum(b - a for a, b in own))


def truth_of(made, spans, key):
    """Label -> the median of the self times of the counted inferences."""
    times = self_times(made.pieces, spans, key)
    return {label: statistics.median(ticks) for label, ticks in times.items()}


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("seed", range(24))
def test_medians_of_every_key_are_those_of_a_plain_loop_on_every_face(seed, key):
    made = stepped(seed, threads=1 + seed % 4, all_tracks=seed % 3 == 2)
    space, open_trace = open_trace_of(made.trace)
    if not open_trace.base_of(STEADY).is_mean:
        with pytest.raises(NoSuchGroups):
            stats(space, key, per_inference=True)
        return
    base, spans = open_trace.base_of(STEADY), spans_of(space.traces[0])
    truth, grouping = truth_of(made, spans, key), open_trace.grouping_for(STEADY)
    table = grouping.by(key)
    medians = medians_per_inference(grouping, key)
    number = {group.label: group.number for group in table.groups}
    assert {label: medians[number[label]] for label in truth} == truth
    # JSON and DataFrame.
    facts = stats(space, key, phase=base.phase, per_inference=True)
    rows = {row["label"]: row for row in facts["rows"]}
    assert rows.keys() == number.keys()
    frame = Profile(space).stats(key, phase=base.phase, per_inference=True).set_index("label")
    exported = statistics_columns(
        made.trace.path, Fraction(1), table, table.groups,
        base=base, medians=medians,
    )  # fmt: skip
    columns = dict(zip(exported["label"], exported["p50_per_inference_ns"], strict=True))
    for label, median in truth.items():
        assert rows[label]["p50_per_inference_ticks"] == median
        assert rows[label]["p50_per_inference_ns"] == median // 1
        assert frame["p50_per_inference_ns"][label] == median // 1
        assert columns[label] == median // 1
    # Text and window.
    contents = group_contents(open_trace, table, "Group", base, medians=medians)
    place = [heading.title for heading in contents.headings].index(f"Median of {len(spans)}")
    cells = {row.name: plain_spaces(row.texts[place]) for row in contents.rows}
    lines = stats_text(facts).splitlines()
    for label, median in truth.items():
        text = plain_spaces(format_time(median))
        assert cells[label] == text
        (line,) = (line for line in lines if line.endswith(label) and "thread" not in line[:8])
        assert text in line


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_group_has_the_sum_of_its_parts_in_each_inference(seed):
    made = stepped(seed, threads=1 + seed % 3)
    space, open_trace = open_trace_of(made.trace)
    spans, grouping = spans_of(space.traces[0]), open_trace.grouping_for(STEADY)
    if not open_trace.base_of(STEADY).is_mean:
        return
    keys = "name", "thread"
    medians = cell_medians(grouping, made.trace.slices, keys)
    for row in pivot(grouping, made.trace.slices, keys).rows:
        for cell in row.cells:
            thread = cell.label
            of_thread = [p for p in made.pieces if p.facts["thread"] == thread]
            ticks = self_times(of_thread, spans, "name")[row.group.label]
            assert medians[row.group.number, cell.number] == statistics.median(ticks)


@pytest.mark.parametrize("key", ["inference", "unit"])
def test_rows_that_are_no_part_of_an_inference_have_no_mean(key):
    space = Workspace()
    space.add(open_file(str(DATA / "torq" / "host_h4_latest_2inv.csv")))
    with pytest.raises(NoSuchGroups, match=r"Rows are inferences|Units are those of the whole"):
        stats(space, key, per_inference=True)
