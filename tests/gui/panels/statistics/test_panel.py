"""The statistics panel: units of the whole trace and of a range, and that the bar adds up."""

import csv
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu

import viewer
from tests.analysis.statistics.test_pivot import generated
from tests.builders.clocked_traces import NS, clocked_trace
from tests.paths import ROOT
from viewer.formats import open_file
from viewer.gui.panels.base.operator_view import TotalsRow
from viewer.gui.panels.base.table import ColumnKind
from viewer.gui.panels.statistics import panel as statistics_panel
from viewer.gui.panels.statistics import table as statistics_table
from viewer.gui.panels.statistics.panel import StatisticsPanel
from viewer.gui.qt.widgets.tables import marked_rows
from viewer.gui.session import navigation
from viewer.gui.session.clocks import set_delegate_clock
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.navigation import pick_run, run_span_ns
from viewer.gui.session.selection import operator_of
from viewer.gui.session.session import Session
from viewer.model.figures import STEADY
from viewer.model.inference_views import Inferences
from viewer.model.queries import run_of_slices
from viewer.model.times import NARROW_SPACE, counted, format_time
from viewer.view.state import Area, SliceRef

THIN = "\u2009"
SAMPLE = ROOT / "resources" / "samples" / "attention_xnnpack"
C3 = "torq/compile_c3_taskid_mtu.csv"


@pytest.fixture
def panel(show_files):
    return show_files(StatisticsPanel, C3, "torq/tiny_cnn.mlir")


def table(panel):
    """Name -> (indent, time, share, cycles) as shown."""
    chosen = [i for i in range(1, len(panel.model.columns)) if i not in panel.model.unused]
    return {
        row.op: (row.indent, *(plain(row.texts[i]) for i in chosen)) for row in panel.model.rows
    }


def count_column(panel):
    """The place of the number of slices."""
    return [heading.title for heading in panel.model.contents.headings].index("Count, sum")


def plain(text):
    """A text with plain spaces for the narrow ones."""
    return text.replace(THIN, " ").replace(NARROW_SPACE, " ")


def test_units_stand_below_what_they_are_part_of(panel):
    rows = table(panel)
    assert list(rows)[:5] == ["DMA + CDMA", "DMA", "DMA In", "DMA Out", "CDMA"]
    assert [rows[name][0] for name in ("Compute", "Slice units", "Slice unit 1", "CSS")] == [
        0, 1, 2, 1,
    ]  # fmt: skip
    # By hand: CSS is one task of 8,000 cycles at 1.25 ns; the trace is 166,068 cycles long.
    assert rows["CSS"] == (1, "10.000 µs", "4.8", "8 000")
    assert rows["Overall"][3] == "166 068"


def test_the_bar_adds_up_to_the_whole_and_nothing_idle_is_nothing(panel):
    text = plain(panel.footer.text())
    # By hand: 67,791 + 40,577 + 57,700 cycles are all 166,068.
    assert "Only DMA 84.738 µs 40.8 %, Both 50.721 µs 24.4 %, Only compute 72.125 µs" in text
    assert "Idle 0" in text
    assert text.endswith("Overall 207.585 µs")


@pytest.mark.parametrize(("room", "texts_a_part"), [(900, 3), (520, 2), (200, 1)])
def test_every_color_of_the_bar_has_its_name_however_narrow(panel, room, texts_a_part):
    told = panel.footer.legend(room)
    assert [part[0][0] for part in told] == ["Only DMA", "Both", "Only compute", "Idle"]
    assert {len(part) for part in told} == {texts_a_part}
    assert "Only compute 72.125 µs 34.7 %" in plain(panel.footer.toolTip())


def test_the_tooltip_of_a_unit_says_what_it_counts(panel):
    tips = {row.op: row.detail for row in panel.model.rows}
    assert tips["Only DMA"] == "Transfers are active, no slice unit and no CSS"
    assert tips["CSS"] == ""  # a track of its own says what it is
    panel.filter.setText("8")  # of CSS's 8 000 cycles: numbers are not searched
    assert panel.model.rows == []


