"""Operations, bytes and rates on the details card, and what stands where there are none."""

from fractions import Fraction

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from viewer.analysis.workload.mlir_work import with_tensors
from viewer.gui.panels.details.sections import settings_text, work_of
from viewer.gui.qt.widgets.labels import KeyFigure
from viewer.gui.session.clocks import set_clock
from viewer.model.figures import TimeScope
from viewer.model.times import plain_spaces
from viewer.view.state import SliceRef

CNN = ("etdump/cnn_portable_x10.etdp", "etrecord/cnn_toedge_portable.etrecord")
DEMO = ("etdump/demo_str_x4.etdp", "etrecord/demo_str.etrecord")
CONVOLUTION, LINEAR = 0, 7
RELU1, TAN = 1, 4


def told(figures):
    return [plain_spaces(f"{f.number} {f.unit}".strip()) for f in figures]


def rows(work):
    return {key: plain_spaces(text) for key, text in work.rows}


def work(session, operator, run=None, slice_=None):
    shown = session.traces[0]
    program = shown.table.program
    return work_of(
        shown, with_tensors(program, program.operators[operator]), TimeScope(run), slice_
    )


def second_run(session):
    return list(session.traces[0].trace.inferences())[1]


@pytest.fixture
def cnn(opened, data):
    return opened(*(data / name for name in CNN))


@pytest.fixture
def demo(opened, data):
    return opened(*(data / name for name in DEMO))


def test_a_convolution_has_its_work_and_the_rates_of_the_run(cnn):
    found = work(cnn, CONVOLUTION, second_run(cnn))
    assert told(found.figures) == ["110.592 kFLOP", "12.160 kB", "9.09 FLOP/B"]
    shown = cnn.traces[0]
    cost = next(
        r for r in shown.costs.of_run(second_run(cnn)).rows if r.operators == (CONVOLUTION,)
    )
    # 1 tick is 1 ns here, and operations per ns are 1e9 of them per second.
    assert told(found.rates) == [
        f"{110_592 / cost.ticks * 1e3:.3f} MFLOP/s", f"{12_160 / cost.ticks * 1e3:.3f} MB/s"
    ]  # fmt: skip
    assert rows(found)["Counted"] == "110 592 = 2 × 2 048 outputs × 3 channels × 3 × 3"
    assert rows(found)["Bytes"] == "3 072 in · 896 parameters · 8 192 out"
    assert rows(found)["Rates"].endswith("in run 2 of 10, clock assumed")


def test_rates_follow_the_clock(cnn):
    before = work(cnn, CONVOLUTION, second_run(cnn)).rates[0]
    set_clock(cnn, 0, Fraction(1000))
    after = work(cnn, CONVOLUTION, second_run(cnn)).rates[0]
    assert (before.unit, after.unit) == ("MFLOP/s", "kFLOP/s")
    assert before.number == after.number
    assert rows(work(cnn, CONVOLUTION))["Rates"].endswith("clock chosen")


def test_a_slice_has_the_rate_of_its_own_node(cnn):
    trace = cnn.traces[0].trace
    i = next(i for i in range(len(trace.slices)) if trace.name(i) == "native_call_addmm.out")
    ns = int(trace.slices.end[i] - trace.slices.start[i])
    found = work(cnn, LINEAR, None, i)
    assert told(found.rates)[0] == f"{2 * 10 * 16 / ns * 1e3:.3f} MFLOP/s"
    # The bias, the input, the turned weight and the result, all read or written by this kernel.
    moved = 4 * (10 + 16 + 160 + 10)
    assert told(found.rates)[1] == f"{moved / ns * 1e3:.3f} MB/s"
    assert ", addmm only, clock assumed" in rows(found)["Rates"]


def test_the_parts_of_an_operator_are_told_one_by_one(sample):
    session = sample("attention_xnnpack")
    found = work(session, 9)
    assert rows(found)["Counted"].splitlines() == [
        "bmm: 8 192 = 2 × (2 × 256 outputs × 8)",
        "_softmax: 1 280 = 5 × 256 outputs",
        "mul: 512 = 2 × (1 × 256 outputs)",
    ]
    assert found.rates == ()
    assert rows(found)["Rates"] == "unknown: a part of its time is shared with other operators"


def test_what_only_moves_data_says_so(sample):
    found = work(sample("attention_xnnpack"), 3)
    assert told(found.figures) == ["0 FLOP", "2.048 kB", "0 FLOP/B"]
    assert rows(found)["Counted"] == "no arithmetic"
    assert rows(found)["Bytes"].endswith("moves no data if the runtime makes it a view")


def test_a_size_that_is_not_fixed_leaves_dashes_with_their_reason(opened, data):
    session = opened(
        data / "etdump/words_failing_x3.etdp", data / "etrecord/words_toedge_portable.etrecord"
    )
    found = work(session, 3)
    assert told(found.figures) == ["–", "–", "–"]
    assert found.rates == ()
    assert "has a dynamic size, s27 (6)" in rows(found)["Unknown"]
    assert "dynamic size, s27 (6)" in rows(found)["Bytes"]


