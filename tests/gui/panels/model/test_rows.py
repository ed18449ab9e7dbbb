"""The rows of the model panel: their figures against those of operators, and slices in them."""

import pytest

from tests.gui.panels.model.tree import ATTENTION_0, THIN, index, opened_rows, row_at, texts
from viewer.gui.panels.model import rows as model_rows
from viewer.gui.panels.model.panel import ModelPanel
from viewer.gui.panels.model.table import ModelColumn, RowKind
from viewer.gui.session.feeds.feed import CostFeed
from viewer.gui.session.navigation import pick_run
from viewer.model.inference_views import Inferences


def test_a_module_tells_what_all_in_it_cost(panel):
    block = row_at(panel, "forward", "blocks.0")
    assert texts(panel, block) == {
        ModelColumn.NAME: "blocks.0",
        ModelColumn.TOTAL: "27.261\u202fµs",
        ModelColumn.SHARE: "49.4",
        ModelColumn.FORWARD: "–",
        ModelColumn.BACKWARD: "–",
        ModelColumn.SELF: "16.255\u202fµs",
        ModelColumn.SHARED: "–",
        ModelColumn.SLICES: "20",
        ModelColumn.MEAN: "1.363\u202fµs",
        ModelColumn.P50: "24.482\u202fµs",
        ModelColumn.SUM: "27.261\u202fµs",
    }
    assert panel.model.rows.hint(block) == "AttentionBlock"
    assert panel.model.rows.title(ModelColumn.TOTAL) == "Total"
    assert panel.model.rows.title(ModelColumn.SHARE) == "% of inference time"


def test_modules_of_a_training_have_forward_and_backward(show_files):
    """Each module is one row, whose total is both directions; what has no module is apart."""
    panel = show_files(ModelPanel, "chrome_json/torch_training.json.gz")
    rows, costs = panel.model.rows, panel.costs.costed.costs
    names = [rows.name(rows.items[node]) for node in rows.below(0)]
    assert names == ["outside the modules", "Net_0", "backward, no module"]
    assert (costs.total == costs.forward + costs.backward)[rows.items[rows.below(0)[1]].number]
    whole = rows.figures(rows.items[0])
    parts = [rows.figures(rows.items[node]) for node in rows.below(0)]
    for field in ("total", "forward", "backward"):
        assert sum(getattr(part, field) or 0 for part in parts) == getattr(whole, field)
    paths = [module.path for module in costs.tree.modules if module.path]
    assert len(paths) == len(set(paths))
    shown = panel.view.shown_columns
    assert {ModelColumn.FORWARD, ModelColumn.BACKWARD, ModelColumn.SELF} <= set(shown)
    assert [rows.title(column) for column in (ModelColumn.TOTAL, ModelColumn.FORWARD)] == [
        "Total, mean of 5", "Forward",
    ]  # fmt: skip
    assert rows.text(rows.items[0], ModelColumn.P50) != "–"
    assert rows.title_tip(ModelColumn.P50).startswith("Median per step: half of the counted steps")
    panel.resize(620, 400)
    assert ModelColumn.SHARE not in panel.view.shown_columns
    assert panel.view.columnWidth(0) >= 0.4 * panel.view.viewport().width()


def test_what_a_module_explains_of_its_total_adds_up(panel):
    block = row_at(panel, "forward", "blocks.0")
    lines = panel.model.rows.explained(block).replace(THIN, " ").splitlines()
    assert lines[0] == "blocks.0"
    assert lines[1].startswith("Total 27.261 µs: 16.255 µs in its own operators + ")
    total, *parts = (float(w) for w in lines[1].split() if w.replace(".", "").isdigit())
    assert total == pytest.approx(sum(parts), abs=1e-9)


def test_the_rows_in_a_module_add_up_to_it_with_what_they_share(panel):
    rows = panel.model.rows
    for module in (row_at(panel, "forward"), row_at(panel, "forward", "blocks.1")):
        inside = [rows.items[n] for n in rows.below(module.id)]
        assert sum(rows.figures(r).total or 0 for r in inside) == rows.figures(module).total