def test_a_selected_range_has_an_overview_of_its_own(panel):
    session = panel.session
    every = frozenset((0, track) for track in range(6))
    # The last task on the CSS runs from cycle 127,212 on for 8,000 cycles.
    trace = session.traces[0].trace
    css = next(i for i in range(len(trace.slices)) if trace.name(i) == "CSS")
    start, end = session.traces[0].span_ns(css)
    session.select_area(Area(start, end, every))
    rows = table(panel)
    assert rows["CSS"][2] == "100.0"
    assert rows["Slice unit 0"][1] == "0"
    assert "the selected range of 10.000 µs" in plain(panel.subtitle.text())
    session.clear_selection()
    assert table(panel)["CSS"][2] == "4.8"
    assert panel.subtitle.text().startswith("the whole trace")


def pick(panel, key):
    """Choose a key as a user does."""
    index = panel.by.findData(key)
    panel.by.setCurrentIndex(index)
    panel.by.activated.emit(index)


def test_types_of_operators_add_up_over_what_shares_a_line(panel):
    pick(panel, "type")
    rows = table(panel)
    # By hand: the tasks of tosa.max_pool2d are busy for 38,930 cycles.
    assert rows["tosa.max_pool2d"][1] == "48.662 µs"
    assert "Grouped" in panel.footer.text()


def test_keys_that_a_trace_has_not_are_grayed_with_the_reason(panel):
    items = panel.by.model()
    run = items.item(panel.by.findData("inference"))
    assert not run.isEnabled()
    assert "no inferences" in run.toolTip()


def test_a_row_selects_what_it_stands_for(panel):
    session = panel.session
    pick(panel, "operator")
    names = [row.op for row in panel.model.rows]
    panel.table.chosen.emit(names.index("tosa.cast@L15"))
    operator = operator_of(session, 0, session.state.operators[1][0])
    assert operator.label == "tosa.cast@L15"
    pick(panel, "name")
    names = [row.op for row in panel.model.rows]
    panel.table.chosen.emit(names.index("CSS"))
    assert session.traces[0].trace.name(session.state.slice.index) == "CSS"


def test_an_inference_of_a_dump_is_picked_by_its_row(show_files):
    panel = show_files(StatisticsPanel, "etdump/cnn_portable_x10.etdp")
    assert panel.key == "name"  # it has no units, and no record is open
    pick(panel, "inference")
    assert len(panel.model.rows) == 10
    panel.table.chosen.emit(3)
    run = panel.session.state.run
    assert panel.session.traces[0].trace.runs[run[1]].number == 4
    assert len(panel.model.rows) == 10  # the others stay
    assert marked_rows(panel.table) == [3]
    navigation.step_run(panel.session, 1)
    assert marked_rows(panel.table) == [4]


def test_time_per_inference_of_modules_is_listed_whichever_inference_is_picked(attention):
    pick(attention, "module")
    run = next(i for i, run in enumerate(attention.session.traces[0].trace.runs) if run.number == 2)
    pick_run(attention.session, (0, run))
    attention.then.setCurrentIndex(attention.then.findData("inference"))
    attention.then.activated.emit(attention.then.currentIndex())
    first, *cells = attention.model.rows[:6]
    assert [row.op for row in cells] == [f"forward · run {n} of 5" for n in range(1, 6)]
    assert attention.model.contents.headings[1].title == "Self, sum of 5"
    assert sum(row.keys[1] for row in cells) == first.keys[1]


def test_the_chosen_key_stays_for_the_next_file_that_has_it(panel, data):
    pick(panel, "thread")
    session = panel.session
    session.add([open_file(str(data / "torq/runtime_r0_nss.csv"))])
    assert panel.key == "thread"


def test_without_a_profile_it_says_what_it_is_for(show_files):
    assert show_files(StatisticsPanel, "torq/tiny_cnn.mlir").is_empty


def test_a_click_on_a_unit_shows_its_longest_stretch(panel):
    session = panel.session
    names = [row.op for row in panel.model.rows]
    panel.table.chosen.emit(names.index("CSS"))
    # By hand: the one task on the CSS takes 10 µs; as much stands on both sides of it.
    css = next(i for i in range(44) if session.traces[0].trace.name(i) == "CSS")
    start, end = session.traces[0].span_ns(css)
    assert (session.state.t0, session.state.t1) == (start - 10_000, end + 10_000)
    before = session.state
    panel.table.chosen.emit(names.index("Idle"))  # there is none
    assert session.state == before


