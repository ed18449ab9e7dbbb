"""Opens files: reads them in the background along with texts they refer to, then shows them.

Several files may be read at once. They are added to the session in the order requested when the
last one is ready, so that an ETRecord and its profile are linked in one step. The user is asked
what the columns of a table are. Once large profiles are shown, their columns are kept on disk, and
those that were kept before are checked: in a thread, a second after the window has changed what is
open. Damaged files of columns are removed by then, and their profiles are read again.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from viewer.codecs.atomic_file import WriteCancelled
from viewer.codecs.file_bytes import stamp_of
from viewer.codecs.reading import Cancelled, UnreadableFile
from viewer.dataclasses import replace
from viewer.formats import JSON_TABLE, PLAIN_CSV, WHOLE, formats, open_file, share_text
from viewer.formats.column_cache import CACHE
from viewer.formats.table.stated_columns import Question, is_columns, parse_columns
from viewer.gui.qt.background import Latest
from viewer.gui.qt.command_table import CommandTable
from viewer.gui.qt.settings import LAST_FOLDER, Settings
from viewer.gui.session.choices import add_substitution
from viewer.gui.session.feeds.feed import ProblemsFeed
from viewer.gui.session.file_jobs import Loader, ReadingProgress
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene.trace_rasters import keep_columns
from viewer.gui.window.frame.shell import Shell
from viewer.gui.window.frame.status import added_text, replaced_text
from viewer.model.text import display_name
from viewer.model.trace import Trace
from viewer.program.executables import Executable
from viewer.program.program import Program
from viewer.view.open_trace import OpenTrace
from viewer.view.sessions.session_file import SUFFIX
from viewer.workspace.link_choices import NO_CHOICES, Choices
from viewer.workspace.open_paths import OpenFile

if TYPE_CHECKING:
    from viewer.gui.window.dialogs.opening import ColumnsDialog


class TableColumns(QObject):
    """One dialog at a time.

    `answered(path, columns)` is emitted for each answer, which may be one that is remembered;
    `refused(path, question, message)` if the user gives none, with why the file cannot be read.
    """

    answered = Signal(object, str)
    refused = Signal(object, object, str)

    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        self._shell, self._settings = shell, shell.settings
        self._waiting: deque[tuple[str, Question, str]] = deque()
        self._tried: dict[str, str] = {}  # path -> remembered columns that it was opened with
        self.dialog: ColumnsDialog | None = None
        self._latest = Latest(self, self._looked)
        self._latest.failed.connect(shell.message.show_error)

    def answer(self, path: str, question: Question, message: str) -> None:
        """Answer a question as before for such tables, else ask. message: why it cannot be read."""
        remembered = self._settings.table_columns(question.layout.names)
        if remembered and is_columns(remembered) and self._tried.get(path) != remembered:
            self._tried[path] = remembered
            name = display_name(path)
            self._shell.status.show_text(f"{name}: columns as you chose them before")
            self.answered.emit(path, remembered)
            return
        self.ask(path, question, message)

    def ask(self, path: str, question: Question, message: str) -> None:
        """Ask, after the questions that wait."""
        self._tried.pop(path, None)
        self._waiting.append((path, question, message))
        self._show_next()

    def look_at(self, path: str, columns: str) -> None:
        """Ask for the columns of a table that is open with these columns, "" for as recognized."""
        self._latest.submit(_question, (path, columns))

    @Slot(object)
    def _looked(self, question: tuple[str, Question]) -> None:
        self.ask(*question, "")

    def _show_next(self) -> None:
        from viewer.gui.window.dialogs.opening import ColumnsDialog

        if self.dialog is not None or not self._waiting:
            return
        path, question, message = self._waiting.popleft()
        dialog = self.dialog = ColumnsDialog(path, question, self._shell.theme, self._shell)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.columns_chosen.connect(partial(self._chosen, path, question))
        dialog.rejected.connect(partial(self._closed, path, question, message))
        dialog.open()

    def _chosen(self, path: str, question: Question, columns: str) -> None:
        self.dialog = None
        self._settings.set_table_columns(question.layout.names, columns)
        self._tried[path] = columns
        self.answered.emit(path, columns)
        self._next()

    def _closed(self, path: str, question: Question, message: str) -> None:
        self.dialog = None
        if message:
            self.refused.emit(path, question, message)
        self._next()

    def _next(self) -> None:
        """Answer waiting questions as remembered for their header, and ask the first other one."""
        waiting, self._waiting = self._waiting, deque()
        for path, question, message in waiting:
            # Without a message, the user wants to change the columns of a file that is open.
            (self.answer if message else self.ask)(path, question, message)


def _question(table: tuple[str, str]) -> tuple[str, Question]:
    """A path, and the question with what is known of its columns. Raises UnreadableFile."""
    from viewer.formats.table.column_roles import known_columns
    from viewer.formats.zipped import table_layout

    path, columns = table
    try:
        layout = table_layout(path)
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    stated = parse_columns(columns) if columns else None
    return path, Question(layout, known_columns(layout, stated), ())


class FileOpener(QObject):
    """Reads files for one window, wherever the user names them.

    `folders_requested(folders, choices)` is emitted for folders, which are to be searched.
    `session_requested(path, others)` is emitted for a session file, which replaces what is open,
    and the other files. `values_requested(paths)` is emitted for arrays and debug buffers that are
    opened with a profile, or while one is open. `nothing_opened` is emitted if no file could be
    read.
    """

    # Passed as Python objects, since a QString cannot hold file names that are not valid Unicode.
    folders_requested = Signal(object, object)
    session_requested = Signal(object, object)
    values_requested = Signal(object)
    nothing_opened = Signal()

    def __init__(
        self,
        session: Session,
        loader: Loader,
        table: CommandTable,
        shell: Shell,
    ) -> None:
        super().__init__(shell)
        self._session, self.loader, self._table = session, loader, table
        self._shell, self._status = shell, shell.status
        self._settings: Settings = shell.settings
        self._asked: list[str] = []
        self._loaded: dict[str, Trace | Program | Executable] = {}
        self._ready: dict[str, Trace | Program | Executable] = {}  # read by another window
        self._progress = ReadingProgress()
        self._given_up: list[str] = []
        self._reloading: dict[str, str | None] = {}  # path -> the file whose companion it is
        self._named_by: dict[str, str] = {}  # companion being read -> file that refers to it
        self._companions: set[str] = set()  # files that were opened because others refer to them
        self._told_found = ""
        self._told_added: list[str] = []  # paths added to those already open
        self._choices = NO_CHOICES
        self._parts: dict[str, Fraction] = {}  # shares of files that are too large, which fit
        self._questions: dict[str, Question] = {}  # on tables that cannot be read without answers
        self.columns = TableColumns(shell)
        self.columns.answered.connect(self._open_with_columns)
        self.columns.refused.connect(self._columns_refused)
        self.loader.columns_needed.connect(self._columns_needed)
        self._errors: dict[str, str] = {}  # shown for files that could not be read
        self._earlier: tuple[str, ...] = ()  # those of them that were asked for before the others
        self.loader.part_fits.connect(self._part_fits)
        self.loader.progressed.connect(self._loading)
        self.loader.loaded.connect(self._took)
        self.loader.failed.connect(self._load_failed)
        self.loader.cancelled.connect(self._load_cancelled)
        self.loader.all_done.connect(self._loads_done)
        session.files_replaced.connect(self._report_replaced)

    @property
    def is_busy(self) -> bool:
        """Whether files are being read."""
        return bool(self.loader.paths)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is open or being read."""
        return self._session.is_empty and not self.is_busy

    def open(self, paths: Sequence[str], choices: Choices | None = None) -> None:
        """Add files, and those in folders, in the background; a session replaces what is open."""
        from viewer.view.sessions.opened_files import is_session

        if folders := [path for path in paths if os.path.isdir(path)]:
            self.folders_requested.emit(folders, choices)
            paths = [path for path in paths if path not in folders]
        if sessions := [path for path in paths if is_session(path)]:
            self.session_requested.emit(
                sessions[0], [path for path in paths if path not in sessions]
            )
            return
        values = [path for path in paths if _has_values(path)]
        rest = [path for path in paths if path not in values]
        if values and (rest or self._session.traces):
            self.values_requested.emit(values)
            paths = rest
        if paths:
            self.read(paths, choices)

    def open_dialog(self) -> None:
        """Show a file dialog, and open the chosen files."""
        from viewer.gui.window.dialogs.file_dialog import FileQuestion, PathKind

        suffixes = [suffix for form in formats() for suffix in form.suffixes]
        patterns = " ".join(dict.fromkeys(f"*{suffix}" for suffix in (*suffixes, SUFFIX)))
        question = FileQuestion(
            PathKind.OPEN_FILES,
            "Open files",
            "Choose a profile, and with it the ETRecord, program file or sources that it belongs "
            "to. Several profiles open next to each other.",
            self._settings.get(LAST_FOLDER),
            f"Profiles, ETRecords, program files, sources, sessions ({patterns});;All files (*)",
        )
        answer = question.ask(self._shell, self._shell.theme)
        if answer.paths:
            self.open(answer.paths)

    def read(self, paths: Sequence[str], choices: Choices | None = None) -> None:
        """Add files, none as a session: a session that lists itself would load forever."""
        if not self.is_busy:
            self._earlier = tuple(self._errors)
        if choices is not None:
            self._choices = choices
            for substitution in choices.source_paths:
                add_substitution(self._session, substitution)
        for path in dict.fromkeys(os.path.abspath(p) for p in paths):
            self._asked.append(path)
            self._named_by.pop(path, None)
            self._load(path)
        if paths:
            self._status.start()
            if self._session.is_empty:
                self._shell.reading.begin(self.loader.paths)
                self._shell.pages.setCurrentWidget(self._shell.reading)

    def take_over(self, files: Iterable[OpenFile]) -> None:
        """Keep what another window has read, unless it changed, for when it is opened next."""
        items = [file.item for file in files if file.stamp in (None, stamp_of(file.item.path))]
        self._ready = {item.path: item for item in items}

    def _load(self, path: str) -> None:
        """Read a file as it is chosen for it; what its columns are also stays for a reload."""
        if (ready := self._ready.pop(path, None)) is not None:
            self.loader.load(path, lambda *_: ready)
            return
        part = self._choices.part_of(path)
        columns = self._choices.columns_of(path)
        columns = columns or self._session.workspace.choices.table_columns.get(path, "")
        chosen = part < WHOLE or columns
        self.loader.load(path, partial(open_file, part=part, columns=columns) if chosen else None)

    def reload(self) -> None:
        """Read all open files again; each replaces its old contents once it was read."""
        from viewer.workspace.open_paths import read_companion

        for path, file in self._session.workspace.files.items():
            self._reloading[path] = file.found_for
            self._asked.append(path)
            if file.found_for is None:
                self._load(path)
            else:
                self.loader.load(path, read_companion)
        if self._reloading:
            self._status.start()

    def cancel(self) -> None:
        """Cancel all files that are being read."""
        self._asked, self._loaded, self._named_by = [], {}, {}
        self._choices = NO_CHOICES
        self.loader.cancel()

    def look_for_companions(self, item: Trace | Program) -> None:
        """Also read the text files that a file refers to, if they are on this machine."""
        from viewer.workspace.open_paths import read_companion

        for path in self._session.workspace.companions_of(item, (*self._asked, *self._named_by)):
            self._named_by[path] = item.path
            self.loader.load(path, read_companion)

    def report_added(self) -> None:
        """Show a message on the files just added, and on companions that these refer to."""
        paths, self._told_added = self._told_added, []
        text = added_text(self._session, paths, self._table.way_to("view.fit_file"))
        text = " · ".join(filter(None, (text, self._told_found)))
        if text:
            self._status.show_text(text)
            self._told_found = ""

    @Slot(object, object, object)
    def _loading(self, path: str, done: int, total: int) -> None:
        self._progress.reported(path, done, total)
        text, share = self._progress.text(self.loader.paths), self._progress.share
        self._status.set_status(text, share)
        self._shell.reading.show_progress(text, share)

    @Slot(object, object)
    def _took(self, path: str, item: Trace | Program | Executable) -> None:
        self._loaded[path] = item
        # What could not be opened before is past, once something else is open.
        for refused in (path, *self._earlier):
            self._shell.message.remove(self._errors.pop(refused, ""))
        ProblemsFeed.of(self._session).forget_failures(self._earlier)
        self._earlier = ()
        if isinstance(item, Trace) or (isinstance(item, Program) and item.dispatches):
            self.look_for_companions(item)

    def _remember(self, opened: Sequence[str]) -> None:
        """Put the open files in the recent ones, without those that others refer to."""
        if opened:
            before = self._session.workspace.paths
            chosen = (path for path in before if path not in self._companions)
            # Profiles first: a set is named after its first file.
            new = sorted(opened, key=lambda path: not isinstance(self._loaded[path], Trace))
            self._settings.add_recent_set([*chosen, *new])
            self._shell.start_page.refresh_recent()

    @Slot(object, object)
    def _part_fits(self, path: str, part: Fraction) -> None:
        self._parts[path] = part

    def _open_parts(self, parts: dict[str, Fraction]) -> None:
        """Open the first parts of files that are too large."""
        self.read(list(parts), Choices(parts=tuple(parts.items())))

    @property
    def can_choose_columns(self) -> bool:
        """Whether a plain CSV is open."""
        return self._plain_csv() is not None

    def choose_columns(self) -> None:
        """Ask what the columns of a plain CSV are: that with the selection, else the first."""
        if (path := self._plain_csv()) is not None:
            self.columns.look_at(path, self._session.workspace.choices.table_columns.get(path, ""))

    def _plain_csv(self) -> str | None:
        traces = self._session.traces
        numbers = [
            number
            for number, open_trace in enumerate(traces)
            if open_trace.file.format in (PLAIN_CSV, JSON_TABLE)
        ]
        chosen = self._session.state.slice
        if chosen is not None and chosen.trace in numbers:
            numbers = [chosen.trace]
        return traces[numbers[0]].file.path if numbers else None

    @Slot(object, object)
    def _columns_needed(self, path: str, question: Question) -> None:
        self._questions[path] = question

    @Slot(object, str)
    def _open_with_columns(self, path: str, columns: str) -> None:
        """Open a table whose columns were chosen, with what else was chosen for it."""
        others = (
            table_column for table_column in self._choices.table_columns if table_column[0] != path
        )
        self.read([path], replace(self._choices, table_columns=(*others, (path, columns))))

    @Slot(object, object, str)
    def _columns_refused(self, path: str, question: Question, message: str) -> None:
        """Show why a table was not opened, with a button that asks again."""
        self.show_failure(
            path, message, "Choose columns…", partial(self.columns.ask, path, question, message)
        )

    @Slot(object, str)
    def _load_failed(self, path: str, message: str) -> None:
        from viewer.workspace.open_paths import companion_complaint

        if (question := self._questions.pop(path, None)) is not None:
            self.columns.answer(path, question, message)
            return
        if path in self._named_by:
            message = companion_complaint(self._named_by[path], message)
        if path in self._session.workspace.paths:
            message += ". The version that was open stays open"
        part = self._parts.pop(path, None)
        if part is None:
            self.show_failure(path, message)
        else:
            text = f"Open first {share_text(part)}"
            self.show_failure(path, message, text, partial(self._open_parts, {path: part}))

    def show_failure(
        self, path: str, message: str, action: str = "", answer: Callable[[], None] | None = None
    ) -> None:
        """Show why a file was not opened, optionally with a button."""
        ProblemsFeed.of(self._session).add_failure(path, message)
        # Only its name: the Problems panel shows the path, and long paths are hard to read here.
        text = message.replace(path, display_name(path), 1)
        self._shell.message.remove(self._errors.get(path, ""))
        self._errors[path] = text
        self._shell.message.show_error(text, action, answer)

    @Slot(object)
    def _load_cancelled(self, path: str) -> None:
        self._given_up.append(display_name(path))

    @Slot()
    def _loads_done(self) -> None:
        # In the order requested, regardless of how long each took.
        from viewer.workspace.open_paths import is_text

        reloading, self._reloading = self._reloading, {}
        if self._given_up:  # a canceled reload replaces nothing
            self._asked = [path for path in self._asked if path not in reloading]
        items = [self._loaded[path] for path in self._asked if path in self._loaded]
        named_by = {path: trace for path, trace in self._named_by.items() if path in self._loaded}
        # If the user opened a text file, use it instead of the companions found.
        companions = {path: of for path, of in reloading.items() if of is not None}
        if any(is_text(item) for item in items if item.path not in companions):
            named_by = {}
        items += [self._loaded[path] for path in named_by]
        self._companions |= named_by.keys()
        asked = (path for path in self._asked if path not in reloading)
        self._remember([path for path in asked if path in self._loaded])
        self._asked, self._loaded, self._named_by = [], {}, {}
        self._progress.clear()
        choices, self._choices = self._choices, NO_CHOICES
        if items:
            self._status.set_status("Linking")
            self._shell.reading.show_progress("Linking", 1.0)
            self._told_found = ", ".join(
                f"{display_name(path)} was opened because {display_name(trace)} names it"
                for path, trace in named_by.items()
            )
            if not self._session.is_empty:
                before = self._session.workspace.paths
                new = [item.path for item in items if item.path not in (*before, *named_by)]
                self._told_added = new
            for text in sorted(map(part_warning, items)):
                if text:
                    self._shell.message.show_warning(text)
            self._session.add(items, choices, {**companions, **named_by})
        else:
            self.nothing_opened.emit()
        if self._given_up:
            self._status.show_text(
                "Reload canceled: nothing has changed"
                if reloading
                else f"{', '.join(self._given_up)} was not opened"
            )
            self._given_up = []

    @property
    def warnings(self) -> set[str]:
        """The warnings about open files of which only a part was read."""
        return {part_warning(open_trace.file) for open_trace in self._session.traces}

    @Slot(object, str)
    def _report_replaced(self, paths: list[str], step: str) -> None:
        """Show a message on files that a reload replaced, or that undo or redo brought back."""
        self._status.show_text(replaced_text(paths, step, self._table.way_to("go.undo")))


