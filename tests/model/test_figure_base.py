"""Figures per inference of generated traces, against loops over their slices."""

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.builders.stepped_traces import counted_spans, means, stepped
from viewer.analysis.statistics.pivot import medians_per_inference
from viewer.model.figures import EVERY_PHASE, STEADY, TimeScope, figure_base
from viewer.model.inference_views import Inferences
from viewer.model.times import format_time
from viewer.reports.stats import NoSuchGroups, stats, stats_text
from viewer.view.open_trace import views_of
from viewer.workspace.workspace import Workspace

SEEDS = range(30)


def shown_of(trace):
    space = Workspace()
    space.add(trace)
    (shown,) = views_of(space, {Inferences.AS_RUN}, {}).values()
    return space, shown


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_figure_is_the_mean_of_the_counted_inferences(seed, threads):
    made = stepped(seed, threads=threads)
    space, shown = shown_of(made.trace)
    spans = counted_spans(space.traces[0])
    base = shown.base_of(STEADY)
    if sum(map(len, spans.values())) < 2:
        assert not base.is_of_several
        return
    # Of several phases, figures are of the one with the largest total.
    phase = max(spans, key=lambda name: sum(b - a for a, b in spans[name]))
    count = len(spans[phase])
    assert (base.count, base.is_mean) == (count, count > 1)
    assert base.phase == (phase if len(spans) > 1 else "")
    if not base.is_mean:
        return
    truth, grouping = means(made.pieces, spans[phase]), shown.grouping_for(STEADY)
    table = grouping.by("name")
    rows = {group.label: group for group in table.groups}
    assert rows.keys() == truth.keys()
    for name, own in truth.items():
        assert Fraction(base.ns(rows[name].self_ticks)) == pytest.approx(own.mean(count))
        assert Fraction(base.ns(rows[name].total)) == pytest.approx(Fraction(own.total, count))
        assert base.text(rows[name].self_ticks) == format_time(float(own.mean(count)))
        assert base.ns_of_one(rows[name].total) == own.total
        assert rows[name].spread.count == own.count
    assert sum(group.wall for group in rows.values()) + table.ungrouped == table.whole
    medians = medians_per_inference(grouping, "name")
    assert {rows[name].number: own.median for name, own in truth.items()} == medians


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_command_states_the_same_for_each_phase(seed):
    made = stepped(seed)
    space, _ = shown_of(made.trace)
    for phase, spans in counted_spans(space.traces[0]).items():
        if (count := len(spans)) < 2:
            with pytest.raises(NoSuchGroups, match="fewer than two inferences"):
                stats(space, "name", phase=phase, per_inference=True)
            continue
        truth = means(made.pieces, spans)
        facts = stats(space, "name", phase=phase, per_inference=True)
        (file,) = facts["files"]
        assert file["per_inferences"] == count
        rows = {row["label"]: row for row in facts["rows"]}
        for name, own in truth.items():
            assert rows[name]["self_ticks"] == own.self_ticks
            assert rows[name]["self_per_inference_ns"] == own.mean(count) // 1
            assert rows[name]["total_per_inference_ns"] == own.total // count
            assert rows[name]["p50_per_inference_ticks"] == own.median
        each = sum(row["wall_per_inference_ns"] for row in facts["rows"])
        assert each + file["ungrouped_per_inference_ns"] == file["whole_per_inference_ns"]
        text = stats_text(facts)
        assert f"Self, mean of {count}" in text
        assert f"Median of {count}" in text


@pytest.mark.parametrize("seed", range(8))
def test_of_several_phases_figures_are_sums_that_say_so(seed):
    trace = stepped(seed, phases=2).trace
    counted = sum(map(len, counted_spans(trace).values()))
    base = figure_base(trace, STEADY, Fraction(1))
    assert (base.divisor, base.count) == (1, counted)
    assert base.titled("Self") == f"Self, sum of {counted}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_figures_are_of_the_chosen_phase_or_of_all_added_up(seed):
    made = stepped(seed, phases=2)
    space, shown = shown_of(made.trace)
    spans = counted_spans(space.traces[0])
    if len(spans) < 2:
        return
    assert set(shown.phases_of(STEADY)) == set(spans)
    for phase, own in spans.items():
        scope = replace(STEADY, phase=phase)
        base, table = shown.base_of(scope), shown.grouping_for(scope).by("name")
        truth = means(made.pieces, own)
        for group in table.groups:
            assert base.ns(group.self_ticks) == pytest.approx(
                float(truth[group.label].mean(len(own)))
            )
    every = replace(STEADY, phase=EVERY_PHASE)
    inside = means(made.pieces, [span for own in spans.values() for span in own])
    sums = {group.label: group.self_ticks for group in shown.grouping_for(every).by("name").groups}
    assert sums == {name: one.self_ticks for name, one in inside.items()}
    count = sum(map(len, spans.values()))
    assert shown.base_of(every).titled("Self") == f"Self, sum of {count}"


def test_one_inference_or_a_range_needs_no_base():
    trace = stepped(1).trace
    for scope in (TimeScope(next(trace.inferences())), TimeScope(ticks=(0, 10))):
        base = figure_base(trace, scope, Fraction(1))
        assert base.titled("Self") == "Self"
        assert base.text(385) == format_time(385)


def test_what_the_file_cuts_to_zero_has_a_bound_per_inference():
    base = figure_base(stepped(3).trace, STEADY, Fraction(1))
    assert base.is_mean
    assert base.text(0, base.count) == "<\u202f1\u202fµs"
    assert base.text(0, 0) == "0"