def test_a_unit_is_shown_on_its_clock(panel):
    session = panel.session
    session.add([clocked_trace("other.etdp", NS, (0, 90_000))])
    own, other = (group.key for group in session.groups)
    css = next(i for i in range(44) if session.traces[0].trace.name(i) == "CSS")
    session.select_slice(SliceRef(0, css))  # so that the panel is about this trace
    session.activate(other)
    session.set_range(500, 600)
    panel.table.chosen.emit([row.op for row in panel.model.rows].index("CSS"))
    start, end = session.traces[0].span_ns(css)
    state = session.state
    assert (state.clock, state.t0, state.t1) == (own, start - 10_000, end + 10_000)
    assert state.range_of(other) == (500, 600)


def test_units_are_those_of_the_run_however_inferences_are_shown(show_files):
    """Their mean has no room for NSS jobs and HAL, which are of no inference's track."""
    panel = show_files(StatisticsPanel, "torq/host_h4_latest_2inv.csv")
    session, before = panel.session, table(panel)
    assert before["NSS jobs"][1] == "828.000 µs"
    session.show_inferences(Inferences.MEAN)
    assert table(panel) == before
    names = [row.op for row in panel.model.rows]
    panel.table.chosen.emit(names.index("NSS jobs"))
    assert session.state.inferences is Inferences.AS_RUN


@pytest.fixture
def attention(sample, show_panel):
    """Statistics of all runs of a linked dump."""
    made = show_panel(StatisticsPanel, sample("attention_xnnpack"), 1000, 500)
    pick_run(made.session, None)
    return made


@pytest.mark.parametrize("key", ["name", "type", "module", "line", "delegate", "thread"])
def test_a_click_selects_the_slices_that_the_row_counts(attention, key):
    session = attention.session
    pick(attention, key)
    shown = session.traces[0]
    for number, row in enumerate(list(attention.model.rows)):
        count = int(row.texts[count_column(attention)].replace(THIN, ""))
        if not count:
            continue
        attention.table.chosen.emit(number)
        chosen = [ref.index for ref in session.state.slices]
        lengths = [shown.trace.slices.end[i] - shown.trace.slices.start[i] for i in chosen]
        assert len(chosen) == count
        assert session.state.slice.index == chosen[int(np.argmax(lengths))]
        if key == "name":
            assert {shown.label(i) if row.op == shown.label(i) else shown.trace.name(i)
                    for i in chosen} == {row.op}  # fmt: skip
        if key == "line" and row.op.startswith("models.py:"):
            lines = {o.source.line for i in chosen for k in shown.link(i).operators
                     if (o := operator_of(session, 0, k)) and o.source}  # fmt: skip
            assert all(str(line) in row.op or "–" in row.op for line in lines)


def test_a_click_in_a_range_selects_those_that_begin_in_it_and_the_range_stays(attention):
    session = attention.session
    pick(attention, "name")
    runs = list(session.traces[0].trace.inferences())
    t0, t1 = run_span_ns(session, 0, runs[1])
    area = Area(t0, t1, frozenset({(0, runs[1].track)}))
    session.select_area(area)
    before = [row.texts for row in attention.model.rows]
    names = [row.op for row in attention.model.rows]
    attention.table.chosen.emit(names.index("DELEGATE_CALL"))
    spans = [session.traces[0].span_ns(ref.index) for ref in session.state.slices]
    assert len(spans) == int(before[names.index("DELEGATE_CALL")][4]) > 1
    assert all(t0 <= start < t1 for start, _ in spans)
    assert session.state.area == area
    assert [row.texts for row in attention.model.rows] == before


def test_what_is_selected_elsewhere_marks_its_group(attention):
    session = attention.session
    pick(attention, "module")
    session.select_operators(0, (9,))
    assert [attention.model.rows[i].name for i in marked_rows(attention.table)] == ["blocks.0"]
    pick(attention, "line")
    assert [attention.model.rows[i].name for i in marked_rows(attention.table)] == ["models.py:52"]
    pick(attention, "operator")
    (row,) = marked_rows(attention.table)
    assert attention.model.rows[row].operators == (9,)
    pick(attention, "thread")
    assert marked_rows(attention.table) == []  # operators are on no thread of their own
    session.select_slice(SliceRef(0, 30))
    track = session.traces[0].trace.slices.track(30)
    assert [attention.model.rows[i].group for i in marked_rows(attention.table)] == [track]


