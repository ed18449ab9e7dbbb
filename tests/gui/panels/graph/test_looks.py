"""What nodes show in every color, and the names of delegate calls."""

from tests.gui.panels.graph.picture import settle
from viewer.analysis.comparison.comparison import Verdict
from viewer.analysis.numbers.compared import OperatorErrors
from viewer.gui.panels.graph.controls import NO_ERRORS, NO_PROGRAM_FILE
from viewer.gui.panels.graph.measures import CHANGE_STEPS, ChangeFill, MeasureKind
from viewer.gui.session.navigation import pick_run
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


def test_no_name_has_the_number_of_an_instruction(whole):
    looks, tree = whole.answer.looks, whole.answer.model.tree
    calls = [look for node, look in looks.items() if tree.call[node] >= 0]
    assert {look.name for look in calls} == {"Xnnpack"}
    assert {look.detail.partition(" · ")[0] for look in calls} == {
        f"call {number} of 10" for number in range(1, 11)
    }
