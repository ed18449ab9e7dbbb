"""The list of findings: its info marks and rules, its groups of checks, its mouse and its keys."""

from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QFontMetrics, QHelpEvent
from PySide6.QtWidgets import QToolTip

from tests.builders.delegation_cases import SAMPLES
from tests.gui.dark_theme import dark_theme
from viewer.analysis.findings.findings import FindingsAnalysis
from viewer.analysis.links.linker import link
from viewer.formats import open_file
from viewer.gui.panels.findings.list import FindingsList, FindingsModel, RowKind, breakable
from viewer.model.figures import WHOLE

PAIR = ("attn_xnnpack_x5.etdp", "attn_teal_xnnpack.etrecord")
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(scope="module")
def findings():
    trace, program = (open_file(str(SAMPLES / "attention_xnnpack" / name)) for name in PAIR)
    return FindingsAnalysis(link(trace, program)).of(WHOLE, trace.clock.ns_per_tick)


@pytest.fixture
def view(findings, qapp, qtbot):
    model = FindingsModel()
    model.show(findings)
    made = FindingsList(model, dark_theme())
    model.setParent(made)
    qtbot.addWidget(made)
    made.resize(660, 700)
    made.show()
    return made


@pytest.fixture
def shown(monkeypatch):
    """The tooltips that are shown."""
    texts: list[str] = []
    monkeypatch.setattr(QToolTip, "showText", lambda at, text, *more: texts.append(text))
    return texts


def rows(view):
    return view.model().rows


def group(view, is_passed):
    return next(
        i for i, row in enumerate(rows(view))
        if row.kind is RowKind.GROUP and row.is_passed is is_passed
    )  # fmt: skip


def hover(view, at: QPoint) -> None:
    event = QHelpEvent(QHelpEvent.Type.ToolTip, at, view.viewport().mapToGlobal(at))
    view.viewportEvent(event)


def test_a_rule_is_no_text_of_its_row_but_the_tooltip_of_its_mark(view, shown):
    row = rows(view)[1]
    assert "Reported when" not in row.plain
    hover(view, view.places(1).mark.center())
    hover(view, view.places(1).title.center())
    assert "Reported when a delegate ran" in shown[0]
    assert shown[1] == ""


def test_a_click_on_a_mark_shows_the_rule_and_chooses_nothing(view, shown, qtbot):
    with qtbot.assertNotEmitted(view.chosen):
        qtbot.mouseClick(view.viewport(), LEFT, pos=view.places(1).mark.center())
    assert "Reported when a delegate ran" in shown[-1]
    assert not view.selectedIndexes()
    with qtbot.waitSignal(view.chosen) as chosen:
        qtbot.mouseClick(view.viewport(), LEFT, pos=view.places(1).title.center())
    assert chosen.args == [1]


def test_space_shows_the_rule_of_the_current_row(view, shown, qtbot):
    view.setCurrentIndex(view.model().index(1))
    qtbot.keyClick(view, Qt.Key.Key_Space)
    assert "Reported when a delegate ran" in shown[-1]
    view.setCurrentIndex(view.model().index(group(view, True)))
    qtbot.keyClick(view, Qt.Key.Key_Space)
    assert len(shown) == 1  # a group has no rule


def test_a_severity_has_a_shape_a_tooltip_and_a_word(view, shown):
    hover(view, view.places(0).icon.center())
    assert "High severity: at least 25% could be gained" in shown[-1]
    texts = [view.model().data(view.model().index(i), Qt.ItemDataRole.AccessibleTextRole)
             for i in range(6)]  # fmt: skip
    assert texts[0].startswith("1. High severity: Speed up 3 operators")
    assert texts[3].startswith("4. Medium severity: Avoid copies")
    assert texts[4].startswith("5. Low severity: Close gaps")


def test_screen_readers_read_the_rule_as_the_description(view):
    index, role = view.model().index(1), Qt.ItemDataRole.AccessibleDescriptionRole
    assert view.model().data(index, role) == rows(view)[1].rule
    at = group(view, False)
    heard = view.model().data(view.model().index(at), Qt.ItemDataRole.AccessibleTextRole)
    assert heard == "4 checks do not apply to this trace, collapsed"


