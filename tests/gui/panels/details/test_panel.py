"""The details panel: what it says about slices, operators and areas, and where its links lead."""

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel

from tests.builders.etdump_writer import delegate, framework, operator
from viewer.analysis.statistics.selection import selection_statistics
from viewer.analysis.workload.operator_tensors import inputs_of
from viewer.gui.panels.base.chart import InferenceChart
from viewer.gui.panels.base.slice_facts import (
    area_facts,
    slice_figures,
    slice_rows,
    tensor_text,
    ticks_text,
)
from viewer.gui.panels.details.panel import NOTHING
from viewer.gui.qt.widgets.labels import ElidedLabel, EmptyPlace, KeyFigure
from viewer.gui.session.clocks import set_clock
from viewer.gui.session.navigation import run_span_ns
from viewer.gui.session.selection import slices_of
from viewer.gui.window.frame.status import selection_text
from viewer.model.queries import children_of
from viewer.model.times import counted, format_time
from viewer.model.trace import KeyKind
from viewer.program.program import GraphNode, Operator, Tensor
from viewer.render.palette import OPERATORS
from viewer.view.open_trace import palette_of, views_of
from viewer.view.selection import chosen_in
from viewer.view.state import Area, SliceRef, SliceSet

ATTENTION_0 = 9
DATA = Path(__file__).parents[3] / "data"


def slices_of_kind(session, kind):
    trace = session.traces[0].trace
    return np.flatnonzero(trace.keys.kind[trace.slices.key] == kind).tolist()


def longest_call(session):
    """The longest OPERATOR_CALL of the operator in run 2."""
    shown = session.traces[0]
    run = shown.trace.runs[2]
    slices = shown.trace.slices
    own = [
        i for i in slices_of(session, 0, (ATTENTION_0,)).tolist()
        if shown.trace.name(i) == "OPERATOR_CALL" and run.start <= slices.start[i] < run.end
    ]  # fmt: skip
    return max(own, key=lambda i: slices.end[i] - slices.start[i])


@pytest.fixture
def attention(sample):
    return sample("attention_xnnpack")


def figures(panel):
    return [f.accessibleName().replace("\u202f", " ") for f in panel.findChildren(KeyFigure)]


def test_a_slice_on_a_clock_of_its_own_has_no_time_of_the_files_clock(opened, data, show_details):
    session = opened(data / "etdump/SYN_qnn_like.etdp")
    names = [session.traces[0].trace.name(i) for i in range(7)]
    session.select_slice(SliceRef(0, names.index("QNN accelerator (execute) time (cycles)")))
    panel = show_details(session)
    assert [f.replace("\u2009", " ") for f in figures(panel)] == [
        "duration: 5 000 cycles", "start: 0 cycles"
    ]  # fmt: skip
    rows = panel.widget().rows("Slice")
    assert rows["Clock"] == "separate clock; position inside its call is for drawing only"
    assert not {"Ticks", "native_dur", "native_start", "native_unit"} & set(rows)
    assert selection_text(session) == "1 slice selected · 5\u2009000\u202fcycles"


def test_a_value_of_a_delegate_is_shown_as_that(opened, data, show_details):
    session = opened(data / "delegate_clocks/qnn_units.etdp")
    names = [session.traces[0].trace.name(i) for i in range(10)]
    session.select_slice(SliceRef(0, names.index("DSP:after_context_freed (bytes)")))
    panel = show_details(session)
    assert [f.replace("\u2009", " ") for f in figures(panel)] == ["value: 1 234 567 bytes"]
    rows = panel.widget().rows("Slice")
    assert rows["Time"] == "none: a value, drawn at the start of its call"
    assert not {"Clock", "Ticks"} & set(rows)


def test_a_shader_says_that_its_clock_can_count_more_than_its_call(opened, data, show_details):
    session = opened(data / "delegate_clocks/vulkan_shaders.etdp")
    trace = session.traces[0].trace
    i = next(i for i in range(len(trace.slices)) if trace.name(i).startswith("{"))
    session.select_slice(SliceRef(0, i))
    panel = show_details(session)
    assert figures(panel)[0].replace("\u2009", " ") == "duration: 700 000 ns"
    assert panel.widget().rows("Slice")["Clock"] == (
        "separate clock in ns: its times can add up to more than the call; "
        "position inside its call is for drawing only"
    )