def test_selecting_does_not_count_anew(attention, monkeypatch):
    counted, work = [], statistics_panel._answer
    counting = lambda *asked: (counted.append(asked), work(*asked))[1]  # noqa: E731
    monkeypatch.setattr(statistics_panel, "_answer", counting)
    attention.session.select_operators(0, (9,))
    attention.session.select_slice(SliceRef(0, 30))
    assert counted == []
    navigation.step_run(attention.session, 1)
    assert len(counted) == 1


def test_the_shown_rows_are_exported_as_they_stand(attention, tmp_path):
    pick(attention, "name")
    attention.button.click()
    path = tmp_path / "out.csv"
    attention.host.asked[0][2](str(path))(lambda done, total: None, lambda: False)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == [row.op for row in attention.model.rows]
    counts = [row.texts[count_column(attention)].replace(THIN, "") for row in attention.model.rows]
    assert [row["count"] for row in rows] == counts
    assert {row["by"] for row in rows} == {"name"}
    attention.filter.setText("delegate")
    attention.button.click()
    attention.host.asked[1][2](str(path))(lambda done, total: None, lambda: False)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["label"] for row in rows] == ["DELEGATE_CALL"]


def test_a_table_with_a_rest_adds_up_to_the_whole(attention, tmp_path):
    pick(attention, "line")
    attention.button.click()
    path = tmp_path / "out.tsv"
    attention.host.asked[0][2](str(path))(lambda done, total: None, lambda: False)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert rows[-1]["label"] == "(no operator)"
    runs = attention.session.traces[0].trace.inferences()
    executes = attention.session.traces[0].costs.table(STEADY).whole
    assert sum(int(row["self_ticks"]) for row in rows) == executes
    assert rows[-1]["total_ticks"] == ""
    assert executes <= sum(run.end - run.start for run in runs)


def test_an_inference_that_did_not_finish_is_said_to_be_left_out(show_files):
    panel = show_files(
        StatisticsPanel,
        "etdump/words_failing_x3.etdp",
        "etrecord/words_toedge_portable.etrecord",
    )
    note = "Not counted: 1 unfinished inference"
    assert panel.subtitle.text().startswith("2 of 3 inferences · ")
    assert panel.subtitle.text().endswith(note)
    assert plain(panel.footer.text()).endswith(f"Method::execute 8.377 µs, mean of 2, {note}")
    shown = panel.answer.shown
    failed = next(i for i, run in enumerate(shown.trace.runs) if not run.finished and run.number)
    pick_run(panel._session, (0, failed))
    assert note not in panel.subtitle.text()
    assert plain(panel.footer.text()).endswith("Total 103.404 µs")


def test_a_delegates_rate_adds_a_column_and_says_what_it_is_in(show_files):
    panel = show_files(StatisticsPanel, "etdump/SYN_qnn_like.etdp")
    name = "QNN accelerator (execute) time (cycles)"
    assert name not in table(panel)
    assert "3 slices with separate clocks left out" in panel.subtitle.text()
    set_delegate_clock(panel._session, 0, "cycles", Fraction(5, 4))
    assert table(panel)[name] == (
        0, "–", "6.250 µs", "–", "–", "1", *["6.250 µs"] * 5,
    )  # fmt: skip
    assert table(panel)["DELEGATE_CALL"][1:] == (
        "7.000 µs", "–", "78.7", "7.000 µs", "1", *["7.000 µs"] * 5,
    )  # fmt: skip
    assert (
        "slices on a delegate's clock are counted, but not in times and shares"
        in panel.subtitle.text()
    )


def by_kernel(show_files, name):
    panel = show_files(StatisticsPanel, f"delegate_clocks/{name}.etdp")
    pick(panel, "kernel")
    return panel


def test_kernels_on_the_clock_of_a_gpu_have_times_but_no_share_of_the_whole(show_files):
    panel = by_kernel(show_files, "vulkan_shaders")
    # Per inference, of the five after the warm-up.
    assert table(panel) == {
        "conv2d_dw_output_tile_3x3_texture3d_half": (
            0, "–", "2.800 ms", "–", "–", "20", *["700.000 µs"] * 5, "–",
        ),
        "linear_naive_buffer_float":
            (0, "–", "600.000 µs", "–", "–", "20", *["150.000 µs"] * 5, "–"),
        "binary_add_texture3d_half":
            (0, "–", "320.000 µs", "–", "–", "20", *["80.000 µs"] * 5, "–"),
    }  # fmt: skip
    said = plain(panel.subtitle.text())
    assert said.startswith("3.720 ms on the clock of VulkanBackend, no part of the whole")
    assert "3.604 ms, mean of 5" in plain(panel.footer.text())