def test_a_click_on_a_group_expands_and_collapses_it(view, qtbot):
    at, before = group(view, True), rows(view)
    place = view.places(at).title.center()
    qtbot.mouseClick(view.viewport(), LEFT, pos=place)
    assert rows(view)[at].is_open
    assert rows(view)[at + 1].title.startswith("No operator: no operator's slice runs in 6.4")
    assert view.model().rowCount() == len(before) + 2
    qtbot.mouseClick(view.viewport(), LEFT, pos=place)
    assert rows(view) == before


@pytest.mark.parametrize(
    ("opens", "closes"),
    [(Qt.Key.Key_Return, Qt.Key.Key_Return), (Qt.Key.Key_Right, Qt.Key.Key_Left)],
)
def test_keys_expand_and_collapse_a_group(view, qtbot, opens, closes):
    at, before = group(view, False), rows(view)
    view.setCurrentIndex(view.model().index(at))
    qtbot.keyClick(view, opens)
    assert [row.kind for row in rows(view)[at + 1 :]] == [RowKind.CHECK] * 4
    assert view.currentIndex().row() == at
    qtbot.keyClick(view, closes)
    assert rows(view) == before


def test_a_check_without_a_finding_has_its_rule_on_a_mark_too(view, shown, qtbot):
    at = group(view, False)
    view.model().toggle(at)
    view.scrollTo(view.model().index(at + 1))
    hover(view, view.places(at + 1).mark.center())
    assert "Reported when" in shown[-1]


def test_the_gain_is_a_figure_with_a_bar_as_wide_as_the_row(view):
    row, places = rows(view)[1], view.places(1)
    assert (row.figure.split()[:2], row.base.split()[-2:]) == (["up", "to"], ["per", "inference"])
    assert places.figure.right() < places.mark.left()
    assert places.bar.left() == places.title.left()
    assert places.bar.right() >= places.figure.right()
    link_row = next(i for i, one in enumerate(rows(view)) if one.title.startswith("Link 270"))
    assert view.places(link_row).bar.isEmpty()
    assert rows(view)[link_row].figure == ""


@pytest.mark.parametrize("width", [280, 420, 660, 1200])
def test_no_part_of_a_row_covers_another_or_is_cut(view, width):
    view.resize(width, 700)
    view.doItemsLayout()
    for number in range(len(rows(view))):
        rect, places = view.visualRect(view.model().index(number)), view.places(number)
        parts = [places.icon, places.title, places.detail, places.figure, places.base,
                 places.bar, places.mark]  # fmt: skip
        parts = [part for part in parts if not part.isEmpty()]
        assert all(rect.contains(part) for part in parts)
        for at, part in enumerate(parts):
            assert not any(part.intersects(other) for other in parts[at + 1 :])


@pytest.mark.parametrize("width", [60, 120, 300])
def test_names_break_only_if_they_are_wider_than_their_column(qapp, width):
    metrics = QFontMetrics(dark_theme().font("caption"))
    wide = "aten::_scaled_dot_product_flash_attention_for_cpu"
    text = f"conv 3\u202fµs, {wide} and {'x' * 90}"
    shown = breakable(text, metrics, width)
    assert shown.replace("\u200b", "") == text
    assert shown.startswith("conv 3\u202fµs, ")
    flags = int(Qt.TextFlag.TextWordWrap)
    assert metrics.boundingRect(QRect(0, 0, width, 0), flags, shown).width() <= width
    assert ("\u200b" in shown.split(" ")[2]) == (metrics.horizontalAdvance(wide) > width)


def test_rows_are_as_tall_as_their_texts_at_any_width(view, qtbot):
    wide = view.visualRect(view.model().index(0)).height()
    view.resize(320, 700)
    qtbot.waitUntil(lambda: view.visualRect(view.model().index(0)).height() > wide)
    rects = [view.visualRect(view.model().index(i)) for i in range(len(rows(view)))]
    assert all(one.bottom() + 1 == after.top() for one, after in pairwise(rects))