def test_whole_numbers_are_operations_and_no_flops(opened, data):
    session = opened(data / "torq/compile_c3_taskid_mtu.csv", data / "torq/tiny_cnn.mlir")
    program = session.traces[0].table.program
    pooling = next(op.index for op in program.operators if op.op == "tosa.max_pool2d")
    found = work(session, pooling)
    assert told(found.figures)[:2] == ["100.352 kOP", "125.440 kB"]
    assert found.rates[0].unit.endswith("OP/s")
    # DMA and slice unit work at the same time, so this is less than the cost of both.
    assert " in which any of its slices is active in the whole trace" in rows(found)["Rates"]


def test_runs_of_another_method_are_none_of_an_operators(opened, data):
    session = opened(
        data / "etdump/multi_forward_decode_portable_x3.etdp",
        data / "etrecord/multi_forward_decode_toedge_portable.etrecord",
    )
    shown = session.traces[0]
    own = next(op for op in shown.table.program.operators if op.method == "decode")
    assert sum(1 for _ in shown.trace.inferences()) == 6
    assert " for 3 calls in all 6 inferences" in rows(work(session, own.index))["Rates"]


def test_settings_are_told_in_words():
    settings = (("stride", (2, 2)), ("transposed", False), ("groups", 1), ("eps", 1e-5), ("d", ()))
    assert settings_text(settings) == (
        "stride 2 × 2 · transposed no · groups 1 · eps 1e-05 · d none"
    )


def test_the_card_shows_work_parameters_and_settings(cnn, show_details):
    cnn.select_operators(0, (CONVOLUTION,))
    panel = show_details(cnn)
    card = panel.widget()
    assert plain_spaces(card.rows("Operator")["Parameters"]) == "2 · 224 values · 896 B"
    assert card.rows("Operator")["Settings"].startswith("stride 1 × 1 · padding 1 × 1")
    names = [plain_spaces(f.accessibleName()) for f in panel.findChildren(KeyFigure)]
    assert "operations: 110.592 kFLOP" in names
    assert set(card.rows("Work")) == {"Counted", "Bytes", "Rates"}


def test_the_card_of_a_fused_operator_links_to_what_it_was_fused_with(demo, show_details):
    demo.select_operators(0, (RELU1,))
    panel = show_details(demo)
    card_rows = panel.widget().rows("Operator")
    assert card_rows["Delegate"] == "BackendStrDemo<br>instruction 0 (fused with 4 other ops)"
    assert card_rows["Logged as"] == "'Fancy Fusion'"
    (fused,) = (w for w in panel.findChildren(QLabel) if w.text() == card_rows["Fused with"])
    assert "conv1 · convolution" in fused.text()
    fused.linkActivated.emit("operator:0:0")
    assert demo.state.operators == (0, (0,))


def test_a_backend_without_a_map_says_so_once(sample, show_details):
    session = sample("attention_xnnpack")
    session.select_operators(0, (9,))
    card = show_details(session).widget()
    assert card.rows("Operator")["Delegate"].split("<br>") == [
        "XnnpackBackend",
        "instruction 3 (fused with 4 other ops)",
        "instruction 8 (fused with 2 other ops)",
        "instruction 17 (fused with 4 other ops)",
    ]
    assert card.rows("Operator")["Delegate ID"] == "unavailable (no debug handle map)"


def test_a_neighbor_is_reached_by_keyboard(cnn, show_details, qtbot):
    cnn.select_operators(0, (CONVOLUTION,))
    panel = show_details(cnn)
    qtbot.waitUntil(lambda: "Outputs to" in panel.widget().flows)
    section = panel.widget().flows["Outputs to"]
    (link,) = (w for w in section.findChildren(QLabel) if "operator:0:1" in w.text())
    assert link.focusPolicy() & Qt.FocusPolicy.TabFocus
    link.setFocus()
    qtbot.keyClick(link, Qt.Key.Key_Tab)  # to the link inside of the label
    qtbot.keyClick(link, Qt.Key.Key_Return)
    assert cnn.state.operators == (0, (1,))


def test_the_card_fits_its_dock(demo, show_details):
    demo.select_operators(0, (TAN,))
    panel = show_details(demo)
    assert panel.widget().minimumSizeHint().width() <= 372


def test_the_card_of_a_slice_has_the_rates_of_the_slice(cnn, show_details):
    trace = cnn.traces[0].trace
    names = np.array([trace.name(i) for i in range(len(trace.slices))])
    cnn.select_slice(SliceRef(0, int(np.flatnonzero(names == "native_call_addmm.out")[0])))
    panel = show_details(cnn)
    captions = [f.accessibleName() for f in panel.findChildren(KeyFigure)]
    assert sum(caption.startswith("this slice: ") for caption in captions) == 2


def test_all_names_under_which_an_operator_is_logged_stand_in_one_row(demo, show_details):
    demo.select_operators(0, (TAN,))
    rows = show_details(demo).widget().rows("Operator")
    assert rows["Logged as"] == "'sin:0;a=b'<br>'cos/1'<br>'div'"
    assert [key for key in rows if key.startswith("Logged as")] == ["Logged as"]
