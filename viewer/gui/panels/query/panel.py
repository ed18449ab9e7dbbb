"""The Query panel: one SQL query on the open files, as `opscope query`.

A query runs in a thread and can be stopped. A click on a row selects the slice that it names, a
double click zooms to it.
"""

from __future__ import annotations

import copy
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QStringListModel, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QColor,
    QKeyEvent,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
)
from PySide6.QtWidgets import (
    QCompleter,
    QLineEdit,
    QListView,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
)

from viewer.dataclasses import dataclass, field
from viewer.gui.panels.base.panel import (
    PagePanel,
    PanelHost,
    head_row,
    page_splitter,
    subtitle_label,
)
from viewer.gui.panels.query.result_area import ResultArea, ResultChart, RowsView
from viewer.gui.qt.background import Latest, WhenVisible
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import ComboBox
from viewer.gui.qt.widgets.labels import literal, tip
from viewer.gui.session import navigation
from viewer.gui.session.feeds import derived
from viewer.gui.session.feeds.derived import DerivedTracks
from viewer.model.inference_views import Inferences
from viewer.model.text import one_line
from viewer.model.times import counted, format_time, group_digits
from viewer.query.engine import Limits, NoDuckDB, Result, WrongQuery, why_missing
from viewer.view.derived_tracks import ChartKind, QueryChart, why_no_track
from viewer.view.state import LONGEST_NAME

if TYPE_CHECKING:
    from viewer.api.profile import Profile


WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN", "ON",
    "USING", "AS", "AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS NULL", "CASE", "WHEN", "THEN",
    "ELSE", "END", "DISTINCT", "UNION ALL", "EXCEPT", "WITH", "OVER", "PARTITION BY", "DESC",
    "count(*)", "sum(", "avg(", "min(", "max(", "median(", "quantile_cont(", "overlap(", "lead(",
    "lag(", "row_number()", "coalesce(", "round(",
)  # fmt: skip
_SINGLE = sorted({part for word in WORDS if word[0].isupper() for part in word.split()})
_KEYWORD = re.compile(rf"\b(?:{'|'.join(_SINGLE)})\b", re.IGNORECASE)
_TEXT, _REMARK = re.compile(r"'(?:[^']|'')*'?"), re.compile(r"--.*")
_FEWEST = 2  # letters before words are proposed
_RUN_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_POPUP_KEYS = (*_RUN_KEYS, Qt.Key.Key_Tab, Qt.Key.Key_Escape, Qt.Key.Key_Backtab)


