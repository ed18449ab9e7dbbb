"""A panel that is made when its tab is first in front shows what one shows that was always there.

Two sessions get the same random changes. In one all panels are there from the start, in the other
none, as in a window whose user has not looked at them yet. Then each page is shown in both.
"""

import random
from collections.abc import Callable

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QModelIndex
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QLabel,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QWidget,
)

from tests.gui.fake_host import FakeHost
from viewer.formats import open_file
from viewer.gui.panels.base.multi_page_panel import ModePanel
from viewer.gui.qt.background import Latest
from viewer.gui.session import bookmarks, choices, clocks, navigation
from viewer.gui.session.comparison import ComparisonFeed, compare_with_others, other_inferences
from viewer.gui.session.feeds.search import Search
from viewer.gui.session.feeds.selection import SelectionFeed
from viewer.gui.session.session import Session
from viewer.gui.window.frame.panel_registry import PanelRegistry
from viewer.gui.window.frame.panel_table import TABLE
from viewer.model.inference_views import Inferences
from viewer.render.color_schemes import SCHEMES
from viewer.resources import SAMPLES
from viewer.view.state import Area, RulerUnit, SliceRef

QUERIES = ("add", "dur>1us", "no such name", "")
MOST_ROWS = 40
SEEDS = [1, 2, 5, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(6, 30))]


def any_slice(session: Session, chance: random.Random) -> SliceRef:
    trace = chance.randrange(len(session.traces))
    return SliceRef(trace, chance.randrange(len(session.traces[trace].trace.slices)))


def select_operators(session: Session, chance: random.Random) -> None:
    trace = chance.randrange(len(session.traces))
    program = session.traces[trace].table.program
    if program is not None and program.operators:
        session.select_operators(trace, (chance.randrange(len(program.operators)),))


def select_area(session: Session, chance: random.Random) -> None:
    ref, state = any_slice(session, chance), session.state
    track = int(session.traces[ref.trace].trace.slices.track(ref.index))
    session.select_area(Area(state.t0, state.t1, frozenset({(ref.trace, track)})))


def search(session: Session, chance: random.Random) -> None:
    Search.of(session).set_query(chance.choice(QUERIES))


def pick_run(session: Session, chance: random.Random) -> None:
    trace = chance.randrange(len(session.traces))
    runs = len(session.traces[trace].file.runs)
    navigation.pick_run(session, (trace, chance.randrange(runs)) if runs else None)


def color(session: Session, chance: random.Random) -> None:
    scheme = chance.choice(list(SCHEMES)).id
    if not choices.scheme_problem(session, scheme):
        choices.set_scheme(session, scheme)


def compare(session: Session, chance: random.Random) -> None:
    if other_inferences(session):
        compare_with_others(session)


def keep_bookmark(session: Session, chance: random.Random) -> None:
    if bookmarks.can_mark(session):
        bookmarks.keep(session, session.state.t0)


CHANGES: tuple[Callable[[Session, random.Random], object], ...] = (
    lambda session, chance: session.select_slice(any_slice(session, chance)),
    select_operators,
    select_area,
    lambda session, chance: session.clear_selection(),
    search,
    pick_run,
    lambda session, chance: navigation.pick_run(session, None),
    lambda session, chance: navigation.include_warm_up(session, included=chance.random() < 0.5),
    lambda session, chance: session.show_inferences(chance.choice(list(Inferences))),
    lambda session, chance: navigation.zoom(session, chance.choice((0.2, 5)), 0.5),
    lambda session, chance: navigation.fit_all(session),
    lambda session, chance: clocks.set_ruler(session, chance.choice(list(RulerUnit))),
    color,
    compare,
    keep_bookmark,
    lambda session, chance: session.undo(),
    lambda session, chance: navigation.show_file(session, chance.randrange(len(session.traces))),
)