def test_a_stated_rate_gives_such_a_slice_a_duration_and_says_so(opened, data, show_details):
    path = data / "etdump/SYN_qnn_like.etdp"
    session = opened(path)
    session.workspace.set_delegate_clock(str(path), "cycles", Fraction(5, 4))
    shown = views_of(session.workspace, {session.state.inferences}, {})
    total = next(iter(shown.values()))
    i = total.trace.strings.index("QNN accelerator (execute) time (cycles)")
    i = np.flatnonzero(total.trace.slices.name == i).item()
    assert [(f.number, f.unit, f.caption) for f in slice_figures(total, i)] == [
        ("6.250", "µs", "duration"),
        ("5\u2009000", "cycles", "duration"),
        ("0", "cycles", "start"),
    ]
    assert slice_rows(total, i)["Clock"].replace("\u202f", " ") == (
        "5\u2009000 cycles at 800 MHz (chosen); position inside its call is for drawing only"
    )


def test_nothing_selected_says_what_to_do(attention, show_details):
    panel = show_details(attention)
    assert isinstance(panel.widget(), EmptyPlace)
    assert panel.widget().sentence.text() == NOTHING


def test_names_of_rows_and_captions_of_figures_are_whole_and_apart(attention, show_details):
    """In the width that the dock has in windows of 1600 and 1920 px."""
    calls = slices_of_kind(attention, KeyKind.DELEGATE_CALL)
    attention.select_slice(SliceRef(0, calls[-1]))
    panel = show_details(attention)
    names = {name.text(): name for name in panel.findChildren(ElidedLabel)}
    assert names["Unattributed"].shown_text == "Unattributed"
    (whole,) = (f for f in panel.findChildren(KeyFigure) if "all shared" in f.accessibleName())
    others = [f for f in panel.findChildren(KeyFigure) if f.y() == whole.y() and f is not whole]
    following = min(f.x() for f in others if f.parent() is whole.parent())
    caption = whole.findChildren(QLabel)[-1]
    end = whole.x() + caption.x() + caption.fontMetrics().horizontalAdvance(caption.text())
    assert following - end >= 12


def test_an_operator_call_has_duration_self_time_and_start(attention):
    i = longest_call(attention)
    texts = [(f.number, f.unit, f.caption) for f in slice_figures(attention.traces[0], i)]
    assert texts == [
        ("1.643", "µs", "duration"),
        ("151", "ns", "self"),
        ("697.551", "µs", "start"),
    ]