def test_kernels_of_unknown_rate_are_in_their_own_unit(show_files):
    panel = by_kernel(show_files, "qnn_units")
    assert table(panel)["aten_add_1:OpId_7"] == (
        0, "–", "20 000 cycles", "–", "–", "1", *["20 000 cycles"] * 5,
    )  # fmt: skip
    pick(panel, "name")
    said = plain(panel.subtitle.text())
    assert "6 slices with separate clocks left out: see Kernel" in said
    assert "2 values without a time left out" in said


def test_layers_are_grouped_by_the_hardware_that_their_table_states(show_files):
    panel = show_files(StatisticsPanel, "layers/aihub_profile.json")
    assert panel.key == "unit"
    rows = table(panel)
    assert {name: row[1:3] for name, row in rows.items()} == {
        "CPU": ("940.000 µs", "81.2"), "NPU": ("217.000 µs", "18.8"),
    }  # fmt: skip
    assert plain(panel.footer.text()).endswith("Busy time 1.157 ms")
    panel._choose(list(rows).index("CPU"))
    assert [row.op for row in marked(panel)] == ["CPU"]


def marked(panel):
    return [panel.model.rows[row] for row in marked_rows(panel.table)]


# -- then by ---------------------------------------------------------------------------------------


@pytest.fixture
def pivoted(show_files):
    """Operators of three inferences, divided by inference."""
    panel = show_files(StatisticsPanel, "etdump/demo_portable_x3.etdp")
    panel.session.change(replace(panel.session.state, run=None))
    panel.by.setCurrentIndex(panel.by.findData("name"))
    panel.by.activated.emit(panel.by.currentIndex())
    panel.then.setCurrentIndex(panel.then.findData("inference"))
    panel.then.activated.emit(panel.then.currentIndex())
    return panel


def test_a_second_key_puts_rows_that_add_up_below_each_group(pivoted):
    wall = next(i for i, h in enumerate(pivoted.model.contents.headings) if h.key == "self_ns")
    sums, names = {}, []
    for row in pivoted.model.rows:
        if not row.indent:
            names.append(row.name)
            sums[row.name] = [row.keys[wall], 0]
        else:
            sums[names[-1]][1] += row.keys[wall]
    assert len(names) > 3
    assert all(total == of_cells for total, of_cells in sums.values())
    assert any(row.indent and "run 1 of 3" in row.op for row in pivoted.model.rows)


def test_sorting_and_filtering_keep_parts_below_their_group(pivoted):
    model = pivoted.model
    count = len(model.rows)
    for column in range(model.columnCount()):
        model.sort(column)
        assert not model.rows[0].indent
        assert len(model.rows) == count
    name = next(row.name for row in model.rows if not row.indent)
    pivoted.filter.setText(name)
    assert [row.name for row in model.rows if not row.indent] == [name]
    assert any(row.indent for row in model.rows)


def test_a_click_on_a_part_selects_its_slices(pivoted):
    row = next(i for i, row in enumerate(pivoted.model.rows) if row.indent and "run 2" in row.op)
    pivoted._choose(row)
    (shown,) = pivoted.session.traces
    state = pivoted.session.state
    chosen = [state.slice.index, *(state.others.of[0].tolist() if len(state.others) else ())]
    runs = {run_of_slices(shown.trace)[index] for index in chosen}
    assert {shown.trace.runs[run].number for run in runs} == {2}


def test_the_parts_are_exported(pivoted, tmp_path):
    path = tmp_path / "out.csv"
    answer = pivoted.groups
    statistics_table.pivot_job(str(path), answer.shown, answer.pivoted)(
        lambda *done: None, lambda: False
    )
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["then_by"] for row in rows} == {"inference"}
    assert len(rows) == sum(len(cells) for cells in answer.cells)


def test_the_overview_of_units_has_no_second_key(panel):
    assert panel.key == "unit"
    assert not panel.then.isVisible()
    panel.by.setCurrentIndex(panel.by.findData("operator"))
    panel.by.activated.emit(panel.by.currentIndex())
    assert panel.then.isVisible()
    assert panel.then.findData("operator") < 0
    assert panel.then.findData("unit") >= 0