class Registered:
    """A session with the feeds that a window starts, and its panels, made on use."""

    def __init__(self, theme):
        self.session = Session()
        for feed in (Search, SelectionFeed, ComparisonFeed):
            feed.of(self.session)
        self.host = FakeHost(self.session, theme)
        self.registry = PanelRegistry(self.session, theme, lambda page: self.host, TABLE)

    def panel(self, page: str) -> QWidget:
        panel = self.registry.panels[TABLE.panel_of[page]]
        if isinstance(panel, ModePanel):
            panel.show_mode(page)
        panel.resize(900, 500)
        panel.show()
        return panel

    def widgets(self) -> list[QWidget]:
        registry = self.registry
        return [*registry.panels.existing.values(), *registry.pages.existing.values()]

    def pending(self) -> bool:
        tasks = self.session.findChildren(Latest)
        for panel in (
            *self.registry.panels.existing.values(),
            *self.registry.pages.existing.values(),
        ):
            tasks += panel.findChildren(Latest)
        return any(task.pending for task in tasks)

    def put_away(self) -> None:
        for panel in (
            *self.registry.panels.existing.values(),
            *self.registry.pages.existing.values(),
        ):
            if shiboken6.isValid(panel):
                for latest in panel.findChildren(Latest):
                    latest.shutdown()
        self.session.close_all()


def contents(panel: QWidget) -> list[str]:
    """What the visible widgets of a panel show and offer."""
    shown: list[str] = []
    for widget in panel.findChildren(QWidget):
        if not widget.isVisibleTo(panel):
            continue
        kind, name = type(widget).__name__, widget.accessibleName()
        text: object = ""
        if isinstance(widget, QComboBox):
            offered = [widget.itemText(i) for i in range(widget.count())]
            text = widget.currentText(), offered
        elif isinstance(widget, QAbstractItemView):
            model = widget.model()
            is_list = isinstance(widget, QListView)
            columns = range(1 if is_list else model.columnCount(QModelIndex()))
            rows = range(min(model.rowCount(QModelIndex()), MOST_ROWS))
            cells = [[model.index(row, column).data() for column in columns] for row in rows]
            chosen = [i.row() for i in widget.selectionModel().selectedIndexes()]
            text = model.rowCount(QModelIndex()), cells, sorted(set(chosen))
        elif isinstance(widget, QPlainTextEdit):
            text = widget.toPlainText()
        elif isinstance(widget, (QLabel, QLineEdit)):
            text = widget.text()
        elif isinstance(widget, QAbstractButton):
            text = widget.text(), widget.isChecked()
        if text or name:
            shown.append(repr((kind, name, widget.isEnabled(), text)))
    return sorted(shown)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_panel_that_is_made_late_shows_the_same(theme, qtbot, seed):
    chance = random.Random(seed)
    always, late = Registered(theme), Registered(theme)
    both = (always, late)
    for panel in always.registry.panels.values():
        qtbot.addWidget(panel)
    samples = [list(sample.paths()) for sample in SAMPLES]
    paths = [*chance.choice(samples), *(chance.choice(samples) if seed % 2 else ())]

    def settle() -> None:
        qtbot.waitUntil(lambda: not any(each.pending() for each in both), timeout=20_000)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        QCoreApplication.processEvents()

    for each in both:
        each.session.add([open_file(path) for path in dict.fromkeys(paths)])
    settle()
    done = []
    for _ in range(12):
        change, number = chance.choice(CHANGES), chance.random()
        done.append(getattr(change, "__name__", change))
        for each in both:
            change(each.session, random.Random(number))
        settle()
    assert always.session.state == late.session.state
    pages = list(TABLE.pages)
    chance.shuffle(pages)
    for page in pages:
        if page == "source":  # else it keeps the file of what was selected before
            for each in both:
                select_operators(each.session, random.Random(seed))
        panels = [each.panel(page) for each in both]
        qtbot.addWidget(panels[1])
        settle()
        first, second = (contents(panel) for panel in panels)
        assert set(second) ^ set(first) == set(), (page, paths, done)
        for panel in panels:
            panel.hide()
    for each in both:
        each.put_away()