def test_a_start_has_all_its_digits_and_is_copied_in_whole_ns(opened, show_details, tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("process,thread,name,start_ns,dur_ns\np,t,a,0,10\np,t,b,3876412385,385000\n")
    session = opened(path)
    session.select_slice(SliceRef(0, 1))
    panel = show_details(session)
    (start,) = (f for f in panel.findChildren(KeyFigure) if "start" in f.accessibleName())
    assert start.accessibleName().replace("\u2009", " ") == "start: 3.876 412 385 s"
    (copy,) = start.actions()
    copy.trigger()
    assert QGuiApplication.clipboard().text() == "3876412385"


def test_the_rows_of_an_operator_call_name_its_kernel_and_run(attention):
    rows = slice_rows(attention.traces[0], longest_call(attention))
    assert rows["Event"] == "OPERATOR_CALL · instruction 15"
    assert rows["Kernel"].replace("\u202f", " ") == "native_call_where.self_out · 1.492 µs"
    assert rows["Track"] == "forward · inference 2"


def test_an_action_of_a_dispatch_is_called_so_and_no_instruction(opened, data):
    (shown,) = opened(data / "torq" / "host_h4_latest.csv").traces
    start = next(i for i in range(len(shown.trace.slices)) if shown.trace.name(i) == "HOST_START")
    rows = slice_rows(shown, start)
    assert (rows["Event"], rows["action_id"]) == ("HOST_START", "11")


def test_ticks_are_exact_and_an_assumed_rate_says_so(attention, show_details):
    i = longest_call(attention)
    assert ticks_text(attention.traces[0], i).replace("\u202f", " ") == (
        "1\u2009643 · 1 tick = 1 ns"
    )
    attention.select_slice(SliceRef(0, i))
    panel = show_details(attention)
    assert "assumed" in panel.widget().rows("Slice")["Ticks"]
    set_clock(attention, 0, Fraction(10))
    assert ticks_text(attention.traces[0], i).endswith("1 tick = 10\u202fns")
    panel.refresh()
    assert "chosen" in panel.widget().rows("Slice")["Ticks"]


def test_the_card_shows_the_link_the_operator_and_its_cost(attention, show_details):
    attention.select_slice(SliceRef(0, longest_call(attention)))
    panel = show_details(attention)
    card = panel.widget()
    assert card.rows("Link")["ETRecord"] == "attn_teal_xnnpack.etrecord"
    assert "1.00" in card.rows("Link")["Match"]
    assert card.rows("Operator")["Handle"] == "10"
    assert card.rows("Operator")["Nodes"].startswith("25 · ")
    assert card.rows("Operator")["Inputs"].count("transpose") == 3
    assert figures(panel)[3:6] == [
        "self · 15.5 %: 8.544 µs",
        "kernel: 6.539 µs",
        "in 3 shared calls: 12.148 µs",
    ]


def test_an_operator_shows_its_aten_node_and_the_parameters_that_it_uses(attention, show_details):
    program = attention.traces[0].table.program
    (norm,) = (o for o in program.operators if o.label == "blocks.0.ln1 · layer_norm")
    attention.select_operators(0, (norm.index,))
    rows = show_details(attention).widget().rows("Operator")
    assert rows["ATen"] == "layer_norm"
    first, weight, bias = rows["Inputs"].replace("\u200b", "").split("<br>")
    assert "blocks" not in first
    assert "blocks.0.ln1.weight" in weight
    assert "f32&nbsp;&nbsp;32" in bias
    assert "blocks.0.ln1.bias" in bias


def test_an_identifier_is_shown_exactly_and_metadata_by_key(sample, show_details):
    session = sample("delegate_handle_map")
    i = next(
        i for i in slices_of_kind(session, KeyKind.DELEGATE_EVENT)
        if session.traces[0].trace.name(i) == "div"
    )  # fmt: skip
    session.select_slice(SliceRef(0, i))
    rows = show_details(session).widget().rows("Slice")
    assert rows["Identifier"] == "'div'"
    assert (rows["op"], rows["cycles"]) == ("div_decomp_from_tan", "500")
    assert "Metadata" not in rows


@pytest.mark.parametrize(
    ("preferred", "supported", "shown"),
    [
        ("CPU", ["NE", "CPU", "GPU"], "CPU (Neural Engine is supported)"),
        ("NE", ["NE", "CPU", "GPU"], "Neural Engine (CPU and GPU are supported too)"),
        ("CPU", ["CPU"], "CPU"),
    ],
)
def test_the_compute_unit_of_core_ml_is_shown_in_words(
    opened, dump, show_details, preferred, supported, shown
):
    metadata = {"preferredComputeUnit": preferred, "supportedComputeUnits": supported}
    events = [
        delegate("gelu", 0, 110, 120, metadata=json.dumps(metadata).encode()),
        operator("DELEGATE_CALL", 0, 100, 200),
        framework("Method::execute", 90, 300),
    ]
    session = opened(dump(("Execute", events)))
    session.select_slice(SliceRef(0, *slices_of_kind(session, KeyKind.DELEGATE_EVENT)))
    rows = show_details(session).widget().rows("Slice")
    assert rows["Compute unit"] == shown
    assert not {"Metadata", "fell_back_to_cpu", *metadata} & set(rows)


def test_an_unlinked_event_lists_the_operators_of_its_call(attention, show_details):
    i = next(
        i for i in slices_of_kind(attention, KeyKind.DELEGATE_EVENT)
        if len(attention.traces[0].link(i).near) == 4
    )  # fmt: skip
    attention.select_slice(SliceRef(0, i))
    panel = show_details(attention)
    texts = [label.text() for label in panel.findChildren(QLabel)]
    assert any("It is one of 4 operators of its call." in text for text in texts)


def test_a_kernel_inside_a_branch_lists_the_operators_that_it_may_be(opened, show_details):
    session = opened(
        str(DATA / "etdump" / "cond_nested_portable_x4.etdp"),
        str(DATA / "etrecord" / "cond_nested_toedge_portable.etrecord"),
    )
    trace = session.traces[0].trace
    kernels = slices_of_kind(session, KeyKind.KERNEL)
    i = next(i for i in kernels if trace.name(i) == "native_call_mul.out")
    session.select_slice(SliceRef(0, i))
    panel = show_details(session)
    texts = [label.text() for label in panel.findChildren(QLabel)]
    assert any(
        text.endswith(
            "for instruction 6, as it is inside control flow; mul is in the true branch of "
            "cond and the false branch of cond. It is one of 2 such operators in branches."
        )
        for text in texts
    )
    assert any("Operators in branches" in text for text in texts)
    members = [text for text in texts if "operator:0:" in text]
    assert [text.rpartition(" · ")[2][:12] for text in members] == ["true branch ", "false branch"]


def test_a_link_in_the_card_selects_the_operator(attention, show_details, qtbot):
    attention.select_operators(0, (9, 10, 11, 12, 13))
    panel = show_details(attention)
    panel.widget()._follow("operator:0:12")
    assert attention.state.operators == (0, (12,))
    qtbot.waitUntil(lambda: panel.widget().subject[1] == (0, (12,)))
    assert panel.widget().rows("Operator")["Handle"] == "13"


def test_a_frame_asks_for_its_source_line(attention, show_details):
    attention.select_operators(0, (ATTENTION_0,))
    panel = show_details(attention)
    panel.widget()._follow("source:52:/home/user/models/models.py")
    *_, asked = panel.host.asked
    assert asked == ("show_source", "/home/user/models/models.py", 52)


def test_an_area_counts_slices_and_busy_time(attention):
    shown = attention.traces[0]
    run = shown.trace.runs[2]
    t0, t1 = run_span_ns(attention, 0, run)
    area = Area(t0, t1, frozenset({(0, run.track)}))
    facts = area_facts(attention.traces, area)
    slices = shown.trace.slices
    touching = (slices.start < run.end) & ((slices.end > run.start) | (slices.start >= run.start))
    assert facts.slices == int(touching.sum())
    assert [ns for _, ns in facts.busy] == [55_212]
    assert facts.names[0].name == "forward · run 2 of 5"
    chosen = chosen_in(area, attention.traces)[0]
    found = selection_statistics(chosen, "name")
    figures = found.figures.statistics
    assert {n.name: (n.count, n.ns) for n in facts.names} == {
        name: (int(figures.count[i]), int(figures.total[i])) for i, name in enumerate(found.labels)
    }
    assert facts.names[0].ns == 55_212


def test_an_area_shows_its_length_and_names(attention, show_details):
    attention.select_area(Area(600_000, 800_000, frozenset({(0, 0)})))
    panel = show_details(attention)
    assert figures(panel)[0] == "duration: 200.000 µs"
    assert "forward" in next(iter(panel.widget().rows("Busy").values()))
    said = list(panel.widget().rows("Slices by name").values())
    assert any(re.fullmatch(r"\d+ other names, \d+ slices", text) for text in said)


def test_text_of_a_file_is_never_read_as_markup(attention, show_details):
    attention.select_slice(SliceRef(0, longest_call(attention)))
    shown = attention.traces[0]
    shown.label_strings = tuple("<b>x</b>" for _ in shown.label_strings)
    attention.clear_selection()
    framework = slices_of_kind(attention, KeyKind.FRAMEWORK)[0]
    attention.select_slice(SliceRef(0, framework))
    panel = show_details(attention)
    title = next(x for x in panel.findChildren(QLabel) if x.text() == "<b>x</b>")
    assert title.textFormat() == Qt.TextFormat.PlainText


def test_both_themes_can_be_shown(attention, theme, qtbot, show_details):
    attention.select_operators(0, (ATTENTION_0,))
    panel = show_details(attention)
    before = panel.grab().toImage().pixelColor(2, 2)
    theme.set_choice("light")
    qtbot.waitUntil(lambda: panel.grab().toImage().pixelColor(2, 2) != before)


def test_inputs_are_what_comes_from_outside():
    a, b, c = (Tensor(name, "f32", (2, 3)) for name in "abc")
    nodes = (
        GraphNode("n1", "aten.mul", 1, inputs=(a,), outputs=(b,)),
        GraphNode("n2", "aten.add", 1, inputs=(b, a), outputs=(c,)),
    )
    assert inputs_of(Operator(0, "forward", 1, nodes)) == [a]
    assert tensor_text(a) == "f32  2 × 3"
    assert tensor_text(Tensor("s", "i64", ())) == "i64  scalar"


def test_a_delegates_call_says_what_its_events_leave_open(sample):
    shown = sample("attention_xnnpack").traces[0]
    trace = shown.trace
    calls = trace.keys.kind[trace.slices.key] == KeyKind.DELEGATE_CALL
    call = int(np.flatnonzero(calls)[0])
    inner = children_of(trace.slices, call)
    length = trace.slices.end - trace.slices.start
    logged = [i for i in inner.tolist() if trace.name(i) != "unattributed"]
    rest = int(length[call]) - sum(int(length[i]) for i in logged)
    share = f"{rest / length[call]:.1%}".replace("%", "\u202f%")
    assert slice_rows(shown, call)["Unattributed"] == f"{format_time(rest)} · {share}"
    events = len([i for i in logged if "#" in trace.name(i)])
    most = format_time(min(1000 * events, int(length[inner[-1]])))
    assert slice_rows(shown, call)["Rounding"] == (
        f"up to {most} may be rounding of {counted(events, 'event')}"
    )
    assert slice_rows(shown, call)["Time"] == "measured"
    assert slice_rows(shown, logged[0])["Time"] == "start placed, duration rounded to 1\u202fµs"
    _, own, _ = slice_figures(shown, call)
    assert f"{own.number}\u202f{own.unit}" == format_time(rest)


def test_a_location_is_told_place_by_place(opened, show_details):
    torq = DATA / "torq"
    session = opened(torq / "compile_c3_taskid_mtu.csv", torq / "tiny_cnn.mlir")
    trace = session.traces[0].trace
    fused = next(i for i in range(len(trace.slices)) if trace.name(i) == "Slice 1")
    session.select_slice(SliceRef(0, fused))
    panel = show_details(session)
    places = [w for w in panel.findChildren(QLabel) if ":3" in w.text() or ":10" in w.text()]
    told = [re.sub("<[^>]*>|&nbsp;", " ", place.text()).split() for place in places]
    assert told[:4] == [
        ["fused", "tiny_cnn.mlir:13:10", "tosa.clamp"],
        ["called", "from", "tiny_cnn.mlir:2:3", "func.func"],
        ["fused", "tiny_cnn.mlir:11:10", "tosa.conv2d"],
        ["called", "from", "tiny_cnn.mlir:2:3", "func.func"],
    ]
    places[0].linkActivated.emit("source:13:tiny_cnn.mlir")
    *_, asked = panel.host.asked
    assert asked == ("show_source", "tiny_cnn.mlir", 13)


def test_arguments_of_several_words_wrap_and_short_arrays_take_one_line(opened, data, show_details):
    session = opened(data / "chrome_json" / "kineto_cpu.json")
    trace = session.traces[0].trace
    at = next(i for i in range(len(trace.slices)) if trace.name(i) == "aten::relu")
    session.select_slice(SliceRef(0, at))
    panel = show_details(session)
    shown = panel.widget().rows("Slice")
    assert shown["Input Strides"] == "[[16, 1]]"
    names = [label for label in panel.findChildren(QLabel) if "Record function id" in label.text()]
    assert [name.wordWrap() for name in names] == [True]


def test_a_slice_without_an_operator_has_a_swatch_in_its_color(opened, data, show_details):
    session = opened(data / "chrome_json" / "kineto_cpu.json")
    session.select_slice(SliceRef(0, 40))
    assert session.state.scheme == "operator"  # does not apply, so slices are colored by name
    (color,) = show_details(session).widget().swatch.colors
    assert color == palette_of(session.traces[0], "name")[40]
    assert color < OPERATORS


def test_details_say_which_of_several_selected_slices_they_are_of(opened, data, show_details):
    session = opened(data / "chrome_json" / "kineto_cpu.json")
    slices = session.traces[0].trace.slices
    longest = int(np.argmax(slices.end - slices.start))
    chosen = SliceSet({0: np.arange(len(slices), dtype=np.uint32)})
    session.select_slices(chosen, SliceRef(0, longest))
    assert "longest of 122 selected" in " ".join(said(show_details(session)))
    session.select_slices(chosen, SliceRef(0, 0))
    assert "one of 122 selected" in " ".join(said(show_details(session)))
    session.select_slice(SliceRef(0, longest))
    assert not any("selected" in text for text in said(show_details(session)))


def test_the_arguments_of_a_pytorch_operator_take_one_line_each(opened, data):
    shown = opened(data / "chrome_json" / "kineto_cpu.json").traces[0]
    names = [shown.trace.name(i) for i in range(len(shown.trace.slices))]
    rows = slice_rows(shown, names.index("aten::as_strided"))
    assert rows["Inputs"].splitlines() == [
        "float [16, 8]", "ScalarList [8, 16]", "ScalarList [1, 8]", "–"
    ]  # fmt: skip
    assert not {"Input type", "Input Dims", "Concrete Inputs"} & set(rows)


@pytest.mark.parametrize(
    "args",
    [
        {"Input type": ["float"], "Input Dims": [[1], [2]]},
        {"Input type": ["float"], "Input Dims": [[1]], "Concrete Inputs": []},
    ],
)
def test_lists_of_arguments_that_do_not_belong_together_stay_as_they_are(opened, tmp_path, args):
    assert rows_of_arguments(opened, tmp_path, args)["Input Dims"] == json.dumps(args["Input Dims"])


def test_long_arrays_take_one_line_per_element_and_not_per_number(opened, tmp_path):
    strides = [[4096, 1024, 4, 1]] * 6
    text = rows_of_arguments(opened, tmp_path, {"Input Strides": strides})["Input Strides"]
    assert text.splitlines() == ["[", *["  [4096, 1024, 4, 1],"] * 5, "  [4096, 1024, 4, 1]", "]"]
    assert json.loads(text) == strides
    numbers = list(range(100))
    text = rows_of_arguments(opened, tmp_path, {"values": numbers})["values"]
    assert text == json.dumps(numbers)


def test_an_argument_of_any_length_stays_on_one_short_line(opened, tmp_path):
    hostile = "x\nfloat [1]\u2028" + "y" * 400_000
    args = {"Input type": ["str"], "Input Dims": [[]], "Concrete Inputs": [hostile]}
    (line,) = rows_of_arguments(opened, tmp_path, args)["Inputs"].splitlines()
    assert line.startswith("str x\\nfloat [1]\\u2028yyy")
    assert line.endswith("y…")
    assert len(line) <= 201


def test_many_arguments_are_cut(opened, tmp_path):
    args = {"Input type": ["float"] * 10_000, "Input Dims": [[8]] * 10_000}
    text = rows_of_arguments(opened, tmp_path, args)["Inputs"]
    assert text.startswith("float [8]\nfloat [8]\n")
    assert len(text) < 4100
    assert "characters)" in text.splitlines()[-1]


def rows_of_arguments(opened, tmp_path, args):
    event = {"ph": "X", "pid": 1, "tid": 1, "name": "aten::mm", "ts": 1, "dur": 2, "args": args}
    path = tmp_path / "arguments.json"
    path.write_text(json.dumps({"traceEvents": [event]}))
    return slice_rows(opened(path).traces[0], 0)


def test_an_identifier_has_no_thousands_separators(opened, tmp_path):
    event = {"ph": "X", "pid": 1, "tid": 1, "name": "aten::mm", "ts": 1, "dur": 2}
    path = tmp_path / "ids.json"
    path.write_text(json.dumps({"traceEvents": [{**event, "args": {"External id": 123456}}]}))
    assert slice_rows(opened(path).traces[0], 0)["External id"] == "123456"


MAP_BESIDE_TORQ = ("torq/demo_str_c1.csv", "debug_handle_map/demo_str.json")
MAP_BESIDE_DUMP = ("etdump/demo_manual_int_x4.etdp", "debug_handle_map/demo_manual_int.json")


def said(panel):
    return [text.text() for text in panel.findChildren(QLabel)]


def test_a_slice_of_a_debug_handle_map_shows_the_operators_behind_its_event(
    opened, data, show_details
):
    session = opened(*(data / name for name in MAP_BESIDE_TORQ))
    session.select_slice(SliceRef(0, 0))
    told = "\n".join(said(show_details(session)))
    assert "BackendStrDemo maps 'Fancy Fusion' → debug handles 1, 2." in told
    assert "conv1 · convolution" in told
    assert "relu1 · relu" in told
    assert (
        told.count("A debug handle map has no graph") == 2
    )  # of what it takes and of who takes it


def test_an_operator_of_a_debug_handle_map_says_what_is_known_and_no_more(
    opened, data, show_details
):
    session = opened(*(data / name for name in MAP_BESIDE_DUMP))
    session.select_operators(0, (0,))
    told = said(show_details(session))
    assert told[told.index("Logged as") + 1] == "10"  # a number, and no text
    assert {"Nodes", "Work"}.isdisjoint(told)
    assert "No source line was recorded." in told
    assert "No other operator uses its result." not in told


def test_the_spread_of_an_operators_cost_leaves_out_the_warm_up(attention, show_details):
    shown = attention.traces[0]
    attention.select_operators(0, (ATTENTION_0,))
    panel = show_details(attention)
    steady = [
        sum(row.ticks for row in shown.costs.of_run(run).rows if row.operators == (ATTENTION_0,))
        for run in list(shown.trace.finished_inferences())[1:]
    ]
    (spread,) = [text for text in said(panel) if text.startswith("p10")]
    assert f"p50 {format_time(np.median(steady))} " in spread
    assert spread.endswith("of 4 inferences (1 warm-up left out)")


def test_the_chart_of_an_operators_cost_shows_each_inference(attention, show_details, qtbot):
    shown = attention.traces[0]
    operators = shown.table.program.operators
    number = next(i for i, operator in enumerate(operators) if "layer_norm" in operator.name)
    attention.select_operators(0, (number,))
    panel = show_details(attention)
    qtbot.waitUntil(lambda: panel.findChild(InferenceChart) is not None)
    chart = panel.findChild(InferenceChart)
    chart.grab()
    assert len(chart.numbers) == len(list(shown.trace.finished_inferences()))
    assert chart.accessibleName().startswith("Self time per inference in µs: ")
    assert chart.lines(3)[0].startswith("Inference 4, ")
    qtbot.mouseClick(chart.viewport(), Qt.MouseButton.LeftButton, pos=chart.center_of(3))
    trace, run = attention.state.run
    assert (trace, shown.trace.runs[run].number) == (0, 4)


def test_an_operator_says_why_it_was_not_delegated(opened, data, show_details):
    names = ("net.etdp", "net.etrecord", "xnnpack.log")
    session = opened(*(data / "partition_log" / name for name in names))
    program = session.traces[0].table.program
    for op, why in (("mean", "mean.dim only supports keepdim=True"), ("relu", None)):
        index = next(one.index for one in program.operators if one.op == op)
        session.select_operators(0, (index,))
        assert show_details(session).widget().rows("Operator").get("Not delegated") == why