@pytest.fixture
def generated_panel(opened, show_panel):
    session = Session()
    session.add([generated(5)])
    made = show_panel(StatisticsPanel, session)
    pick(made, "name")
    return made


def visible(panel):
    """The titles of the columns on screen."""
    header = panel.table.horizontalHeader()
    headings = panel.model.contents.headings
    return [h.title for i, h in enumerate(headings) if not header.isSectionHidden(i)]


def choose(panel, title):
    """Check or uncheck a column in the menu of the titles."""
    menu = panel.table.menu_of_columns()
    next(entry for entry in menu.actions() if entry.text().startswith(title)).trigger()


def test_columns_are_chosen_in_the_menu_of_the_titles(generated_panel):
    panel = generated_panel
    panel.resize(2400, 600)
    assert "Max" in visible(panel)
    assert "First start" not in visible(panel)
    choose(panel, "Max")
    choose(panel, "First start")
    assert "Max" not in visible(panel)
    assert "First start" in visible(panel)
    assert "\tFirst start, ns" in panel.model.tsv([0]).splitlines()[0]
    assert "Max" not in panel.model.tsv([0]).splitlines()[0]
    panel.then.setCurrentIndex(panel.then.findData("arg:b"))
    panel.then.activated.emit(panel.then.currentIndex())
    assert "Max" not in visible(panel), "the choice stays with other keys"
    assert "First start" in visible(panel)
    panel.resize(640, 600)
    assert visible(panel)[-1] == "First start", "what was chosen leaves last"


def test_every_measure_sorts(generated_panel):
    panel = generated_panel
    choose(panel, "First start")
    choose(panel, "Last start")
    for column, heading in enumerate(panel.model.contents.headings):
        if column and heading.kind is not ColumnKind.TEXT:
            panel.table.sortByColumn(column, Qt.SortOrder.DescendingOrder)
            keys = [row.keys[column] for row in panel.model.rows]
            assert keys == sorted(keys, reverse=True), heading.title


def test_totals_are_those_of_the_listed_rows(generated_panel):
    panel = generated_panel
    totals = panel.findChild(TotalsRow)
    for word in ("", "s", "t"):
        panel.filter.setText(word)
        rows, table = panel.model.rows, panel.groups.table
        groups = [group for group in table.groups if word in group.label]
        text = dict(zip([h.title.partition(",")[0] for h in panel.model.contents.headings],
                        map(plain, totals.texts), strict=True))  # fmt: skip
        name = next(iter(text))
        assert text[name] == f"Total of {counted(len(rows), 'row')}"
        spreads = [group.spread for group in groups]
        assert text["Count"] == str(sum(spread.count for spread in spreads))
        assert text["Self"] == plain(panel.groups.base.text(sum(g.self_ticks for g in groups)))
        assert text["Max"] == plain(format_time(max(spread.max for spread in spreads)))
        assert text["Min"] == plain(format_time(min(spread.min for spread in spreads)))
        assert text["Total"] == text["Median"] == text["p90"] == "", "they do not add up"
    panel.filter.setText("nothing has this")
    assert totals.isHidden()


def entry_of(panel, title):
    """An entry of the menu of a row."""
    menu = QMenu(panel)
    panel.table.menu_offered.emit(menu)
    return next(entry for entry in menu.actions() if entry.text().startswith(title))


@pytest.mark.slow
@pytest.mark.parametrize("then", ["", "arg:External id", "process"])
def test_a_table_is_copied_as_sql_that_has_its_rows(opened, data, show_panel, then):
    path = data / "chrome_json" / "kineto_cpu.json"
    panel = show_panel(StatisticsPanel, opened(path))
    pick(panel, "name")
    panel.then.setCurrentIndex(panel.then.findData(then))
    panel.then.activated.emit(panel.then.currentIndex())
    entry_of(panel, "Copy as SQL").trigger()
    result = viewer.open(str(path)).sql(QGuiApplication.clipboard().text())
    table = panel.groups.table if not then else None
    groups = table.groups if table else [c for r in panel.groups.pivoted.rows for c in r.cells]
    wanted = [(g.self_ticks, g.spread.count if g.spread else 0) for g in groups]
    rows = zip(result["self_ns"], result["count"].fillna(0), strict=True)
    assert list(rows)[: len(wanted)] == wanted