def part_warning(item: Trace | Program | Executable) -> str:
    """A warning that figures are those of a part of a file; "" if all of it was read."""
    if not isinstance(item, Trace) or not item.is_part:
        return ""
    # It is the first problem, and shows how much was read.
    return f"{display_name(item.path)}: {item.problems[0].kind}. Totals are those of this part"


def _has_values(path: str) -> bool:
    """Whether a file has values of tensors and no times, by its name and its first bytes."""
    name = path.lower()
    if name.endswith(".npz"):
        from viewer.formats.npz import is_npz

        return is_npz(path)
    if name.endswith(".bin"):
        from viewer.formats.executorch.debug_buffer import is_debug_buffer

        return is_debug_buffer(path)
    return False


_AFTER_MS = 1000  # the first frame is painted by then

Read = Callable[[Sequence[str], Choices], object]


class ColumnFiles(QObject):
    """The files of columns of what one window has open. read: opens files in it."""

    def __init__(self, session: Session, read: Read, shell: Shell) -> None:
        super().__init__(shell)
        self._session, self._read, self._shell = session, read, shell
        self._stop = threading.Event()
        self._work = Latest(self, self._read_again)
        self._due = QTimer(self, interval=_AFTER_MS, singleShot=True)
        self._due.timeout.connect(self.check)
        session.workspace_changed.connect(self._wait)
        shell.closing.connect(self._end)

    @Slot()
    def _wait(self) -> None:
        if CACHE.folder and self._session.traces:
            self._due.start()

    @Slot()
    def _end(self) -> None:
        self._due.stop()
        self._stop.set()

    @Slot()
    def check(self) -> None:
        """Keep the columns of what is open, and check those that come from files of columns."""
        for path in CACHE.take_dropped(self._session.workspace.paths):
            name = display_name(path)
            self._shell.message.show_warning(
                f"{name}: its kept columns were damaged, so the file was read again"
            )
        traces = [self._session.as_run(i) for i in range(len(self._session.traces))]
        if traces:
            self._work.submit(_keep_and_check, traces, self._stop.is_set)

    @Slot(object)
    def _read_again(self, damaged: list[tuple[str, str]]) -> None:
        for path, part in damaged:
            if path in self._session.workspace.paths:
                self._read([path], Choices(parts=((path, Fraction(part)),)))


def _keep_and_check(traces: Sequence[OpenTrace], cancelled: Cancelled) -> list[tuple[str, str]]:
    """Return the profiles with damaged columns, and the part of them that was read."""
    damaged = []
    for open_trace in traces:
        slices = open_trace.file.slices
        try:
            if CACHE.is_damaged(slices, cancelled):
                damaged.append((open_trace.file.path, CACHE.part_of(slices)))
        except WriteCancelled:
            return []
        keep_columns(open_trace, cancelled)
    return damaged
