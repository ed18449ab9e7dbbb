"""One figure of one thing: Summary, Operators, Statistics, the legend and the command agree."""

from pathlib import Path

import pytest

from tests.builders.stepped_traces import stepped
from viewer.analysis.statistics.pivot import medians_per_inference
from viewer.gui.panels.base.group_rows import group_contents
from viewer.gui.panels.base.operator_model import costs_contents, set_facts
from viewer.gui.panels.operators import list_names
from viewer.gui.panels.summary import panel as summary_panel
from viewer.gui.session.feeds import feed as cost_feed
from viewer.model.figures import STEADY
from viewer.model.inference_views import Inferences
from viewer.reports.stats import stats
from viewer.resources import SAMPLES
from viewer.view.open_trace import views_of
from viewer.workspace.workspace import Workspace

DATA = Path(__file__).parents[3] / "data"
# Without a program, a kernel and the call around it have the same label on screen.
UNLINKED = ("etdump/cnn_portable_x10.etdp", "phases/llm_200.etdp", "pte/llama.etdp")
FILES = [sample.paths() for sample in SAMPLES] + [[DATA / name] for name in UNLINKED]


def opened(files):
    space = Workspace()
    for file in files:
        space.open(str(file))
    return space, views_of(space, {Inferences.AS_RUN}, {}).values()


def summary_answer(shown, space):
    return summary_panel._answer(shown, STEADY, False, space, (), ()).summary


def by_name(contents):
    """Name -> the sort keys of the columns by title."""
    titles = [heading.title for heading in contents.headings]
    return {row.name: dict(zip(titles, row.keys, strict=True)) for row in contents.rows}


def check(space, shown):
    """Compare what is displayed of an open trace in the scope that a window starts with."""
    summary, base = summary_answer(shown, space), shown.base_of(STEADY)
    costs = cost_feed._answer(shown, STEADY, None)
    rate = float(shown.axis.ns_per_tick)
    assert summary.base.divisor == base.divisor
    key = "operator" if summary.is_linked else "name"
    if summary.is_linked:
        rows = by_name(costs_contents(costs, set_facts(shown.table)))
    else:
        rows = by_name(list_names(shown, STEADY).contents)
    grouping = shown.grouping_for(STEADY)
    medians = medians_per_inference(grouping, key) if base.is_mean else {}
    table = grouping.by(key)
    groups = by_name(group_contents(shown, table, "Group", base, medians=medians))
    own = base.titled("Self")
    assert sum(group.wall or 0 for group in table.groups) + table.ungrouped == table.whole
    # Summary and Operators.
    totals = sorted((row[own] for row in rows.values()), reverse=True)
    for expensive in summary.expensive:
        assert any(base.ns(expensive.ticks) == pytest.approx(ns) for ns in totals)
    if summary.expensive and not summary.without_shared:
        most = max(summary.expensive, key=lambda expensive: expensive.ticks)
        assert base.ns(most.ticks) == pytest.approx(totals[0])
    # Operators, Statistics and the command.
    assert sorted(totals) == pytest.approx(sorted(row[own] for row in groups.values()))
    if not base.is_mean:
        return
    title = base.median_title
    facts = stats(space, key, phase=base.phase, per_inference=True)
    of_file = [row for row in facts["rows"] if row["file"] == shown.file.path]
    for name, column in (("self", own), ("p50", title)):
        ns = sorted(row[f"{name}_per_inference_ns"] for row in of_file)
        for faces in (rows, groups):
            shown_ns = sorted(float(row[column]) for row in faces.values())
            assert ns == pytest.approx(shown_ns, abs=1)
    (file,) = (file for file in facts["files"] if file["path"] == shown.file.path)
    assert file["whole_per_inference_ns"] == pytest.approx(base.ns(table.whole), abs=1)
    assert summary.expensive_whole * rate / base.divisor == pytest.approx(base.ns(table.whole))


@pytest.mark.slow
@pytest.mark.parametrize("files", FILES, ids=lambda files: Path(files[0]).stem)
def test_figures_of_files_agree_on_every_face(files):
    space, traces = opened(files)
    for shown in traces:
        check(space, shown)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_figures_of_generated_traces_agree_on_every_face(seed):
    space = Workspace()
    space.add(stepped(seed, phases=1 + seed % 2, threads=1 + seed % 3).trace)
    (shown,) = views_of(space, {Inferences.AS_RUN}, {}).values()
    check(space, shown)
