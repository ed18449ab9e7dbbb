"""The window: menus and toolbar from commands, docks from panels, files by dialog and by drop.

It owns what panels must not know of each other: which dock shows what, what happens to a file that
was dropped, what is said in the status bar. All state of the view is the session's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QBuffer, QCoreApplication, QEvent, QObject, Qt, QThread, QTimer
from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDockWidget,
    QFileDialog,
    QLabel,
    QLineEdit,
    QMainWindow,
    QMessageBox,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QTabBar,
    QTabWidget,
    QToolBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer import __version__
from viewer.background import Latest
from viewer.commands import CommandTable
from viewer.crash_report import guard
from viewer.exporting import NothingToExport, prepare
from viewer.formats import formats
from viewer.loading import Loader
from viewer.model.trace import RunKind
from viewer.panels.details import DetailsPanel
from viewer.panels.empty_note import EmptyNote
from viewer.panels.link_state import LinkState
from viewer.panels.message_bar import MessageBar
from viewer.panels.operators import OperatorsPanel
from viewer.panels.problems import ProblemsPanel
from viewer.panels.source import SourcePanel
from viewer.panels.start_page import StartPage
from viewer.report import info, link_text
from viewer.saving import Saver
from viewer.session import Session, display_name
from viewer.settings import LAST_FOLDER, THEME, WINDOW_STATE_VERSION, Settings
from viewer.status_text import clock_text, range_text, run_text, selection_text
from viewer.theme import Theme
from viewer.timeline.board import ABOVE, Timeline
from viewer.window_commands import MENUS, MOUSE_HELP, START_KEYS, commands_of

DETAILS_WIDTH = 372
MOVING_KEYS = (Qt.Key.Key_W, Qt.Key.Key_A, Qt.Key.Key_S, Qt.Key.Key_D)
_PLAIN = Qt.KeyboardModifier.NoModifier
NARROW, VERY_NARROW = 1400, 1100  # px of the window
OPEN_WIDTH = 84
RIGHT = Qt.DockWidgetArea.RightDockWidgetArea
PROGRESS_AFTER_MS = 300
TIMELINE_SHARE = 0.6
SCHEMES = (("operator", "Operator"), ("name", "Name"))
EXPORT_FILTERS = (
    "Perfetto trace (*.pftrace);;Perfetto trace, gzipped (*.pftrace.gz);;"
    "Table, comma separated (*.csv);;Table, tab separated (*.tsv)"
)
RECORD_ALONE = (
    "A record holds the model, not a run",
    "Its operators are below. To see what they cost, open the profile of a run too: an ETDump that "
    "the runtime wrote with its event tracer on, or a profile as CSV.",
)


class MainWindow(QMainWindow):
    """One window over one session."""

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__()
        self.theme, self.settings = theme, settings
        self.session = Session(self)
        self.loader = Loader(self)
        self.saver = Saver(self)
        self._asked: list[str] = []
        self._loaded: dict[str, object] = {}
        self._given_up: list[str] = []
        self._docks_shown = True
        self._closed: set[str] = set()
        self._pairs: list[tuple[str, str]] = []
        self.timeline = Timeline(self.session, theme)
        self.details = DetailsPanel(self.session, theme)
        self.operators = OperatorsPanel(self.session, theme)
        self.source = SourcePanel(self.session, theme)
        self.problems = ProblemsPanel(self.session, theme)
        self.start_page = StartPage(theme, settings, START_KEYS)
        self.setWindowTitle("Opscope")
        self.setAcceptDrops(True)
        self.resize(1600, 900)
        self._build_centre()
        self._build_docks()
        self.commands = CommandTable(self, commands_of(self))
        self._menus = self.commands.fill(self.menuBar(), MENUS)
        panels = self._menus["View"].addMenu("Pa&nels")
        for dock in self._docks.values():
            panels.addAction(dock.toggleViewAction())
        self._recent_menu = self._menus["File"].addMenu("Open &recent")
        self._menus["File"].insertMenu(self.commands.actions["file.export"], self._recent_menu)
        self._build_toolbar()
        self._build_status()
        self._connect()
        self._events = QApplication.instance()
        if self._events is not None:
            self._events.installEventFilter(self)
        self._refresh()

    # -- parts -------------------------------------------------------------------------------

    def _build_centre(self) -> None:
        self._message = MessageBar(self.theme)
        self._note = EmptyNote(*RECORD_ALONE, self.theme)
        self._pages = QStackedWidget()
        self._reading = QLabel("Reading…")
        self._reading.setAlignment(Qt.AlignmentFlag.AlignCenter)
        for page in (self.start_page, self.timeline, self._note, self._reading):
            self._pages.addWidget(page)
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._message)
        column.addWidget(self._pages, 1)
        self.setCentralWidget(centre)

    def _build_docks(self) -> None:
        self.setDockOptions(
            QMainWindow.DockOption.AllowTabbedDocks | QMainWindow.DockOption.AllowNestedDocks
        )
        self.setTabPosition(
            Qt.DockWidgetArea.AllDockWidgetAreas,
            QTabWidget.TabPosition.North,
        )
        self.setCorner(Qt.Corner.BottomRightCorner, RIGHT)
        bottom = Qt.DockWidgetArea.BottomDockWidgetArea
        self._docks = {
            name: self._dock(name, title, widget, area)
            for name, title, widget, area in (
                ("details", "Details", self.details, RIGHT),
                ("operators", "Operators", self.operators, bottom),
                ("source", "Source", self.source, bottom),
                ("problems", "Problems", self.problems, bottom),
            )
        }
        self.splitDockWidget(
            self._docks["operators"], self._docks["source"], Qt.Orientation.Horizontal
        )
        self.tabifyDockWidget(self._docks["source"], self._docks["problems"])
        for dock in self._docks.values():
            dock.dockLocationChanged.connect(self._fit_titles)
        self._docks["source"].raise_()

    def _fit_titles(self) -> None:
        """A dock among tabs has no title bar of its own: its tab says the title."""
        for dock in self._docks.values():
            tabbed = bool(self.tabifiedDockWidgets(dock))
            if tabbed != (dock.titleBarWidget() is not None):
                dock.setTitleBarWidget(QWidget() if tabbed else None)  # type: ignore[arg-type]

    def _dock(self, name: str, title: str, widget: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(name)
        dock.setWidget(widget)
        self.addDockWidget(area, dock)
        return dock

    def _build_toolbar(self) -> None:
        bar = QToolBar("Main")
        bar.setObjectName("toolbar")
        bar.setMovable(False)
        self.addToolBar(bar)
        self._tool_buttons: list[tuple[QToolButton, str]] = []
        self._add_tool(bar, "file.open", "open", text="Open")
        bar.addSeparator()
        for id, icon in (("go.undo", "back"), ("go.redo", "forward"), ("view.fit_all", "fit")):
            self._add_tool(bar, id, icon)
        bar.addSeparator()
        bar.addWidget(_caption("Colour by"))
        self._scheme = QComboBox()
        self._scheme.setAccessibleName("Colour by")
        for scheme, title in SCHEMES:
            self._scheme.addItem(title, scheme)
        bar.addWidget(self._scheme)
        bar.addSeparator()
        self._add_tool(bar, "go.previous_run", "previous")
        self._run = QComboBox()
        self._run.setAccessibleName("Inference")
        self._run.setMinimumContentsLength(14)
        bar.addWidget(self._run)
        self._add_tool(bar, "go.next_run", "next")
        space = QWidget()
        space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        bar.addWidget(space)
        self._link_state = LinkState(self.theme)
        self._link_action = bar.addWidget(self._link_state)
        self._bar = bar

    def _add_tool(self, bar: QToolBar, id: str, icon: str, text: str = "") -> None:
        button = QToolButton()
        action = self.commands.actions[id]
        button.setDefaultAction(action)
        if text:
            # Qt leaves 4 px between an icon and its word.
            button.setText(f" {text}")
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setProperty("framed", True)
            button.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
            button.setMinimumWidth(self.theme.px(OPEN_WIDTH))
        keys = self.commands.commands[id].keys
        button.setToolTip(action.text().replace("&", "") + (f"  {keys[0]}" if keys else ""))
        self._tool_buttons.append((button, icon))
        bar.addWidget(button)

    def _build_status(self) -> None:
        status = self.statusBar()
        status.setSizeGripEnabled(False)
        self._range = QLabel()
        self._selection = QLabel()
        self._progress = QProgressBar()
        self._progress.setFixedWidth(180)
        self._progress.setRange(0, 1000)
        self._progress.setTextVisible(False)
        self._busy = QLabel()
        self._cancel = QPushButton("Cancel")
        self._clock = QLabel()
        status.addWidget(self._range)
        status.addWidget(self._selection, 1)
        for widget in (self._busy, self._progress, self._cancel, self._clock):
            status.addPermanentWidget(widget)
        self._late = QTimer(self)
        self._late.setSingleShot(True)
        self._late.setInterval(PROGRESS_AFTER_MS)
        self._late.timeout.connect(self._show_busy)
        self._hide_busy()

    def _connect(self) -> None:
        session = self.session
        session.opened.connect(self._refresh)
        session.viewed.connect(self._say_range)
        session.selected.connect(self._say_selection)
        session.run_picked.connect(self._fill_runs)
        session.history_changed.connect(self.commands.refresh)
        session.said.connect(self._say)
        self.loader.progressed.connect(self._loading)
        self.loader.loaded.connect(self._took)
        self.loader.failed.connect(self._load_failed)
        self.loader.cancelled.connect(self._load_cancelled)
        self.loader.all_done.connect(self._loads_done)
        self.saver.progressed.connect(self._saving)
        self.saver.saved.connect(self._saved)
        self.saver.failed.connect(self._save_failed)
        self.start_page.open_requested.connect(self.open)
        self.start_page.open_dialog_requested.connect(self.open_dialog)
        self.details.source_requested.connect(self._show_source)
        self.operators.source_requested.connect(self._show_source)
        self.operators.open_dialog_requested.connect(self.open_dialog)
        self.problems.pair_requested.connect(self._pair)
        for signal in (session.selected, session.run_picked):
            signal.connect(self._tell_links)
        session.selected.connect(self._fill_runs)
        session.coloured.connect(self._fit_scheme)
        self.problems.count_changed.connect(self._count_problems)
        self._note.open_requested.connect(self.open_dialog)
        self._link_state.clicked.connect(self.show_links)
        self._scheme.activated.connect(self._pick_scheme)
        self._run.activated.connect(self._pick_run)
        self._cancel.clicked.connect(self._cancel_all)
        self._recent_menu.aboutToShow.connect(self._fill_recent)
        self.theme.changed.connect(self._retheme)
        self._retheme()

    # -- commands ------------------------------------------------------------------------------

    # -- opening -------------------------------------------------------------------------------

    def open(self, paths: Sequence[str], pairs: Sequence[tuple[str, str]] = ()) -> None:
        """Read files in the background and add them to what is open."""
        self._pairs += pairs
        for path in dict.fromkeys(os.path.abspath(p) for p in paths):
            self._asked.append(path)
            self.loader.load(path)
        if paths:
            self._late.start()
            if self.session.is_empty:
                self._pages.setCurrentWidget(self._reading)

    def open_one(self, path: str) -> None:
        """Open one file, as a file manager asks for it."""
        self.open([path])

    def open_dialog(self) -> None:
        """Ask for files."""
        patterns = " ".join(dict.fromkeys(f"*{s}" for f in formats() for s in f.suffixes))
        paths, _ = QFileDialog.getOpenFileNames(
            self, "Open profiles, records and sources", self.settings.get(LAST_FOLDER),
            f"Profiles, records, sources ({patterns});;All files (*)",
        )  # fmt: skip
        if paths:
            self.open(paths)

    def _took(self, path: str, item: object) -> None:
        self._loaded[path] = item
        self.settings.add_recent_file(path)
        self.start_page.refresh_recent()

    def _load_failed(self, path: str, message: str) -> None:
        self.problems.add_failure(path, message)
        self._message.show_error(message)

    def _load_cancelled(self, path: str) -> None:
        self._given_up.append(display_name(path))

    def _loads_done(self) -> None:
        # In the order in which they were asked for, however long each of them took.
        items = [self._loaded[path] for path in self._asked if path in self._loaded]
        self._asked, self._loaded = [], {}
        self._late.stop()
        self._hide_busy()
        if items:
            self._message.hide_if_told()
            self.session.add(items)  # type: ignore[arg-type]
        else:
            self._refresh()
        if self._given_up:
            self._say(f"{', '.join(self._given_up)} was not opened")
            self._given_up = []
        pairs, self._pairs = self._pairs, []
        for trace, program in pairs:
            try:
                self.session.pair(os.path.abspath(trace), os.path.abspath(program))
            except ValueError as error:
                self._message.show_error(str(error))
        self._warn()

    def _warn(self) -> None:
        """Say which pairs of files must be looked at, with the way to overrule it."""
        for shown in self.session.traces:
            candidates = self.session.workspace.candidates(shown.trace)
            for warning in self.session.workspace.warnings(shown.trace):
                if shown.table.program is None and len(candidates) == 1:
                    pair = (shown.trace.path, candidates[0].program.path)
                    self._message.show_warning(warning, "Link anyway", partial(self._pair, *pair))
                else:
                    self._message.show_warning(warning)

    def _pair(self, trace: str, program: str) -> None:
        self.session.pair(trace, program)
        self._warn()

    @property
    def is_loading(self) -> bool:
        """Whether files are being read."""
        return bool(self.loader.paths)

    # -- exporting -----------------------------------------------------------------------------

    def export_dialog(self) -> None:
        """Ask for a name and write what is open."""
        first = self.session.workspace.paths[0]
        start = os.path.splitext(first)[0] + (".pftrace" if self.session.traces else ".csv")
        path, chosen = QFileDialog.getSaveFileName(self, "Export", start, EXPORT_FILTERS)
        if path:
            if not os.path.splitext(path)[1]:
                path += chosen.partition("(*")[2].rstrip(")")
            self.export(path)

    def export(self, path: str) -> None:
        """Write what is open to a file, in the background."""
        if self.saver.is_busy:
            self._message.show_error(f"{path} was not written: another export is being written")
            return
        try:
            job = prepare(self.session.workspace, path)
        except (NothingToExport, ValueError) as error:
            self._message.show_error(str(error))
            return
        self._late.start()
        self._busy.setText(f"Writing {display_name(path)}")
        self.saver.save(job, path)

    def _saving(self, path: str, share: float) -> None:
        self._progress.setValue(round(share * 1000))

    def _saved(self, path: str, count: int) -> None:
        self._late.stop()
        self._hide_busy()
        self._say(f"Wrote {path} · {count} slices" if self.session.traces else f"Wrote {path}")

    def _save_failed(self, path: str, message: str) -> None:
        self._late.stop()
        self._hide_busy()
        self._message.show_error(message)

    # -- progress ------------------------------------------------------------------------------

    def _loading(self, path: str, done: float, total: float) -> None:
        self._busy.setText(f"Reading {display_name(path)}")
        self._progress.setValue(round(1000 * done / total) if total else 0)

    def _show_busy(self) -> None:
        for widget in (self._busy, self._progress, self._cancel):
            widget.show()

    def _hide_busy(self) -> None:
        for widget in (self._busy, self._progress, self._cancel):
            widget.hide()

    def _cancel_all(self) -> None:
        self.loader.cancel()
        self.saver.cancel()

    def escape(self) -> None:
        """Cancel what runs, else put the message away, else clear the selection."""
        if self.is_loading or self.saver.is_busy:
            self._cancel_all()
        elif self._message.isVisible():
            self._message.hide()
        else:
            self.session.clear_selection()

    # -- following the session -------------------------------------------------------------------

    def _refresh(self) -> None:
        session = self.session
        empty = session.is_empty
        page = self.start_page if empty else self.timeline if session.traces else self._note
        was = self._pages.currentWidget()
        self._pages.setCurrentWidget(page)
        self._show_docks(not empty)
        if was is not page and not empty:
            self._make_room()
            QTimer.singleShot(0, self._share_height)
        names = [display_name(p) for p in session.workspace.paths]
        self.setWindowTitle(f"{', '.join(names[:3])} – Opscope" if names else "Opscope")
        self._tell_links()
        self._link_action.setVisible(bool(session.traces))
        self._fill_runs()
        self._say_range()
        self._say_selection()
        self.commands.refresh()
        if page is self.timeline:
            self.timeline.view.setFocus()

    def _show_docks(self, shown: bool) -> None:
        """Hide the docks on the start page, and show them again as the user left them."""
        if shown == self._docks_shown:
            return
        if not shown:
            self._closed = {name for name, dock in self._docks.items() if dock.isHidden()}
        self._docks_shown = shown
        for name, dock in self._docks.items():
            dock.setVisible(shown and name not in self._closed)

    def _tell_links(self) -> None:
        self._link_state.show_links(self.session)

    def show_links(self) -> None:
        """Tell for every profile how it is linked, and why what is not linked is not."""
        facts = [link_text(entry) for entry in info(self.session.workspace)["links"]]
        box = self._inform("Links", "", plain="\n\n".join(facts) or "No record or source is open.")
        box.setFont(self.theme.font("cell"))

    def _make_room(self) -> None:
        """In a narrow window details, then the source too, become tabs of the bottom."""
        docks = self._docks
        if self.width() < NARROW and self.dockWidgetArea(docks["details"]) == RIGHT:
            self.tabifyDockWidget(docks["problems"], docks["details"])
        if self.width() < VERY_NARROW:
            self.tabifyDockWidget(docks["operators"], docks["source"])
            docks["operators"].raise_()
        docks["details" if self.width() < NARROW else "source"].raise_()
        self._fit_titles()

    def _share_height(self) -> None:
        """The timeline gets the height of its rows, at most 60 %; details their width."""
        height = self._pages.height() + self._docks["operators"].height()
        rows = self.timeline.content_height if self.session.traces else ABOVE + 100
        wanted = max(height - min(rows, round(height * TIMELINE_SHARE)), 200)
        self.resizeDocks([self._docks["operators"]], [wanted], Qt.Orientation.Vertical)
        self.resizeDocks([self._docks["details"]], [DETAILS_WIDTH], Qt.Orientation.Horizontal)
        both = self._docks["operators"].width() + self._docks["source"].width()
        self.resizeDocks(
            [self._docks["operators"], self._docks["source"]],
            [both * 53 // 100, both * 47 // 100],
            Qt.Orientation.Horizontal,
        )

    def _fill_runs(self) -> None:
        session = self.session
        trace = session.current_trace
        self._run.blockSignals(True)
        self._run.clear()
        runs = session.traces[trace].trace.runs if trace is not None else ()
        count = sum(run.kind is RunKind.INFERENCE for run in runs)
        self._run.addItem("All runs" if count else "No runs", None)
        for number, run in enumerate(runs):
            if trace is not None and run.kind is RunKind.INFERENCE:
                self._run.addItem(run_text(session, trace, run), (trace, number))
        picked = session.state.run
        # findData compares tuples by identity.
        shown = (i for i in range(self._run.count()) if self._run.itemData(i) == picked)
        self._run.setCurrentIndex(next(shown, 0))
        self._run.setEnabled(count > 0)
        self._run.blockSignals(False)

    def _fit_scheme(self) -> None:
        self._scheme.setCurrentIndex(self._scheme.findData(self.session.state.scheme))

    def _pick_run(self, index: int) -> None:
        self.session.pick_run(self._run.itemData(index))

    def _pick_scheme(self, index: int) -> None:
        self.session.set_scheme(self._scheme.itemData(index))

    def pick_theme(self, choice: str) -> None:
        """Force light or dark, or follow the system."""
        self.settings.set(THEME, choice)
        self.theme.set_choice(choice)  # type: ignore[arg-type]
        self.commands.refresh()

    def _say(self, text: str) -> None:
        self._selection.setText(text)

    def _say_range(self) -> None:
        self._range.setText(range_text(self.session))
        self._clock.setText(clock_text(self.session))

    def _say_selection(self) -> None:
        self._selection.setText(selection_text(self.session))

    def _show_source(self, path: str, line: int) -> None:
        self.source.show_source(path, line)
        self._docks["source"].show()
        self._docks["source"].raise_()

    def _show_problems(self) -> None:
        self._docks["problems"].show()
        self._docks["problems"].raise_()

    def _count_problems(self, count: int) -> None:
        self._docks["problems"].setWindowTitle(f"Problems ({count})" if count else "Problems")

    @property
    def shows_bottom(self) -> bool:
        """Whether the bottom panels are shown."""
        return self._docks["operators"].isVisible()

    def toggle_bottom(self) -> None:
        """Hide or show the bottom panels."""
        shown = self.shows_bottom
        for name in ("operators", "source", "problems"):
            self._docks[name].setVisible(not shown)
        self.commands.refresh()

    def _fill_recent(self) -> None:
        self._recent_menu.clear()
        for path in self.settings.recent_files():
            action = self._recent_menu.addAction(display_name(path))
            action.setToolTip(path)
            action.setEnabled(os.path.exists(path))
            action.setData(path)
            action.triggered.connect(self._open_recent)
        self._recent_menu.addSeparator()
        clear = self._recent_menu.addAction("Clear list")
        clear.triggered.connect(self.settings.clear_recent_files)
        self._recent_menu.setToolTipsVisible(True)

    def _open_recent(self) -> None:
        self.open([self.sender().data()])  # type: ignore[attr-defined]

    def show_keys(self) -> None:
        """List all keys and mouse gestures."""
        commands = self.commands.commands.values()
        listed = [*MOUSE_HELP, *((", ".join(c.keys), c.plain_title) for c in commands if c.keys)]
        cell = "<td style='padding: 2px 24px 2px 0'>"
        rows = "".join(f"<tr>{cell}{keys}</td>{cell}{text}</td></tr>" for keys, text in listed)
        self._inform("Keys", f"<table>{rows}</table>")

    def show_about(self) -> None:
        """Say what this is."""
        self._inform(
            "About Opscope",
            f"<b>Opscope {__version__}</b><br>Profiles of on-device ML on one timeline, traced "
            "back to the model's source.<br><br>Apache-2.0. Built on Qt for Python (LGPL), "
            "pyqtgraph, numpy, pandas, protobuf and the Perfetto protos.",
        )

    def _inform(self, title: str, html: str, plain: str = "") -> QMessageBox:
        box = QMessageBox(self)
        box.setWindowTitle(title)
        box.setTextFormat(Qt.TextFormat.PlainText if plain else Qt.TextFormat.RichText)
        box.setText(plain or html)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()
        return box

    def _retheme(self) -> None:
        for button, icon in self._tool_buttons:
            token = "text1" if button.property("framed") else "text2"
            button.defaultAction().setIcon(self.theme.icon(icon, token))
        for tab in self.findChildren(QTabBar):
            tab.setExpanding(False)
            tab.setDrawBase(False)

    # -- window events ---------------------------------------------------------------------------

    @guard
    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Files can be dropped anywhere on the window; what is none is told so then."""
        event.acceptProposedAction()

    @guard
    def dropEvent(self, event: QDropEvent) -> None:
        """Open what was dropped; folders and remote files are refused with a message."""
        urls = event.mimeData().urls()
        paths = [url.toLocalFile() for url in urls if url.isLocalFile()]
        event.acceptProposedAction()
        self.open(paths)
        for url in urls:
            if not url.isLocalFile():
                self._message.show_error(
                    f"{url.toDisplayString()} is not on this machine: save it first, then drop it"
                )
        if not urls:
            self._message.show_error("What was dropped is no file: drop profiles and records")

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """W, A, S and D move the timeline wherever the focus is, but not while text is typed."""
        if event.type() not in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
            return False
        key = event if isinstance(event, QKeyEvent) else None
        focus = self.focusWidget()
        typing = isinstance(focus, QLineEdit | QComboBox) or QApplication.activePopupWidget()
        if key is None or key.key() not in MOVING_KEYS or typing or key.modifiers() != _PLAIN:
            return False
        if not self.isActiveWindow() or self._pages.currentWidget() is not self.timeline:
            return False
        if watched is self.timeline.view or not isinstance(watched, QWidget):
            return False
        if event.type() == QEvent.Type.KeyPress:
            self.timeline.view.keyPressEvent(key)
        else:
            self.timeline.view.keyReleaseEvent(key)
        return True

    @guard
    def createPopupMenu(self) -> None:
        """No menu that could hide the toolbar: panels are in the View menu."""
        return None

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys that no panel wants move the timeline."""
        if self._pages.currentWidget() is self.timeline:
            self.timeline.view.keyPressEvent(event)
        else:
            super().keyPressEvent(event)

    @guard
    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """The end of a held key."""
        self.timeline.view.keyReleaseEvent(event)

    @guard
    def closeEvent(self, event: QCloseEvent) -> None:
        """Stop what runs and remember how the window lay."""
        if self._events is not None:
            self._events.removeEventFilter(self)
        self._show_docks(True)
        self.loader.shutdown()
        self.saver.shutdown()
        for latest in self.findChildren(Latest):
            latest.shutdown()
        self.settings.set_window(self.saveGeometry(), self.saveState(WINDOW_STATE_VERSION))
        event.accept()

    def settle(self, seconds: float = 10.0) -> None:
        """Let layouts and background answers come to rest, as before a picture is taken."""
        until = time.monotonic() + seconds
        quiet = 0
        while quiet < 10 and time.monotonic() < until:
            QCoreApplication.processEvents()
            waiting = any(latest.pending for latest in self.findChildren(Latest))
            quiet = 0 if waiting else quiet + 1
            if waiting:
                QThread.msleep(2)  # the workers need the interpreter

    def picture_png(self) -> bytes:
        """The window as it looks now, as PNG."""
        buffer = QBuffer()
        buffer.open(QBuffer.OpenModeFlag.WriteOnly)
        self.grab().save(buffer, "PNG")
        return bytes(buffer.data().data())

    def restore(self) -> None:
        """Lie as the window lay last time."""
        geometry, state = self.settings.window()
        if not geometry.isEmpty():
            self.restoreGeometry(geometry)
        if not state.isEmpty():
            self._show_docks(True)
            self.restoreState(state, WINDOW_STATE_VERSION)
            self._fit_titles()
            self._closed = {name for name, dock in self._docks.items() if dock.isHidden()}
        self._refresh()


def _caption(text: str) -> QLabel:
    label = QLabel(text)
    label.setContentsMargins(8, 0, 6, 0)
    return label