def proposals(text: str, schema: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what can follow in a query, the columns of the tables that it names first."""
    names = {table: table.partition("(")[0] for table in schema}  # without a parameter
    named = [
        table for table, name in names.items() if re.search(rf"\b{name}\b", text, re.IGNORECASE)
    ]
    columns: Iterable[str] = (c for table in (named or schema) for c in schema[table])
    return list(dict.fromkeys((*columns, *schema, *WORDS)))


class _Colors(QSyntaxHighlighter):
    """Colors the words of SQL, texts and remarks."""

    def __init__(self, editor: QPlainTextEdit, theme: Theme) -> None:
        super().__init__(editor.document())
        self._theme = theme

    @guard
    def highlightBlock(self, text: str) -> None:
        for pattern, token in ((_KEYWORD, "accent"), (_TEXT, "text2"), (_REMARK, "text3")):
            look = QTextCharFormat()
            look.setForeground(QColor(self._theme.color(token)))
            for match in pattern.finditer(text):
                self.setFormat(match.start(), match.end() - match.start(), look)


class QueryEditor(QPlainTextEdit):
    """The editor. Ctrl+Enter runs the query, Ctrl+Space proposes words; Tab leaves it."""

    run_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.schema: Mapping[str, Sequence[str]] = {}
        self.setAccessibleName("SQL query")
        self.setPlaceholderText("SELECT name, count(*), sum(dur_ns) FROM slices GROUP BY 1")
        self.setTabChangesFocus(True)
        self.setFont(theme.font("code"))
        self._colors = _Colors(self, theme)
        self._words = QStringListModel(self)
        self.completer = QCompleter(self._words, self)
        self.proposed = QListView()
        self.completer.setPopup(self.proposed)
        self.completer.setWidget(self)
        self.completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.completer.setFilterMode(Qt.MatchFlag.MatchStartsWith)
        self.completer.activated.connect(self._complete)

    @property
    def _start(self) -> str:
        """The letters before the cursor."""
        cursor = self.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        match = re.search(r"\w*$", before)
        return match[0] if match else ""

    def insert_word(self, word: str) -> None:
        """Insert a word at the cursor, with spaces around it where they are needed."""
        cursor = self.textCursor()
        before = cursor.block().text()[: cursor.positionInBlock()]
        space = " " if before and before[-1].isalnum() else ""
        cursor.insertText(f"{space}{word}")
        self.setFocus()

    @Slot(str)
    def _complete(self, word: str) -> None:
        cursor = self.textCursor()
        cursor.movePosition(
            QTextCursor.MoveOperation.Left, QTextCursor.MoveMode.KeepAnchor, len(self._start)
        )
        cursor.insertText(word)
        self.setTextCursor(cursor)

    def propose(self, fewest: int = _FEWEST) -> None:
        """Show the words that begin with the letters before the cursor, if there are so many."""
        start, popup = self._start, self.proposed
        words = proposals(self.toPlainText(), self.schema)
        self._words.setStringList(words)
        self.completer.setCompletionPrefix(start)
        alone = self.completer.completionCount() == 1 and (
            self.completer.currentCompletion().casefold() == start.casefold()
        )
        if len(start) < fewest or alone or not self.completer.completionCount():
            popup.hide()
            return
        popup.setCurrentIndex(self.completer.completionModel().index(0, 0))
        place = self.cursorRect()
        place.setWidth(popup.sizeHintForColumn(0) + popup.verticalScrollBar().sizeHint().width())
        self.completer.complete(place)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, modifiers = event.key(), event.modifiers()
        has_control = bool(modifiers & Qt.KeyboardModifier.ControlModifier)
        if self.proposed.isVisible() and not has_control and key in _POPUP_KEYS:
            event.ignore()  # the popup takes them
            return
        if has_control and key in _RUN_KEYS:
            self.proposed.hide()
            self.run_requested.emit()
            return
        if has_control and key == Qt.Key.Key_Space:
            self.propose(0)
            return
        super().keyPressEvent(event)
        if event.text().isalnum() or event.text() == "_" or key == Qt.Key.Key_Backspace:
            self.propose()
        else:
            self.proposed.hide()


NOTHING = "Open a profile to query it with SQL."
NO_ROWS = "Run a query first"
MOST_ROWS = 100_000
FIRST = """SELECT name, count(*) AS n, sum(self_ns) AS self_ns
FROM slices
WHERE derived IS NOT TRUE
GROUP BY name
ORDER BY self_ns DESC"""
_LIMITS = Limits(seconds=300.0, memory=1_000_000_000, rows=MOST_ROWS)
_MOST_REMEMBERED, _LONGEST_LINE = 30, 100
_NAME, _ROOM = 110, 240  # px


@dataclass(eq=False)
class _Running:
    """A query that runs, and what stops it. Its thread adds `stop` when DuckDB has begun."""

    text: str
    is_stopped: threading.Event = field(default_factory=threading.Event)
    stop: Callable[[], None] | None = None

    def started(self, stop: Callable[[], None]) -> None:
        """Take what stops the query, which may be stopped already."""
        self.stop = stop
        if self.is_stopped.is_set():
            stop()


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """The rows of a query, and how long it took."""

    result: Result
    seconds: float


Reply = Answered | WrongQuery | NoDuckDB


def answer(profile: Profile, running: _Running) -> Reply:
    """Return the rows of a query, or why there are none."""
    from viewer.api.sql import sql_result

    began = time.monotonic()
    try:
        result = sql_result(profile, running.text, _LIMITS, None, running.started)
    except (WrongQuery, NoDuckDB) as error:
        return WrongQuery("The query was stopped") if running.is_stopped.is_set() else error
    return Answered(result, time.monotonic() - began)


def _button(text: str, about: str) -> QPushButton:
    button = QPushButton(text)
    button.setToolTip(about)
    return button


class QueryPanel(PagePanel):
    """The editor, the tables and the rows."""

    def __init__(self, host: PanelHost) -> None:
        super().__init__(host)
        theme = host.theme
        self._profile: Profile | None = None
        self._running: _Running | None = None
        self._past: list[str] = []
        self._text = ""  # of the rows
        self._latest = Latest(self, self._take)
        self._latest.failed.connect(self._fail)
        self.editor = QueryEditor(theme)
        self.editor.setPlainText(FIRST)
        self.editor.run_requested.connect(self.run)
        self.tables = QTreeWidget()
        self.tables.setAccessibleName("Tables and columns")
        self.tables.setHeaderHidden(True)
        self.tables.itemActivated.connect(self._insert)
        self.run_button = _button("Run", "Run the text, or its selected part (Ctrl+Enter)")
        self.run_button.clicked.connect(self.run)
        self.stop_button = _button("Stop", "Stop the query")
        self.stop_button.clicked.connect(self._stop)
        self.history_button = _button("History", "Queries that ran, the last one first")
        self.history = QMenu(self)
        self.history.aboutToShow.connect(self._list_past)
        self.history.triggered.connect(self._choose_past)
        self.history_button.setMenu(self.history)
        self.chart_box = ComboBox(theme)
        self.chart_box.setAccessibleName("Show rows as")
        self.chart_box.setToolTip("Draw the first number of the result above its rows")
        self.chart_box.offer((kind.value for kind in ChartKind), 0)
        self.chart_box.currentIndexChanged.connect(self._show_chart)
        self.track_name = QLineEdit()
        self.track_name.setAccessibleName("Name of the track or chart")
        self.track_name.setPlaceholderText("Name")
        self.track_name.setMaxLength(LONGEST_NAME)
        self.track_name.setMaximumWidth(theme.px(_NAME))
        self.track_name.returnPressed.connect(self._keep)
        self.track_button = _button("Add track", "")
        self.track_button.clicked.connect(self.add_track)
        about = "Keep the chart and its query in the session and in reports"
        self.keep_button = _button("Keep chart", about)
        self.keep_button.clicked.connect(self.keep_chart)
        about = "Tracks and charts of queries, to show or remove them"
        self.tracks_button = _button("Kept", about)
        self.track_menu = QMenu(self)
        self.track_menu.aboutToShow.connect(self._list_tracks)
        self.tracks_button.setMenu(self.track_menu)
        self._visible = WhenVisible(self)
        self._visible.due.connect(self._show_kept_chart)
        self._session.derived_changed.connect(self._follow_kept)
        self.subtitle = subtitle_label(theme)
        head = head_row(theme, 8)
        for tool in (
            self.run_button, self.stop_button, self.history_button, self.chart_box,
            self.track_name, self.track_button, self.keep_button, self.tracks_button,
        ):  # fmt: skip
            head.addWidget(tool)
        head.addWidget(self.subtitle, 1)
        self.area = ResultArea(theme)
        self.area.chosen.connect(self._choose)
        self.area.opened.connect(self._fit)
        self.message, self.no_chart = self.area.message, self.area.note
        asked = page_splitter(Qt.Orientation.Vertical, self.editor, self.area, 32)
        self.set_page(page_splitter(Qt.Orientation.Horizontal, self.tables, asked, 22), head=head)
        self.refresh_on(self._session.workspace_changed)
        self._session.selection_changed.connect(self._mark)
        self.refresh()

    @property
    def rows(self) -> RowsView | None:
        """The rows of the last query, None without any."""
        return self.area.rows

    @property
    def chart(self) -> ResultChart | None:
        """The chart above them, None without any."""
        return self.area.chart

    @Slot()
    def refresh(self) -> None:
        """List the tables of what is open; the rows of other files go."""
        self._stop()
        self._latest.cancel()
        self._running = self._profile = None
        self.area.show_message("")
        self._show_rows(None)
        self._show_state()
        if why := why_missing():
            self.show_sentence(f"{why[:1].upper()}{why[1:]}.")
        elif not (self._session.traces or self._session.workspace.programs):
            self.show_sentence(NOTHING)
        else:
            self.show_page()
            self._list_tables()
            self._follow_kept()

    def _list_tables(self) -> None:
        # Late, as the window starts without them.
        from viewer.api.profile import Profile
        from viewer.api.sql_tables import PERFETTO_VIEWS, schema

        workspace = copy.copy(self._session.workspace)
        workspace.traces = list(workspace.traces)
        self._profile = Profile(workspace)
        columns = schema(self._profile)
        views = dict.fromkeys(PERFETTO_VIEWS, ())
        self.editor.schema = {t: [c.name for c in of] for t, of in {**columns, **views}.items()}
        self.tables.clear()
        for table, of_table in columns.items():
            item = QTreeWidgetItem(self.tables, [table])
            for column in of_table:
                child = QTreeWidgetItem(item, [column.name])
                unit = f", {column.unit}" if column.unit else ""
                child.setToolTip(0, tip(f"{column.meaning}{unit}"))
        perfetto = QTreeWidgetItem(self.tables, ["Perfetto's names"])
        for name in PERFETTO_VIEWS:
            QTreeWidgetItem(perfetto, [name])

    # -- running -----------------------------------------------------------------------------------

    @Slot()
    def run(self) -> None:
        """Run the text of the editor, or its selected part."""
        text = self.editor.textCursor().selectedText().replace("\u2029", "\n")
        text = text.strip() or self.editor.toPlainText().strip()
        if self._profile is None or not text:
            return
        self._stop()
        self._past = [text, *(past for past in self._past if past != text)][:_MOST_REMEMBERED]
        self._running, self._text = _Running(text), text
        self._show_state()
        self._latest.submit(answer, self._profile, self._running)

    def stop(self) -> str:
        if self._running is None:
            return ""
        self._stop()
        return "The query is stopped"

    @Slot()
    def _stop(self) -> None:
        if self._running is not None:
            self._running.is_stopped.set()
            if self._running.stop is not None:
                self._running.stop()

    @Slot(object)
    def _take(self, reply: Reply) -> None:
        self._running = None
        self._show_state()
        if isinstance(reply, Answered):
            self.area.show_message("")
            self._show_rows(reply.result)
            count, listed = reply.result.count, len(reply.result.rows)
            rows = counted(count, "row")
            if listed < count:
                rows = f"the first {group_digits(listed)} of {rows}"
            self._describe(f"{rows} · {format_time(round(reply.seconds * 1e9))}")
            return
        text, place = str(reply).partition(" (--")[0], getattr(reply, "place", "")
        self.area.show_message(f"{text[:1].upper()}{text[1:]}\n{place}".strip())
        self._show_rows(None)
        self._describe("")

    @Slot(str)
    def _fail(self, text: str) -> None:
        self._take(WrongQuery(text))

    def _show_state(self) -> None:
        is_running = self._running is not None
        self.stop_button.setEnabled(is_running)
        if is_running:
            self._describe("Running …")

    def _describe(self, text: str) -> None:
        """Show what the rows are, in the next line if there is no room beside the tools."""
        room = self.subtitle.fontMetrics().horizontalAdvance(text)
        self.subtitle.setMinimumWidth(min(room + 2, self._theme.px(_ROOM)) if text else 0)
        self.subtitle.setText(text)

    def _show_rows(self, result: Result | None) -> None:
        why = NO_ROWS if result is None else why_no_track(result.columns)
        self.track_button.setEnabled(not why)
        self.track_button.setToolTip(why or "Draw the rows below the timeline; in no total")
        self.area.show_result(result, self._kind)
        self._offer_to_keep()

    @Slot()
    def _show_chart(self) -> None:
        self.area.show_kind(self._kind)
        self._offer_to_keep()

    def _offer_to_keep(self) -> None:
        is_drawn = self.chart is not None
        self.keep_button.setVisible(is_drawn)
        self.track_name.setVisible(is_drawn or self.track_button.isEnabled())

    @property
    def _kind(self) -> ChartKind:
        return list(ChartKind)[self.chart_box.currentIndex()]

    @Slot()
    def _keep(self) -> None:
        """Add the track, or else keep the chart, of the name that was entered."""
        if self.track_button.isEnabled():
            self.add_track()
        else:
            self.keep_chart()

    @Slot()
    def add_track(self) -> None:
        """Draw the rows below the timeline, as slices or counters."""
        if self.rows is None or why_no_track(self.rows.result.columns):
            return
        result = self.rows.result
        paths = result.columns.index("file") if "file" in result.columns else None
        files = set() if paths is None else {str(row[paths]) for row in result.rows}
        track = derived.named(self._session, self.track_name.text(), self._text, files)
        drawn = DerivedTracks.of(self._session).offer(track, result)
        self.track_name.clear()
        if drawn.complaint:
            self.area.show_note(drawn.complaint)
            return
        self._session.show_inferences(Inferences.AS_RUN)
        derived.add(self._session, track)

    @Slot()
    def keep_chart(self) -> None:
        """Keep the chart with its query, under the name in the field."""
        if self.rows is None or self.chart is None:
            return
        DerivedTracks.of(self._session).offer_chart(self._text, self.rows.result)
        derived.keep_chart(self._session, self.track_name.text(), self._text, self._kind)
        self.track_name.clear()

    @Slot()
    def _follow_kept(self) -> None:
        """Offer what is kept; of a session that was opened, show the last chart."""
        state = self._session.state
        self.tracks_button.setVisible(bool(state.derived or state.charts))
        if state.charts and self._profile is not None and self._is_unused:
            self._visible.request()

    @property
    def _is_unused(self) -> bool:
        """Whether no query was written, and none ran on these files."""
        is_written = self.editor.document().isModified()
        return self.rows is None and self._running is None and not is_written

    @Slot()
    def _show_kept_chart(self) -> None:
        if self._is_unused and self._session.state.charts:
            self.show_chart(self._session.state.charts[-1])

    def show_chart(self, chart: QueryChart) -> None:
        """Show the query of a chart, and run it."""
        self.editor.setPlainText(chart.sql)
        self.chart_box.setCurrentIndex(list(ChartKind).index(chart.kind))
        self.run()

    @Slot()
    def _list_tracks(self) -> None:
        self.track_menu.clear()
        session, add = self._session, self.track_menu.addAction
        for chart in session.state.charts:
            add(literal(f"Show chart {chart.name}"), partial(self.show_chart, chart))
        for chart in session.state.charts:
            add(literal(f"Remove chart {chart.name}"), partial(derived.drop_chart, session, chart))
        for track in session.state.derived:
            add(literal(f"Remove track {track.name}"), partial(derived.remove, session, track))

    # -- tables and past queries -------------------------------------------------------------------

    @Slot(QTreeWidgetItem, int)
    def _insert(self, item: QTreeWidgetItem) -> None:
        if item.parent() is not None or item.toolTip(0) or item.text(0) in self.editor.schema:
            self.editor.insert_word(item.text(0))

    @Slot()
    def _list_past(self) -> None:
        self.history.clear()
        for number, text in enumerate(self._past):
            line = one_line(" ".join(text.split()))
            short = f"{line[:_LONGEST_LINE]}…" if len(line) > _LONGEST_LINE else line
            action = self.history.addAction(literal(short))
            action.setData(number)
        if not self._past:
            self.history.addAction("No query ran").setEnabled(False)

    @Slot(QAction)
    def _choose_past(self, action: QAction) -> None:
        number = action.data()
        if isinstance(number, int):
            self.editor.setPlainText(self._past[number])
            self.editor.setFocus()

    # -- selecting ---------------------------------------------------------------------------------

    @Slot(int)
    def _choose(self, row: int) -> None:
        """Select the slice that a row names, or show its source line."""
        if self.rows is None:
            return
        if self.chart is not None:
            self.chart.mark_row(int(self.rows.arranged.items[row]))
        number = self.rows.slice_id(row, self.rows.currentIndex().column())
        ref = None if number is None else derived.slice_of(self._session, number)
        if ref is not None:
            self._session.show_inferences(Inferences.AS_RUN)
            with self.choosing():
                self._session.select_slice(ref, reveal=True)
        elif number is None and (place := self.rows.source_line(row)) is not None:
            self.host.show_source(*place)

    @Slot(QModelIndex)
    def _fit(self, index: QModelIndex) -> None:
        if self.rows is not None and self.rows.slice_id(index.row(), index.column()) is not None:
            navigation.fit_selection(self._session)

    @Slot()
    def _mark(self) -> None:
        """Mark the row of the selected slice."""
        ref = self._session.state.slice
        if self.rows is None or ref is None or self._choosing:
            return
        before = range(ref.trace)
        number = ref.index + sum(len(self._session.as_run(i).trace.slices) for i in before)
        row = self.rows.row_of(number)
        if row >= 0:
            self.rows.selectRow(row)
            self.rows.scrollTo(self.rows.arranged.index(row, 0))
