"""What works in the window: session, timeline, panels, commands, and the files that are opened.

It owns what panels must not know of each other: which dock shows what, what happens to a file that
was dropped, what is said in the status bar. All state of the view is the session's. To import it
takes half a second and to make it a quarter, so the window is shown before
(`viewer.gui.window.main_window`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, TypeVar, cast

from PySide6.QtCore import QObject, Qt, QTimer, QUrl, Signal
from PySide6.QtWidgets import QFileDialog, QStyle, QWidget

from viewer.formats import formats
from viewer.formats.memory import give_back
from viewer.gui.panels.bookmarks.panel import BookmarksPanel
from viewer.gui.panels.delegation.panel import DelegationPanel
from viewer.gui.panels.details.panel import DetailsPanel
from viewer.gui.panels.estimates.panel import EstimatesPanel
from viewer.gui.panels.events.panel import EventsPanel
from viewer.gui.panels.findings.panel import FindingsPanel
from viewer.gui.panels.graph.panel import GraphPanel
from viewer.gui.panels.handle_map.panel import HandleMapPanel
from viewer.gui.panels.links.panel import LinksPanel
from viewer.gui.panels.model.panel import ModelPanel
from viewer.gui.panels.operators.panel import OperatorsPanel
from viewer.gui.panels.problems.panel import ProblemsPanel
from viewer.gui.panels.search.panel import HitsPanel
from viewer.gui.panels.selection.panel import SelectionPanel
from viewer.gui.panels.source.panel import SourcePanel
from viewer.gui.panels.statistics.panel import StatisticsPanel
from viewer.gui.panels.untimed.panel import UntimedPanel
from viewer.gui.qt import fault_log
from viewer.gui.qt.commands.command_table import CommandTable
from viewer.gui.qt.commands.key_map import shown_key
from viewer.gui.qt.settings import (
    DRAG_PANS,
    HEADER_WIDTH,
    LAST_FOLDER,
    LEGEND,
    RECENT_COMMANDS,
    SMOOTH_MOTION,
    THEME,
)
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.empty_note import EmptyNote
from viewer.gui.session import selection as selecting
from viewer.gui.session.linking import pair_files
from viewer.gui.session.loader import Loader
from viewer.gui.session.saver import Saver
from viewer.gui.session.search import Search
from viewer.gui.session.selection_statistics import SelectionFeed
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import ABOVE, Timeline
from viewer.gui.window.commands.application import (
    MENUS,
    START_KEYS,
    commands_of,
    mouse_help,
    spoken_keys,
)
from viewer.gui.window.commands.clock import CLOCK_MENU, ClockButton
from viewer.gui.window.commands.color import add_color_menu
from viewer.gui.window.commands.motion import MOVE_MENU
from viewer.gui.window.commands.panel import PANELS_MENU
from viewer.gui.window.commands.ruler import RULER_MENU
from viewer.gui.window.context_menus import ContextMenus
from viewer.gui.window.dialogs.command_palette import CommandPalette
from viewer.gui.window.dialogs.shortcuts import ShortcutsDialog
from viewer.gui.window.files.closing import CloseGuard
from viewer.gui.window.files.file_opener import FileOpener
from viewer.gui.window.files.folder_drops import FolderDrops
from viewer.gui.window.files.sessions import SessionFiles
from viewer.gui.window.files.source_paths import SourcePaths
from viewer.gui.window.frame.docks import Docks
from viewer.gui.window.frame.focus_keys import FocusKeys
from viewer.gui.window.frame.status_text import range_text, selection_text, spoken_text
from viewer.gui.window.help.help import Help
from viewer.gui.window.toolbar.toolbar import Toolbar
from viewer.model.text import display_name
from viewer.resources import stem_beside
from viewer.view.open_trace import OpenTrace
from viewer.view.session_file import SUFFIX, is_session
from viewer.workspace.exports import ExportJob, NothingToExport, prepare
from viewer.workspace.link_choices import Choices

if TYPE_CHECKING:
    from viewer.gui.window.main_window import MainWindow

RESIZE_SETTLES_MS = 120
UNVEILED_AFTER_MS = 1000
FREED_AFTER_MS = 1000
TABLE_FILTERS = (
    "Table, comma separated (*.csv);;Table, tab separated (*.tsv);;Table, Parquet (*.parquet)"
)
PICTURE_FILTERS = "Picture, PNG (*.png);;Picture, SVG (*.svg)"
KINDS: tuple[type[QWidget], ...] = (
    Timeline,
    DetailsPanel,
    OperatorsPanel,
    ModelPanel,
    GraphPanel,
    SourcePanel,
    LinksPanel,
    DelegationPanel,
    HandleMapPanel,
    ProblemsPanel,
    EventsPanel,
    UntimedPanel,
    StatisticsPanel,
    EstimatesPanel,
    FindingsPanel,
    SelectionPanel,
    BookmarksPanel,
    HitsPanel,
)
PanelWidget = TypeVar("PanelWidget", bound=QWidget)
RECORD_ALONE = (
    "A record holds the model, not a run",
    "Its operators are below. To see what they cost, open the profile of a run too: an ETDump that "
    "the runtime wrote with its event tracer on, or a profile as CSV.",
)


class PanelRegistry:
    """The timeline and the panels of a desk, each made when it is asked for.

    All of them at once take a fifth of a second, in which the window would stand still: `prepare`
    makes one a turn.
    """

    def __init__(self, window: MainWindow) -> None:
        self.session, self._theme = Session(window), window.theme
        self._made: dict[Callable[[Session, Theme], QWidget], QWidget] = {}

    def of(self, kind: Callable[[Session, Theme], PanelWidget]) -> PanelWidget:
        """The one widget of a kind."""
        if kind not in self._made:
            self._made[kind] = kind(self.session, self._theme)
        return cast(PanelWidget, self._made[kind])

    def prepare(self) -> bool:
        """Make one that is not there yet; False if all are."""
        kind = next((kind for kind in KINDS if kind not in self._made), None)
        if kind is not None:
            self.of(kind)
        return kind is not None


class WindowController(QObject):
    """What works in one window, over one session. `closing`: the window closes for good."""

    closing = Signal()

    def __init__(self, window: MainWindow, parts: PanelRegistry) -> None:
        super().__init__(window)
        self.window, self.theme, self.settings = window, window.theme, window.settings
        theme, settings = self.theme, self.settings
        self._pages, self._message, self._status = window.pages, window.message, window.status
        self.session: Session = parts.session
        self.session.workspace.choose(
            self.session.workspace.choices.with_remembered(settings.identifier_columns())
        )
        self.saver: Saver = Saver(window)
        self._writes = ""  # what the export that is written counts
        self._inferences = self.session.state.inferences  # as which the heights were shared
        self.timeline: Timeline = parts.of(Timeline)
        self.timeline.legend.setVisible(settings.get(LEGEND))
        self.timeline.set_header_width(settings.get(HEADER_WIDTH))
        self.details = parts.of(DetailsPanel)
        self.operators = parts.of(OperatorsPanel)
        self.model = parts.of(ModelPanel)
        self.graph = parts.of(GraphPanel)
        self.source: SourcePanel = parts.of(SourcePanel)
        self.links = parts.of(LinksPanel)
        self.delegation = parts.of(DelegationPanel)
        self.handle_map = parts.of(HandleMapPanel)
        self.problems = parts.of(ProblemsPanel)
        self.events = parts.of(EventsPanel)
        self.untimed = parts.of(UntimedPanel)
        self.statistics = parts.of(StatisticsPanel)
        self.estimates = parts.of(EstimatesPanel)
        self.findings = parts.of(FindingsPanel)
        self.selection = parts.of(SelectionPanel)
        self.marks = parts.of(BookmarksPanel)
        self.hits = parts.of(HitsPanel)
        self.intake: FileOpener = FileOpener(self)
        self.source_paths = SourcePaths(self)
        self.session_files: SessionFiles = SessionFiles(self)
        self.leaving: CloseGuard = CloseGuard(self)
        self.folder_drops = FolderDrops(self)
        self.clock = ClockButton(self.session)
        self._status.addPermanentWidget(self.clock)
        self._resized = self._timer(RESIZE_SETTLES_MS, self._fit_width)
        # Layouts have to follow first.
        self._crowded = self._timer(RESIZE_SETTLES_MS, self._show_hidden_rows)
        self._unveil = self._timer(0, self._show_again)
        self._note = EmptyNote(*RECORD_ALONE, theme)
        for page in (self.timeline, self._note):
            self._pages.addWidget(page)
        self._docks = Docks(
            window,
            {
                "details": self.details, "operators": self.operators,
                "model": self.model, "statistics": self.statistics, "events": self.events,
                "findings": self.findings, "estimates": self.estimates,
                "graph": self.graph, "handle_map": self.handle_map,
                "source": self.source, "links": self.links, "delegation": self.delegation,
                "problems": self.problems, "untimed": self.untimed,
                "selection": self.selection, "marks": self.marks,
                "search": self.hits,
            },
        )  # fmt: skip
        self.timeline.view.drag_pans = settings.get(DRAG_PANS)
        self.commands: CommandTable = CommandTable(window, commands_of(self), settings.keys())
        self.palette_box = CommandPalette(window, self.commands, theme)
        self.guide = Help(self)
        self.context_menus = ContextMenus(self)
        focus_keys = FocusKeys(self)
        for asked in (window, *self._docks.by_name.values()):
            asked.installEventFilter(focus_keys)
        self._fill_menus()
        self.toolbar = Toolbar(self.session, theme, self.commands)
        self._connect()
        self.timeline.scene.animation.enabled = self.moves_smoothly
        self._set_shortcut_hints()
        window.take_toolbar(self.toolbar)
        self._restore_layout()
        self.refresh()

    # -- parts -------------------------------------------------------------------------------

    @property
    def docks(self) -> Docks:
        """Where the panels lie."""
        return self._docks

    def _timer(self, ms: int, run: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(ms)
        timer.timeout.connect(run)
        return timer

    def _fill_menus(self) -> None:
        menus = self.window.menus
        for title, ids in MENUS:
            self.commands.add_to(menus[title], ids)
        self._docks.fill(menus["View"].addMenu("Pa&nels"))
        self.ruler_menu = menus["View"].addMenu("R&uler")
        self.commands.add_to(self.ruler_menu, RULER_MENU)
        self.commands.add_to(menus["View"].addMenu("&Move"), MOVE_MENU)
        menus["View"].addMenu(self.clock.rates)
        self.commands.add_to(menus["Go"].addMenu("Pane&ls"), PANELS_MENU)
        self.commands.add_to(self.clock.rates, CLOCK_MENU)
        self._recent_menu = menus["File"].addMenu("Open &recent")
        self._earlier_menu = menus["File"].addMenu("Earli&er sessions")
        menus["File"].insertMenu(self.commands.actions["file.last_session"], self._recent_menu)
        menus["File"].insertMenu(self.commands.actions["file.reload"], self._earlier_menu)
        add_color_menu(self)

    def _restore_layout(self) -> None:
        """Let the docks lie as they lay last time."""
        _, state = self.settings.window()
        self._docks.restore(state)

    def _connect(self) -> None:
        session = self.session
        session.about_to_change.connect(self._make_room)
        session.workspace_changed.connect(self.refresh)
        session.files_added.connect(self._added)
        session.range_changed.connect(self._say_range)
        session.selection_changed.connect(self._say_selection)
        session.history_changed.connect(self.commands.refresh)
        session.ruler_changed.connect(self.commands.refresh)
        self.timeline.ruler.menu_requested.connect(lambda place: self.ruler_menu.popup(place))
        SelectionFeed.of(session).changed.connect(self._selection_counted)
        self.selection.export_requested.connect(partial(self.export_table, name="selection"))
        self.graph.save_requested.connect(self.save_picture)
        self.handle_map.export_requested.connect(partial(self.export_table, name="handle_map"))
        self.statistics.export_requested.connect(partial(self.export_table, name="statistics"))
        session.columns_remembered.connect(self._keep_columns)
        self.commands.keys_changed.connect(self._keep_keys)
        self.palette_box.ran.connect(self.settings.add_recent_command)
        self.saver.progressed.connect(self._saving)
        self.saver.saved.connect(self._saved)
        self.saver.failed.connect(self._save_failed)
        self.window.resized.connect(self._resized.start)
        self.details.source_requested.connect(self._show_source)
        for panel in (self.operators, self.model):
            panel.source_requested.connect(self._show_source)
        for asking in (self.operators, self.model, self.graph):
            asking.open_dialog_requested.connect(self.open_dialog)
            asking.links_requested.connect(self.show_links)
        self.model.operators_requested.connect(partial(self._docks.show_panel, "operators"))
        for report in (self.delegation, self.handle_map):
            report.source_requested.connect(self._show_source)
        self.findings.report_requested.connect(self._docks.show_panel)
        self.links.open_dialog_requested.connect(self.open_dialog)
        self._message.changed.connect(self._crowded.start)
        self.problems.count_changed.connect(self._docks.count_problems)
        self._note.open_requested.connect(self.open_dialog)
        self.toolbar.links_requested.connect(self.show_links)
        self.toolbar.search.left.connect(self.timeline.view.setFocus)
        self.toolbar.search.list_requested.connect(self.show_hits)
        Search.of(session).changed.connect(self.commands.refresh)
        Search.of(session).changed.connect(self._count_hits)
        self._status.cancelled.connect(self._cancel_all)
        self.clock.refused.connect(self._message.show_error)
        self._recent_menu.aboutToShow.connect(self._fill_recent)
        self._earlier_menu.aboutToShow.connect(partial(self.leaving.fill, self._earlier_menu))
        self.timeline.header_width_changed.connect(partial(self.settings.set, HEADER_WIDTH))
        self.timeline.headers.focused.connect(self.commands.refresh)
        self.theme.changed.connect(self._docks.retheme)
        self._docks.retheme()

    # -- opening -------------------------------------------------------------------------------

    @property
    def loader(self) -> Loader:
        """What reads files in the background."""
        return self.intake.loader

    @property
    def is_loading(self) -> bool:
        """Whether files are being read."""
        return self.intake.is_busy

    @property
    def is_empty(self) -> bool:
        """Whether nothing is open, nor being read."""
        return self.session.is_empty and not self.is_loading

    def open(self, paths: Sequence[str], choices: Choices | None = None) -> None:
        """Add files to what is open, in the background; a session file takes its place."""
        kept = [path for path in paths if is_session(path)]
        if kept:
            self.session_files.open(kept[0], [path for path in paths if path not in kept])
        else:
            self.intake.read(paths, choices)

    def open_dialog(self) -> None:
        """Ask for files."""
        suffixes = [suffix for known in formats() for suffix in known.suffixes]
        patterns = " ".join(dict.fromkeys(f"*{suffix}" for suffix in (*suffixes, SUFFIX)))
        paths, _ = QFileDialog.getOpenFileNames(
            self.window, "Open profiles, records and sources", self.settings.get(LAST_FOLDER),
            f"Profiles, records, sources, sessions ({patterns});;All files (*)",
        )  # fmt: skip
        if paths:
            self.open(paths)

    def _added(self, complaints: list[str]) -> None:
        for complaint in complaints:
            self._message.show_error(complaint)
        self._warn()
        self._crowded.start()
        self.intake.report_added()

    # -- links ---------------------------------------------------------------------------------

    def _warn(self) -> None:
        """Say which pairs of files must be looked at, with the way to overrule it."""
        space = self.session.workspace
        doubts = [(shown, text) for shown in self.session.traces for text in self._doubts(shown)]
        for shown, text in doubts:
            candidates = space.candidates(shown.file)
            # One button for all of it: with several doubts it could be of any of them.
            alone = len(doubts) == 1 and len(candidates) == 1
            # A record that asks for a column has nothing to be linked by before one is chosen.
            if alone and shown.table.program is None and not space.identifiers.proposal(shown.file):
                pair = (shown.trace.path, candidates[0].program.path)
                self._message.show_warning(text, "Link anyway", partial(self._pair, *pair))
            else:
                self._message.show_warning(text, "Choose…", self.show_links)

    def _doubts(self, shown: OpenTrace) -> list[str]:
        return self.session.workspace.warnings(shown.file)

    def _pair(self, trace: str, program: str) -> None:
        pair_files(self.session, trace, program, self._warn)

    def _keep_columns(self) -> None:
        self.settings.set_identifier_columns(self.session.workspace.choices.remembered)

    # -- exporting -----------------------------------------------------------------------------

    def export(self, path: str) -> None:
        """Write what is open to a file, in the background."""
        self.save_as(path, partial(prepare, self.session.workspace), "slices")

    def export_table(self, job_of: Callable[[str], ExportJob], name: str = "selection") -> None:
        """Ask for a file and write the rows of a panel; `job_of` makes the job for a path, `name`
        is what the file is called after the profile."""
        self._ask_and_save("Export table", f"{name}.csv", TABLE_FILTERS, job_of, "rows")

    def save_picture(self, job_of: Callable[[str], ExportJob]) -> None:
        """Ask for a file and write the picture of a panel."""
        self._ask_and_save("Save picture", "graph.png", PICTURE_FILTERS, job_of, "operators")

    def _ask_and_save(
        self, title: str, ending: str, filters: str, job_of: Callable[[str], ExportJob], what: str
    ) -> None:
        first = stem_beside(self.session.workspace.paths[0])
        path, chosen = QFileDialog.getSaveFileName(self.window, title, f"{first}.{ending}", filters)
        if path:
            if not os.path.splitext(path)[1]:
                path += chosen.partition("(*")[2].rstrip(")")
            self.save_as(path, job_of, what)

    def save_as(self, path: str, job_of: Callable[[str], ExportJob], what: str) -> None:
        """Write a file in the background; `job_of` makes the job for a path, what: it counts."""
        if self.saver.is_busy:
            self._message.show_error(f"{path} was not written: another export is being written")
            return
        try:
            job = job_of(path)
        except (NothingToExport, ValueError) as error:
            self._message.show_error(str(error))
            return
        self._writes = what if self.session.traces else ""
        self._status.begin()
        self._status.set_status(f"Writing {display_name(path)}")
        self.saver.save(job, path)

    def _saving(self, path: str, share: float) -> None:
        self._status.set_status(f"Writing {display_name(path)}", share)

    def _saved(self, path: str, count: int) -> None:
        self._end_busy()
        self.show_status(
            f"Wrote {path} · {count} {self._writes}" if self._writes else f"Wrote {path}"
        )

    def _save_failed(self, path: str, message: str) -> None:
        self._end_busy()
        self._message.show_error(message)

    # -- progress ------------------------------------------------------------------------------

    def _end_busy(self) -> None:
        """Show no progress any more, unless something else goes on."""
        if not (self.is_loading or self.saver.is_busy):
            self._status.end()

    def _cancel_all(self) -> None:
        self.loader.cancel()
        self.saver.cancel()

    def escape(self) -> None:
        """Cancel what runs, else put the message away, else clear one thing of what is seen."""
        if self.timeline.view.cancel_drag() or self.timeline.headers.cancel_drag():
            return
        if self.guide.leave_tour():
            return
        if self.is_loading or self.saver.is_busy:
            self._cancel_all()
        elif self.graph.stop():
            self.show_status("The graph stays as it was")
        elif self._message.isVisible():
            self._message.dismiss()
        else:
            selecting.clear(self.session)

    # -- following the session -------------------------------------------------------------------

    def _make_room(self) -> None:
        """Lay out the docks for a large profile while the window looks as before: that takes as
        long as all panels take to follow, and what is painted before both is painted again."""
        if self.session.is_empty:
            self.window.setUpdatesEnabled(False)
            self._docks.show_all(True)
            self._unveil.start(UNVEILED_AFTER_MS)  # should it not come after all

    def _show_again(self) -> None:
        self.window.setUpdatesEnabled(True)
        if self.session.is_empty:
            self.refresh()

    def refresh(self) -> None:
        """Bring page, docks, title and words in step with what is open."""
        session = self.session
        self._end_busy()
        doubts = {text for shown in session.traces for text in self._doubts(shown)}
        self._message.keep_warnings(doubts | {self.session_files.warning})
        empty = session.is_empty
        if empty:  # what was closed is freed by then
            QTimer.singleShot(FREED_AFTER_MS, give_back)
        page: QWidget = (
            self.window.start_page if empty else self.timeline if session.traces else self._note
        )
        was = self._pages.currentWidget()
        self._pages.setCurrentWidget(page)
        self._docks.show_all(not empty)
        if not empty and (was is not page or self._inferences is not session.state.inferences):
            if was is not page:
                QTimer.singleShot(0, self._docks.share_width)
            self._inferences = session.state.inferences
            self._docks.fit_width()
            QTimer.singleShot(0, self._share_height)
        if not self.window.updatesEnabled():
            QTimer.singleShot(0, partial(self._unveil.start, 0))
        self.name_window()
        self._say_range()
        self._say_selection()
        self.commands.refresh()
        if page is self.timeline:
            self.timeline.view.setFocus()

    def name_window(self) -> None:
        """Call the window by its session file, else by what is open."""
        names = [display_name(path) for path in self.session.workspace.paths]
        if self.session_files.path and names:
            names = [display_name(self.session_files.path)]
        self.window.setWindowTitle(f"{', '.join(names[:3])} – Opscope" if names else "Opscope")

    def undo(self) -> None:
        """Take back the last change of the view, or the closing of all files."""
        if self.leaving.can_reopen:
            self.leaving.reopen()
        else:
            self.session.undo()

    def show_links(self) -> None:
        """Show how every profile is linked, and what can be chosen about it."""
        self._docks.show_panel("links")

    def search(self) -> None:
        """Give the keys to the search field, with its query marked."""
        self.toolbar.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.toolbar.search.selectAll()

    def show_hits(self) -> None:
        """Show the list of what the search finds, and give it the keys."""
        self._docks.show_panel("search")
        self.hits.take_focus()

    def _count_hits(self) -> None:
        self._docks.count_hits(len(Search.of(self.session).hits))

    def _fit_width(self) -> None:
        """Lay the docks out anew when the window has become narrow, or wide again."""
        if not self.session.is_empty and self._docks.is_misfit:
            self._docks.fit_width()
            self._docks.share_width()
            self._share_height()

    def _share_height(self) -> None:
        """The timeline gets the height of its rows."""
        rows = self.timeline.content_height if self.session.traces else ABOVE + 100
        self._docks.fit_height(self._pages.height(), rows)

    def _show_hidden_rows(self) -> None:
        """A message above the timeline, or another file in it, must not push rows out of view."""
        self.window.lay_out()  # on a busy machine the message may have no place yet
        rows = self.timeline.content_height
        if self.session.traces and rows > self._pages.height():
            self._share_height()

    def pick_theme(self, choice: str) -> None:
        """Force light or dark, or follow the system."""
        self.settings.set(THEME, choice)
        self.theme.set_choice(choice)  # type: ignore[arg-type]
        self.commands.refresh()

    @property
    def moves_smoothly(self) -> bool:
        """Whether jumps are motions: as chosen, where the desktop animates at all."""
        asked = QStyle.StyleHint.SH_Widget_Animation_Duration
        hint = self.window.style().styleHint(asked, None, self.window)
        return self.settings.get(SMOOTH_MOTION) and hint > 0

    def toggle_motion(self) -> None:
        """Let jumps of the timeline be motions, or cuts."""
        self.settings.set(SMOOTH_MOTION, not self.settings.get(SMOOTH_MOTION))
        self.timeline.scene.animation.enabled = self.moves_smoothly
        self.commands.refresh()

    def show_error(self, text: str) -> None:
        """Say above the timeline what went wrong, until it is put away."""
        self._message.show_error(text)

    def show_warning(self, text: str, action: str, answer: Callable[[], None]) -> None:
        """Say above the timeline what must be known; `action` is the word on a button."""
        self._message.show_warning(text, action, answer)

    def show_status(self, text: str) -> None:
        """Tell something in the status bar until the selection changes."""
        self._status.said.setText(text)

    def rename_mark(self, number: int) -> None:
        """Show the marks and let the name of one be typed."""
        self._docks.show_panel("marks")
        self.marks.rename(number)

    def _selection_counted(self) -> None:
        """The figures of the selection are there, or others."""
        answer = SelectionFeed.of(self.session).answer
        self._docks.count_selected(0 if answer is None else answer.slices)
        self._status.said.setText(selection_text(self.session))
        self.commands.refresh()

    def _say_range(self) -> None:
        self._status.show_range(range_text(self.session))

    def _say_selection(self) -> None:
        self._status.said.setText(selection_text(self.session))
        self.clock.follow()
        self.timeline.view.announce(spoken_text(self.session))

    def _show_source(self, path: str, line: int) -> None:
        self.source.show_source(path, line)
        self._docks.show_panel("source")

    @property
    def shows_bottom(self) -> bool:
        """Whether the bottom panels are shown."""
        return self._docks.shows_bottom

    def toggle_bottom(self) -> None:
        """Hide or show the bottom panels."""
        self._docks.toggle_bottom()
        self.commands.refresh()

    def _fill_recent(self) -> None:
        self._recent_menu.clear()
        for path in self.settings.recent_files():
            action = self._recent_menu.addAction(display_name(path).replace("&", "&&"))
            action.setToolTip(f"<p>{escape(path)}</p>")  # a path may look like markup
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
        """List all keys and mouse gestures, and let the keys be chosen."""
        gestures = mouse_help(self.timeline.view.drag_pans)
        sheet = ShortcutsDialog(self.commands, gestures, self.theme, self.window)
        sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        sheet.open()

    def show_palette(self) -> None:
        """Let a command be found by its name; a second time puts the list away."""
        self.commands.refresh()
        self.palette_box.toggle(self.settings.get(RECENT_COMMANDS))

    def toggle_drag_pans(self) -> None:
        """Let dragging in the timeline move it and Shift+dragging select an area, or back."""
        view = self.timeline.view
        view.drag_pans = not view.drag_pans
        self.settings.set(DRAG_PANS, view.drag_pans)
        self.commands.refresh()

    def _keep_keys(self) -> None:
        self.settings.set_keys(self.commands.own_keys)
        self._set_shortcut_hints()

    def _set_shortcut_hints(self) -> None:
        """Say wherever a key is named, and to a screen reader, which keys commands have."""
        way = self.commands.way_to
        self.marks.set_shortcut_hints(way("mark.measure"), way("mark.keep"))
        self.hits.set_shortcut_hints(way("search.find"))
        self.toolbar.search.set_shortcut_hints(way("search.find"), way("view.only_hits"))
        self.timeline.view.set_shortcut_hints(spoken_keys(self.commands))
        told = [(text, self.commands.keys(id)) for text, id in START_KEYS]
        self.window.start_page.show_keys(
            [(text, shown_key(keys[0])) for text, keys in told if keys]
        )

    def show_about(self) -> None:
        """Say what this is, and what it is built of."""
        # Read when it is asked for: metadata of all packages take 0.1 s.
        from viewer.gui.window.dialogs.about import AboutDialog

        box = AboutDialog(self.theme, fault_log.path_of(self.settings.folder), self.window)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.open()

    # -- what the window asks ------------------------------------------------------------------

    def drop(self, urls: Sequence[QUrl]) -> None:
        """Open what was dropped, and offer what is in folders; remote files are refused."""
        paths = [url.toLocalFile() for url in urls if url.isLocalFile()]
        folders = [path for path in paths if os.path.isdir(path)]
        self.open([path for path in paths if path not in folders])
        self.folder_drops.take(folders)
        for url in urls:
            if not url.isLocalFile():
                self._message.show_error(
                    f"{url.toDisplayString()} is not on this machine: save it first, then drop it"
                )
        if not urls:
            self._message.show_error("What was dropped is no file: drop profiles and records")

    def shut_down(self) -> None:
        """Stop what runs, and let the docks lie as they are to be stored."""
        self.closing.emit()
        self._docks.show_all(True)
        self.loader.shutdown()
        self.saver.shutdown()
