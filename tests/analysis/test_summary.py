"""The summary of a trace repeats figures of other analyses, and what a model holds is counted."""

from fractions import Fraction

import pytest

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.findings.inferences import SlowestInference
from viewer.analysis.summaries import executable_contents, program_contents, summary_of
from viewer.formats import open_file
from viewer.model.figures import STEADY, TimeScope
from viewer.model.inference_views import Inferences, view_of
from viewer.model.times import plain_spaces
from viewer.resources import SAMPLES
from viewer.view.open_trace import views_of

TORQ = next(sample for sample in SAMPLES if sample.key == "torq_npu").paths()


def opened(*paths):
    """The workspace of some files, and its first trace as it ran."""
    space = workspace_of(*paths)
    return space, views_of(space, {Inferences.AS_RUN}, {})[space.traces[0], Inferences.AS_RUN]


def summary(shown, scope=STEADY, *, warm_up=False):
    rate = shown.axis.ns_per_tick
    return summary_of(shown.findings, shown.delegation, scope, rate, warm_up=warm_up)


@pytest.fixture(scope="module")
def attention():
    return opened(*SAMPLES[0].paths())[1]


def scopes(shown):
    return [STEADY, TimeScope(), *(TimeScope(run) for run in shown.trace.inferences())]


def test_its_figures_are_those_of_costs_delegation_and_findings(attention):
    rate = attention.axis.ns_per_tick
    for scope in scopes(attention):
        made = summary(attention, scope)
        assert made.costs == attention.costs.table(scope)
        report = attention.delegation.report(scope)
        assert made.delegation is not None
        assert (made.delegation.delegated, made.delegation.whole) == (
            report.delegated,
            report.whole,
        )
        assert made.findings == attention.findings.of(scope, rate)
        alone = [row for row in made.costs.rows if not row.is_shared][:3]
        assert [(one.operators, one.ticks) for one in made.expensive] == [
            (row.operators, row.ticks) for row in alone
        ]
        assert made.whole == made.costs.whole == report.whole


def test_the_median_is_next_to_the_inference_of_the_typical_view(attention):
    median = summary(attention).median
    assert median is not None
    shown = view_of(attention.file, Inferences.TYPICAL).runs[0]
    assert median.typical_ticks == shown.end - shown.start == 51_207
    assert median.ticks == 51_607
    assert (median.runs, attention.file.runs[median.run].number) == (4, 5)
    every = summary(attention, warm_up=True).median
    assert every is not None
    assert (every.ticks, every.runs) == (52_007, 5)


def test_the_slowest_inference_says_why_like_its_finding(attention):
    made = summary(attention)
    slowest = made.slowest
    assert slowest is not None
    assert slowest.text == "Inference 1 took 2.2 times the median"
    assert any(slowest.why in finding.detail for finding in made.findings.found)
    assert plain_spaces(slowest.why).startswith("Slower than inference 5 mainly in:")


def test_calls_that_operators_share_are_listed_if_they_take_most():
    _, shown = opened(*(path for path in TORQ if "host" not in path))
    made = summary(shown)
    assert not made.without_shared
    assert made.expensive[0].operators == shown.costs.table(STEADY).rows[0].operators
    assert len(made.expensive[0].operators) == 2
    assert made.expensive[0].lines == "11, 13"


def test_several_methods_have_no_common_median(data):
    _, shown = opened(data / "etdump" / "multi_forward_decode_portable_x3.etdp")
    assert summary(shown).median is None
    first = next(iter(shown.trace.inferences()))
    median = summary(shown, TimeScope(first)).median
    assert median is not None
    assert shown.file.runs[median.run].scope == first.scope


def test_a_trace_without_inferences_has_a_span_busy_time_and_names(data):
    _, shown = opened(data / "chrome_json" / "kineto_cpu.json")
    made = summary(shown)
    assert (made.median, made.slowest, made.delegation, made.is_linked) == (None,) * 3 + (False,)
    assert made.span == shown.trace.end - shown.trace.start > 0
    context = shown.findings.context(STEADY, shown.axis.ns_per_tick)
    named = context.work.by_thing(context.ticks)[:3]
    assert [(one.label, one.ticks) for one in made.expensive] == named
    assert all(one.keys for one in made.expensive)
    assert made.whole == context.whole_ticks
    assert made.threads >= 1


def test_a_record_alone_holds_operators_and_delegates():
    held = program_contents(open_file(SAMPLES[0].paths()[1]))
    counts = {one.noun: one.count for one in held}
    assert counts == {
        "method": 1,
        "operator": 38,
        "operator delegated": 30,
        "operator partly delegated": 2,
        "operator not delegated": 6,
        "backend": 1,
        "delegate call": 10,
        "source file": 1,
    }


def test_a_program_file_alone_holds_instructions(data):
    held = executable_contents(open_file(str(data / "pte" / "part_x.pte")))
    counts = {one.noun: one.count for one in held}
    assert counts["method"] == 1
    assert counts["instruction"] >= counts["delegate"] >= 1


def test_an_inference_near_the_median_is_only_called_the_slowest():
    near = SlowestInference(0, 2, "", 102, Fraction(100), 3, "")
    assert plain_spaces(near.text) == "Inference 2 was the slowest, within 5 % of the median"
    slow = SlowestInference(0, 2, "", 105, Fraction(100), 3, "")
    assert slow.text == "Inference 2 took 1.1 times the median"
    alone = SlowestInference(0, 1, " of encode", 105, Fraction(105), 1, "")
    assert alone.text == "Inference 1 of encode was the slowest"


def test_phases_that_a_log_states_are_in_no_list_of_events_together():
    shown = opened(DATA / "logs/llama_log.txt")[1]
    made = summary(shown)
    assert made.expensive == ()
    assert [one.name for one in made.methods] == ["decode", "prefill"]
    one = next(shown.trace.inferences())
    assert [event.label for event in summary(shown, TimeScope(one)).expensive] == ["prefill"]
