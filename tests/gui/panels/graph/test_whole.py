"""Colors, search, opening and files of a whole model."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtTest import QTest

from tests.builders.nested_program import calls_of, nested_program
from tests.gui.panels.graph.picture import QKV, selected, settle
from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.numeric.compared import OperatorErrors
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.panels.graph import painting
from viewer.gui.panels.graph.controls import NO_ERRORS, NO_PROGRAM_FILE
from viewer.gui.panels.graph.measures import MeasureKind
from viewer.gui.panels.graph.node_figures import CHANGE_STEPS, ChangeFill
from viewer.gui.panels.graph.search import hits, searched_texts
from viewer.gui.session.inferences import pick_run
from viewer.render.graph.model_tree import group_tree
from viewer.render.palette import HEAT, HEAT_STEPS, SLAB

THIN = "\u202f"


def color_by(panel, qtbot, kind):
    panel.controls.kinds.buttons[kind].click()
    settle(qtbot, panel)


def looks(panel):
    """The looks of operators by their labels."""
    picture = panel.view.picture
    program = panel.answer.question.program
    return {
        program.operators[int(picture.tree.operator[node])].label: look
        for node, look in picture.looks.items() if picture.tree.operator[node] >= 0
    }  # fmt: skip


# -- colors --------------------------------------------------------------------------------------


def test_times_are_those_of_the_neighborhood(whole, qtbot):
    found = looks(whole)["blocks.0 · scaled_dot_product_attention"]
    assert found.figure.replace(THIN, " ") == "8.544 µs · 15.5 % + shared"
    assert found.fill == HEAT + HEAT_STEPS - 1
    assert looks(whole)["blocks.0.proj · linear"].fill == SLAB
    assert (
        whole.foot.legend.accessibleName()
        .replace(THIN, " ")
        .startswith("Color by Time, 0 to 8.544 µs")
    )


def test_groups_have_the_totals_of_the_modules(whole):
    picture = whole.view.picture
    figures = {look.name: look.figure.replace(THIN, " ") for look in picture.looks.values()}
    assert figures["blocks.0"] == "27.261 µs · 49.4 %"
    assert figures["blocks.1"] == "23.737 µs · 43.0 %"


def test_another_inference_has_other_times_and_nothing_moves(whole, qtbot):
    view = whole.view
    view.zoom(1.3)
    place, before = view.to_widget(0, 0), looks(whole)["blocks.0.qkv · linear"].figure
    pick_run(whole.session, (0, 1))
    qtbot.waitUntil(lambda: looks(whole)["blocks.0.qkv · linear"].figure != before)
    assert view.to_widget(0, 0) == place


def test_memory_and_size_need_the_program_file_and_say_so(whole):
    for kind in (MeasureKind.MEMORY, MeasureKind.SIZE):
        button = whole.controls.kinds.buttons[kind]
        assert not button.isEnabled()
        assert button.toolTip() == NO_PROGRAM_FILE


def test_errors_come_from_the_reference_that_numbers_has(whole, qtbot):
    button = whole.controls.kinds.buttons[MeasureKind.ERROR]
    assert not button.isEnabled()
    assert button.toolTip() == NO_ERRORS
    program = whole.answer.question.program
    first, second = (
        next(i for i, one in enumerate(program.operators) if one.label == label)
        for label in ("blocks.0.qkv · linear", "blocks.1.qkv · linear")
    )
    whole.session.traces[0].errors = OperatorErrors({first: 2e-5, second: 0.5})
    whole.session.coloring_changed.emit()
    settle(qtbot, whole)
    color_by(whole, qtbot, MeasureKind.ERROR)
    found = looks(whole)
    assert found["blocks.0.qkv · linear"].figure == "2.0e\N{MINUS SIGN}05"
    assert found["blocks.1.qkv · linear"].fill == HEAT + HEAT_STEPS - 1
    assert found["blocks.0.proj · linear"].figure == "not compared"
    groups = {look.name: look.figure for look in whole.view.picture.looks.values()}
    assert groups["blocks.1"] == "5.0e\N{MINUS SIGN}01"  # the largest of its operators
    name = whole.foot.legend.accessibleName()
    assert name.startswith("Color by Error relative to the signal, 10⁻⁷ to 1")


def test_memory_is_shown_in_bytes(partly, qtbot):
    color_by(partly, qtbot, MeasureKind.MEMORY)
    figures = {label: look.figure.replace(THIN, " ") for label, look in looks(partly).items()}
    assert figures["cumsum"] == "576 B"
    assert figures["c1 · convolution"] == "576 B shared by 2"
    assert "Planned bytes of outputs, 0 to" in partly.foot.legend.accessibleName()


def test_size_is_that_of_the_weights(partly, qtbot):
    color_by(partly, qtbot, MeasureKind.SIZE)
    shown = looks(partly)
    assert shown["fc · linear"].figure.partition(" ")[0].endswith("B")
    assert shown["cumsum"].figure == "no weights"
    assert "Bytes of weights and delegates, 0 to" in partly.foot.legend.accessibleName()


def test_a_comparison_colors_operators_and_counts_in_groups(compared, show_graph, qtbot):
    panel = show_graph(compared({"blocks.1.dw": 2.0}))
    panel.show_whole()
    settle(qtbot, panel)
    assert looks(panel)["blocks.1.dw · convolution"].fill == ChangeFill(
        Verdict.SLOWER, CHANGE_STEPS
    )
    picture = panel.view.picture
    groups = {look.name: look for node, look in picture.looks.items()
              if picture.tree.is_group[node]}  # fmt: skip
    assert groups["forward"].figure == "1 slower"
    assert groups["forward"].verdict is Verdict.SLOWER
    assert panel.foot.legend.isVisible()
    assert panel.foot.legend.accessibleName().startswith("Color by change per inference")
    assert not panel.controls.kinds.buttons[MeasureKind.TIME].isVisible()


# -- opening and closing -------------------------------------------------------------------------


def test_all_groups_open_and_close_again(whole, qtbot):
    first = whole.answer.opened
    whole.toggle(next(iter(first - {0})))
    settle(qtbot, whole)
    assert whole.answer.opened < first
    QTest.mouseClick(whole.controls.open_first, Qt.MouseButton.LeftButton)
    settle(qtbot, whole)
    assert whole.answer.opened == first
    QTest.mouseClick(whole.controls.open_all, Qt.MouseButton.LeftButton)
    settle(qtbot, whole)
    tree = whole.answer.model.tree
    assert whole.answer.layout.shown.is_frame[np.flatnonzero(tree.is_group)].all()


def test_closing_a_group_closes_those_inside(whole, qtbot):
    tree = whole.answer.model.tree
    outer = tree.names.index("blocks.0")
    whole.toggle(outer)
    settle(qtbot, whole)
    whole.toggle(outer)
    settle(qtbot, whole)
    inner = [n for n in range(outer + 1, int(tree.end[outer])) if tree.is_group[n]]
    assert inner
    assert not whole.answer.layout.shown.is_frame[inner].any()


# -- search --------------------------------------------------------------------------------------


def test_hits_are_stepped_through_opened_and_centered(whole, qtbot):
    page, search = whole, whole.controls.search
    for node in sorted(page.answer.opened - {0}, reverse=True):
        page.toggle(node)
        settle(qtbot, whole)
    assert page.answer.opened == {0}
    search.field.setText("mlp gelu")
    assert search.count.text() == "2 hits"
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    settle(qtbot, whole)
    assert search.count.text() == "1 of 2"
    program = page.answer.question.program
    (first,) = selected(whole)
    assert program.operators[first].name == "gelu"
    place = page.view.place_of(page.view.current)
    assert place.adjusted(-2, -2, 2, 2).contains(QPointF(page.view.rect().center()))
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    settle(qtbot, whole)
    (second,) = selected(whole)
    assert second > first
    QTest.keyClick(search.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    settle(qtbot, whole)
    assert selected(whole) == (first,)


def test_modules_and_calls_are_found_too(partly):
    search = partly.controls.search
    search.field.setText("xnnpack 3")
    assert search.count.text() == "1 hit"
    search.field.setText("no such thing")
    assert search.count.text() == "no hit"
    QTest.keyClick(search.field, Qt.Key.Key_Return)
    QTest.keyClick(search.field, Qt.Key.Key_Escape)
    assert search.field.text() == search.count.text() == ""


# -- files ---------------------------------------------------------------------------------------


def test_the_svg_has_every_box(whole, tmp_path):
    path = tmp_path / "graph.svg"
    assert whole.job_of(str(path))(no_progress, never_cancelled) == 38
    text = path.read_text(encoding="utf-8")
    assert QSvgRenderer(str(path)).isValid()
    assert text.count(">scaled_dot_pro") == 2
    assert "Xnnpack 17" not in text  # no instruction as a name
    assert ">Xnnpack<" in text


def test_the_png_is_sharp(whole, tmp_path):
    path = tmp_path / "a.png"
    whole.job_of(str(path))(no_progress, never_cancelled)
    assert path.read_bytes().startswith(b"\x89PNG")
    whole.copy()
    image = QGuiApplication.clipboard().image()
    assert image.width() >= 2 * whole.answer.layout.width


# -- painting ------------------------------------------------------------------------------------


@pytest.fixture
def painted(monkeypatch):
    """The names and figures that are painted: text, place, and whether it is cut."""
    texts, write = [], painting._Frame._write

    def watched(frame, room, text, role, size, color, *side, **cut):
        width = write(frame, room, text, role, size, color, *side, **cut)
        if role != "zero_length":  # a number at an edge
            left = room.right() - width if painting._RIGHT in side else room.left()
            place = QRectF(left, room.top(), width, room.height())
            texts.append((text, place, width < frame._cache.cut(text, role, size, 9999)[1]))
        return width

    monkeypatch.setattr(painting._Frame, "_write", watched)
    return texts


@pytest.mark.parametrize("scale", [0.15, 0.25, 0.29, 0.33, 0.36, 0.5, 1.0])
def test_names_of_groups_overlap_nothing_and_are_cut_for_no_figure(whole, painted, scale):
    size = whole.view.picture.size
    whole.resize(round(size.width()), round(size.height()) + 300)  # all of it is in view
    painted.clear()
    whole.view.center_on(QPointF(size.width() / 2, size.height() / 2), scale)
    whole.view.grab()
    picture = whole.view.picture
    groups = {picture.looks[node].name for node in picture.frames.tolist()}
    assert groups & {text for text, _, _ in painted}
    assert not [text for text, _, is_cut in painted if is_cut and text in groups]
    for number, (text, place, _) in enumerate(painted):
        assert not [other for other, room, _ in painted[:number] if room.intersects(place)], text


def test_no_name_has_the_number_of_an_instruction(whole):
    looks, tree = whole.answer.looks, whole.answer.model.tree
    calls = [look for node, look in looks.items() if tree.call[node] >= 0]
    assert {look.name for look in calls} == {"Xnnpack"}
    assert {look.detail.partition(" · ")[0] for look in calls} == {
        f"call {number} of 10" for number in range(1, 11)
    }


def test_a_theme_paints_again(whole, theme):
    dark = whole.view.grab().toImage()
    theme.set_choice("light")
    assert whole.view.grab().toImage() != dark
    theme.set_choice("dark")


def test_a_panned_frame_is_that_of_a_new_paint(whole):
    view = whole.view
    view.zoom(2.5)
    view.grab()
    for _ in range(3):
        view.move_drawing(QPointF(-21, 13))
        panned = view.grab().toImage()
    view.retheme()
    again = view.grab().toImage()
    spots = [(x, y) for x in range(panned.width()) for y in range(panned.height())]
    differing = sum(panned.pixel(*spot) != again.pixel(*spot) for spot in spots)
    # Lines that lie exactly between two rows of pixels may be on either of them.
    assert differing < len(spots) / 200


def test_selected_edges_are_those_of_the_operator(whole):
    view = whole.view
    box = int(view.picture.tree.leaf[QKV])
    strong = np.flatnonzero(view.picture.edges_of({box})).tolist()
    edges = view.picture.answer.layout.edges
    assert strong
    for edge in range(len(edges)):
        if edges.source[edge] == box or edges.target[edge] == box:
            assert edge in strong


def test_hidden_panels_ask_nothing(whole):
    before = whole.answer
    whole.hide()
    whole.controls.open_first.click()
    assert whole.answer is before


def found(wanted):
    program = nested_program(
        ["a.x", "a.x", "a.y", "b", "b"], ops=["conv", "relu", "add", "mm", "mm"]
    )
    calls = calls_of({7: (3, 4)})
    tree = group_tree(program, calls)
    nodes = hits(searched_texts(tree, program, calls), wanted)
    return [tree.names[n] or f"call {tree.call[n]}" for n in nodes]


def test_operators_modules_classes_and_calls_are_found():
    assert found("relu") == ["relu"]
    assert found("MM_4") == ["mm"]
    assert found("xnnpack 7") == ["call 0"]
    assert found("a.x") == ["x", "conv", "relu"]


def test_all_words_must_be_there():
    assert found("conv x") == ["conv"]
    assert found("conv b") == []
    assert found("  ") == []