def test_a_shared_call_is_a_row_of_the_module_around_it_and_no_part_of_the_others(panel):
    rows = panel.model.rows
    shared = [r for n in rows.below(row_at(panel, "forward", "blocks.0").id)
              if (r := rows.items[n]).kind is RowKind.SET]  # fmt: skip
    mlp = next(r for r in shared if rows.name(r) == "2 linear + gelu + add")
    assert rows.hint(mlp) == "shared by 4"
    assert texts(panel, mlp)[ModelColumn.TOTAL] == "2.674\u202fµs"
    assert texts(panel, mlp)[ModelColumn.SELF] == "–"
    fc1 = row_at(panel, "forward", "blocks.0", "mlp", "fc1")
    assert texts(panel, fc1)[ModelColumn.TOTAL] == "–"
    assert texts(panel, fc1)[ModelColumn.SHARED] == "2.674\u202fµs"
    linear = row_at(panel, "forward", "blocks.0", "mlp", "fc1", "linear")
    assert rows.hint(linear) == "shared · line 33"
    assert not rows.has_below(linear.id)


def test_operators_cost_what_the_operators_panel_says(panel):
    rows = panel.model.rows
    table = CostFeed.of(panel.session).answer.table
    assert [r.operators for r in table.rows if len(r.operators) == 1]
    for cost in table.rows:
        row = rows.items[rows.find(cost.operators)]
        assert (rows.figures(row).total, rows.figures(row).slices) == (cost.ticks, cost.slices)


def test_the_footer_adds_up_to_method_execute(panel):
    assert panel.footer.text().replace(THIN, " ") == (
        "Modules 36.316 µs 65.8 %, Shared 14.682 µs 26.6 %, "
        "No operator 4.214 µs 7.6 %, Method::execute 55.212 µs"
    )
    assert panel.note.text() == (
        "18 modules, 38 operators · median of 4 inferences (1 warm-up left out)"
    )


def test_another_run_has_other_figures_and_the_same_rows_open(panel):
    block = row_at(panel, "forward", "blocks.0")
    panel.view.expand(index(panel, block))
    before = opened_rows(panel)
    pick_run(panel.session, None)
    assert panel.subtitle.text() == "4 inferences after warm-up · attn_xnnpack_x5.etdp"
    assert texts(panel, row_at(panel, "forward"))[ModelColumn.SLICES] == "160"
    assert opened_rows(panel) == before == ["forward", "blocks.0"]


def test_the_median_is_of_the_runs_however_they_are_shown(panel):
    session = panel.session
    before = texts(panel, row_at(panel, "forward"))[ModelColumn.P50]
    for view in (Inferences.ALIGNED, Inferences.MEAN, Inferences.AS_RUN):
        session.show_inferences(view)
        assert texts(panel, row_at(panel, "forward"))[ModelColumn.P50] == before


def test_slices_are_listed_in_order_of_time_with_their_lengths(panel):
    rows, slices = panel.model.rows, panel.session.traces[0].trace.slices
    attention = rows.items[rows.find((ATTENTION_0,))]
    listed = [rows.items[n] for n in rows.below(attention.id)]
    assert len(listed) == 12
    starts = [int(slices.start[r.number]) for r in listed]
    assert starts == sorted(starts)
    assert rows.text(listed[0], ModelColumn.TOTAL) == "641\u202fns"
    assert rows.name(listed[0]).replace(THIN, " ") == "at 685.874 µs"
    # They do not lie in one another, so what the operator cost is all of them.
    lengths = sum(rows.figures(r).total for r in listed)
    assert lengths == rows.figures(attention).total


def test_of_many_slices_the_first_are_listed_and_the_rest_is_counted(panel, monkeypatch):
    monkeypatch.setattr(model_rows, "MOST_SLICES", 5)
    rows = panel.model.rows
    inside = rows.below(rows.find((ATTENTION_0,)))
    assert [rows.items[n].kind for n in inside] == [RowKind.SLICE] * 5 + [RowKind.REST]
    assert rows.name(rows.items[inside[-1]]) == "7 later slices not listed"


def test_slices_of_several_runs_say_of_which_they_are(panel):
    pick_run(panel.session, None)
    rows = panel.model.rows
    inside = [rows.items[n] for n in rows.below(rows.find((ATTENTION_0,)))]
    assert len(inside) == 48
    assert {rows.hint(r) for r in inside} == {f"run {n} of 5" for n in range(2, 6)}