@pytest.mark.slow
@pytest.mark.parametrize("key", ["operator", "line", "module", "type", "node"])
def test_a_table_of_the_range_and_the_filter_is_copied(opened, show_panel, key):
    paths = [str(SAMPLE / name) for name in ("attn_xnnpack_x5.etdp", "attn_teal_xnnpack.etrecord")]
    panel = show_panel(StatisticsPanel, opened(*paths))
    pick(panel, key)
    first, last = panel.groups.shown.whole_span_ns
    panel.session.select_area(Area(first + (last - first) // 3, last, frozenset({(0, 0)})))
    assert panel.groups.scope.ticks is not None
    panel.filter.setText("e")
    entry_of(panel, "Copy as SQL").trigger()
    result = viewer.open(*paths).sql(QGuiApplication.clipboard().text())
    groups = {group.label: group for group in panel.groups.table.groups}
    assert list(result[key]) == [row.name for row in panel.model.rows]
    for label, own, share in zip(result[key], result["self_ns"], result["share"], strict=True):
        assert own == groups[label].self_ticks
        assert share == pytest.approx(groups[label].share)


@pytest.mark.parametrize("then", ["", "arg:b", "process"])
def test_a_row_shows_only_its_slices(generated_panel, then, qtbot):
    panel = generated_panel
    panel.then.setCurrentIndex(panel.then.findData(then))
    panel.then.activated.emit(panel.then.currentIndex())
    opened, offered = panel.session.traces[0], 0
    group = opened.grouping.groups_of_slices("name")[1]
    labels = opened.grouping.groups_of_slices("name")[0]
    for row in range(len(panel.model.rows)):
        panel.table.setCurrentIndex(panel.model.index(row, 0))
        entry = entry_of(panel, "Show only these slices")
        if not entry.isEnabled():
            assert panel.model.rows[row].op.startswith("(no "), panel.model.rows[row].op
            continue
        offered += 1
        entry.trigger()
        search = Search.of(panel.session)
        qtbot.waitUntil(lambda search=search: not search.pending)
        assert panel.session.state.only_hits
        name = next(r.op for r in panel.model.rows[row::-1] if not r.indent)
        wanted = group == labels.index(name)
        if panel.model.rows[row].indent:
            parts, of_part = opened.grouping.groups_of_slices(then)
            wanted &= of_part == parts.index(panel.model.rows[row].op)
        hits = search.are_hits(0, np.arange(len(group)))
        assert np.array_equal(hits, wanted)
    assert offered


@pytest.mark.slow
@pytest.mark.parametrize("run", [None, 2])
@pytest.mark.parametrize("key", ["name", "thread"])
def test_a_query_has_the_means_per_inference_or_one_inference(opened, show_panel, key, run):
    path = SAMPLE / "attn_xnnpack_x5.etdp"
    panel = show_panel(StatisticsPanel, opened(path))
    pick(panel, key)
    pick_run(panel.session, None if run is None else (0, run))
    entry_of(panel, "Copy as SQL").trigger()
    result = viewer.open(str(path)).sql(QGuiApplication.clipboard().text())
    divisor = 4 if run is None else 1
    assert panel.groups.base.divisor == divisor
    column = "self_ns" if run else "self_per_inference_ns"
    wanted = [(g.self_ticks // divisor, g.spread.count, g.spread.max)
              for g in panel.groups.table.groups]  # fmt: skip
    columns = (result[name] for name in (column, "count", "max_ns"))
    assert list(zip(*columns, strict=True))[: len(wanted)] == wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", ["encdec.etdp", "llm_200.etdp"])
def test_the_query_of_a_phase_has_its_means(opened, show_panel, data, name):
    path = data / "phases" / name
    panel = show_panel(StatisticsPanel, opened(path))
    pick(panel, "kernel")
    base = panel.groups.base
    assert base.phase
    entry_of(panel, "Copy as SQL").trigger()
    result = viewer.open(str(path)).sql(QGuiApplication.clipboard().text())
    groups = panel.groups.table.groups
    wanted = [(group.label, group.self_ticks // base.divisor) for group in groups]
    rows = zip(result["kernel"], result["self_per_inference_ns"], strict=True)
    assert list(rows)[: len(wanted)] == wanted
