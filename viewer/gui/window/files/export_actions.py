"""The window's exports: each asks for a file, writes it in the background, and reports the result.

File > Open in Perfetto UI is the only function that uses the network, and only on request: the
browser loads the UI's page, which reads the trace back from this machine (`perfetto_server`). The
trace itself stays on this machine. If that does not work, a message shows why and offers to save
the file. The server's module is imported on demand, because that takes 40 ms.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from viewer.codecs.atomic_file import write_whole
from viewer.codecs.reading import Cancelled, Progress
from viewer.codecs.temporary_folder import TemporaryFolder
from viewer.gui.panels.base.panel import ExportedFile, JobOf
from viewer.gui.qt.background import GuiOwner, Latest
from viewer.gui.session.feeds.derived import DerivedTracks
from viewer.gui.session.file_jobs import Loader, Saver
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.frame.shell import Shell
from viewer.model.inference_views import Inferences
from viewer.model.text import display_name
from viewer.model.times import group_digits
from viewer.resources import stem_beside

if TYPE_CHECKING:
    from viewer.gui.window.dialogs.export import ExportDialog
    from viewer.gui.window.dialogs.file_dialog import FileAnswer
    from viewer.gui.window.files.perfetto_server import PerfettoServer
    from viewer.query.engine import Result
    from viewer.view.state import ViewState
    from viewer.workspace.perfetto_export import ExportFlows, PerfettoOptions
    from viewer.workspace.workspace import Workspace


class BackgroundWork(QObject):
    """The reading and writing of one window, with progress in the status bar."""

    def __init__(self, loader: Loader, saver: Saver, shell: Shell) -> None:
        super().__init__(shell)
        self._loader, self._saver, self._status = loader, saver, shell.status
        self._status.cancelled.connect(self.cancel)

    @property
    def is_busy(self) -> bool:
        """Whether anything is being read or written."""
        return bool(self._loader.paths) or self._saver.is_busy

    @Slot()
    def cancel(self) -> None:
        """Cancel everything; leaves no partial files."""
        self._loader.cancel()
        self._saver.cancel()

    def end_progress(self) -> None:
        """Hide the progress, unless other work is still running."""
        if not self.is_busy:
            self._status.end()

    def shut_down(self) -> None:
        """Cancel everything and wait until it has stopped."""
        self._loader.shutdown()
        self._saver.shutdown()


TRACE_FILTERS = {
    ".pftrace": "Perfetto trace (*.pftrace)",
    ".pftrace.gz": "Perfetto trace, gzipped (*.pftrace.gz)",
}
REPORT = ExportedFile("Export report", ".html", "Report (*.html)", "slices")
PICTURE_FILTERS = "Image, PNG (*.png);;Image, SVG (*.svg)"
VIEW_FILTERS = f"{PICTURE_FILTERS};;Document, PDF (*.pdf)"


class ExportActions(QObject):
    """The exports of one window.

    `report_progress`, `report_saved` and `report_failed` are to be connected to the saver's
    signals.
    """

    def __init__(
        self,
        session: Session,
        saver: Saver,
        work: BackgroundWork,
        timeline: Timeline,
        shell: Shell,
    ) -> None:
        super().__init__(shell)
        self._session, self._saver, self._work = session, saver, work
        self._timeline, self._shell = timeline, shell
        self._status, self._message = shell.status, shell.message
        shell.picture_offered.connect(self.save_picture)
        self._counts = ""  # what the current export counts, such as "slices"

    # -- exports -----------------------------------------------------------------------------

    def export(self, path: str) -> None:
        """Write what is open to a file; its suffix selects the format."""
        from viewer.workspace.exports import prepare

        self.save_as(path, partial(prepare, self._session.workspace), "slices")

    def export_perfetto(self) -> ExportDialog:
        """Show the dialog for a Perfetto export, which then asks for a file."""
        # The dialog loads Perfetto's protos, which must not delay the first window.
        from viewer.gui.window.dialogs.export import ExportDialog

        timeline, session, shell = self._timeline, self._session, self._shell
        as_run = session.state.inferences is Inferences.AS_RUN
        order = timeline.track_order if as_run else ()
        dialog = ExportDialog(
            session, shell.settings, shell.theme, order, timeline.missing_text, shell
        )
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.options_accepted.connect(partial(self._save_perfetto, dialog.flows))
        dialog.open()
        return dialog

    def _save_perfetto(
        self, flows: ExportFlows, perfetto_options: PerfettoOptions, suffix: str
    ) -> None:
        from viewer.workspace.perfetto_export import PerfettoJob
        from viewer.workspace.snapshot import Snapshot

        path = self._ask_for_path("Export to Perfetto", suffix, TRACE_FILTERS[suffix]).path
        if not path:
            return
        if not os.path.splitext(path)[1]:
            path += suffix
        opened = Snapshot.of(self._session.workspace)
        self.save_as(
            path,
            lambda to: partial(PerfettoJob(opened, perfetto_options, flows).write, to),
            "slices",
        )

    def save_view(self) -> None:
        """Ask for a file, and write an image of the timeline as shown."""
        from viewer.gui.timeline.picture import ViewPicture

        def bytes_of(suffix: str) -> bytes:
            return ViewPicture(self._timeline).bytes_of(suffix)

        self._save_picture("Export image of the timeline", VIEW_FILTERS, bytes_of)

    @Slot(object)
    def save_picture(self, bytes_of: Callable[[str], bytes]) -> None:
        """Ask for a file, and write a picture of a part of the window."""
        self._save_picture("Save picture", PICTURE_FILTERS, bytes_of)

    def _save_picture(self, title: str, filters: str, bytes_of: Callable[[str], bytes]) -> None:
        answer = self._ask_for_path(title, ".png", filters)
        path = answer.path
        if not path:
            return
        if f"*{os.path.splitext(path)[1].lower()})" not in filters:
            path += _suffix_of(answer.chosen_filter) or ".png"
        # Rendered now, before anything changes; only the bytes are written in the background.
        data = bytes_of(os.path.splitext(path)[1].lower())

        def write(progress: Progress, cancelled: Cancelled) -> int:
            write_whole(path, data)
            return 1

        self.save_as(path, lambda _: write, "picture")

    def export_rows(self, table: str) -> None:
        """Ask for a file, and write one of `viewer.workspace.exports.TABLES`."""
        from viewer.workspace.exports import prepare

        workspace = self._session.workspace
        self.export_file(ExportedFile.table(table), lambda path: prepare(workspace, path, table))

    def export_report(self) -> None:
        """Ask for a file, and write a report of what is open now, in the background."""
        state, space = self._session.state, copy.copy(self._session.workspace)
        space.traces = list(space.traces)
        results = DerivedTracks.of(self._session).results
        self.export_file(REPORT, lambda path: partial(_write_report, space, state, results, path))

    def export_file(self, file: ExportedFile, job_of: JobOf) -> None:
        """Ask for a path, and write a file there."""
        answer = self._ask_for_path(file.title, file.ending, file.filters)
        if path := answer.path:
            if not os.path.splitext(path)[1]:
                path += _suffix_of(answer.chosen_filter)
            self.save_as(path, job_of, file.counts)

    def _ask_for_path(self, title: str, ending: str, filters: str) -> FileAnswer:
        from viewer.gui.window.dialogs.file_dialog import FileQuestion, PathKind

        start = stem_beside(self._session.workspace.paths[0]) + ending
        instruction = "Choose a folder and a name. The suffix of the name selects the format."
        if ";;" not in filters:
            instruction = "Choose a folder and a name."
        question = FileQuestion(PathKind.SAVE_FILE, title, instruction, start, filters)
        return question.ask(self._shell, self._shell.theme)

    def save_as(self, path: str, job_of: JobOf, counts: str) -> None:
        """Write a file in the background; `counts` is what its job counts, as in "12 slices"."""
        from viewer.workspace.exports import NothingToExport, of_whole_columns

        if self._saver.is_busy:
            self._message.show_error(f"{path} was not written: another export is in progress")
            return
        try:
            job = job_of(path)
        except (NothingToExport, ValueError) as error:
            self._message.show_error(str(error))
            return
        self._counts = counts if self._session.traces else ""
        self._status.start()
        self._status.set_status(f"Writing {display_name(path)}")
        self._saver.save(of_whole_columns(self._session.workspace, job), path)

    # -- results -----------------------------------------------------------------------------

    @Slot(str, float)
    def report_progress(self, path: str, share: float) -> None:
        """Show the fraction of a file that is written, 0 to 1, in the status bar."""
        self._status.set_status(f"Writing {display_name(path)}", share)

    @Slot(str, int)
    def report_saved(self, path: str, count: int) -> None:
        """Show that a file was written, and how much it contains."""
        self._work.end_progress()
        self._status.show_text(
            f"Wrote {path} · {group_digits(count)} {self._counts}"
            if self._counts
            else f"Wrote {path}"
        )

    @Slot(str, str)
    def report_failed(self, path: str, message: str) -> None:
        """Show why a file was not written."""
        self._work.end_progress()
        self._message.show_error(message)


def _write_report(
    space: Workspace,
    state: ViewState,
    results: Mapping[str, Result],
    path: str,
    progress: Progress,
    cancelled: Cancelled,
) -> int:
    """Write a report; returns how many slices it has exactly. results: of queries that ran."""
    from viewer.api.session_queries import KeptQueries
    from viewer.html_report.contents import ComparedReport, ReportOptions
    from viewer.html_report.report import write_report
    from viewer.reports.compare import with_notes
    from viewer.view.open_comparison import OpenComparison

    queries, report = KeptQueries(state.derived, state.charts), None
    rows = queries.rows(space, results, cancelled=cancelled)
    if state.compared is not None:
        open_comparison = OpenComparison(space, state.compared)
        if not open_comparison.problem:
            notes = with_notes((), open_comparison.calls)
            report = ComparedReport(open_comparison.calls, problems=notes)
    options = ReportOptions(compared=report, queries=rows)
    return write_report(space, path, options, progress, cancelled).exact


def _suffix_of(chosen: str) -> str:
    """The suffix in a file dialog's filter: ".csv" for "Table (*.csv)", "" if there is none."""
    return chosen.partition("(*")[2].rstrip(")")


SAVE = "Save the trace…"
OFFLINE = (
    "ui.perfetto.dev cannot be reached: this machine seems to be offline. Save the trace and open "
    "it there later, or in another viewer"
)
NO_PORT = (
    "The Perfetto UI reads only from port 9001, which another program uses. Save the trace and "
    "open it there yourself, or close that program"
)


class PerfettoUi(QObject):
    """Hands what is open to the Perfetto UI; lives on the GUI thread, as long as its window.

    `save` asks where to save the trace instead.
    """

    def __init__(
        self, session: Session, saver: Saver, save: Callable[[], None], shell: Shell
    ) -> None:
        super().__init__(shell)
        self._session, self._saver, self._save, self._shell = session, saver, save, shell
        self._owner = GuiOwner(self)
        self._folder: TemporaryFolder | None = None
        self._path = ""
        self.server: PerfettoServer | None = None
        self._asking = Latest(shell, self._reached)
        saver.saved.connect(self._saved)
        saver.failed.connect(self._failed)
        shell.closing.connect(self.close)

    @Slot()
    def open(self) -> None:
        """Write the trace to a temporary file, and continue when that is done."""
        from viewer.workspace.exports import NothingToExport, of_whole_columns, prepare

        message, workspace = self._shell.message, self._session.workspace
        if self._saver.is_busy:
            message.show_error("Another export is in progress. Try again when it is done")
            return
        self.close()
        name = os.path.splitext(os.path.basename(workspace.traces[0].path))[0]
        self._folder = TemporaryFolder()
        self._path = os.path.join(self._folder.path, f"{name or 'trace'}.pftrace")
        try:
            job = of_whole_columns(workspace, prepare(workspace, self._path))
        except NothingToExport as error:
            self.close()
            message.show_error(str(error))
            return
        self._shell.status.start()
        self._shell.status.set_status("Writing the trace for the Perfetto UI")
        self._saver.save(job, self._path)

    @Slot()
    def close(self) -> None:
        """Stop serving, and delete the temporary file."""
        self._asking.cancel()
        server, self.server = self.server, None
        if server is not None:
            server.close()
        if self._folder is not None:
            self._folder.remove()
        self._folder, self._path = None, ""

    @Slot(str, int)
    def _saved(self, path: str, _count: int) -> None:
        if path == self._path:
            from viewer.gui.window.files import perfetto_server

            self._shell.status.show_text("Looking for ui.perfetto.dev…")
            self._asking.submit(perfetto_server.is_reachable)

    @Slot(str, str)
    def _failed(self, path: str, _message: str) -> None:
        if path == self._path:
            self.close()

    @Slot(object)
    def _reached(self, reached: bool) -> None:
        if not reached:
            self._offer_file(OFFLINE)
            return
        from viewer.gui.window.files import perfetto_server

        ended = partial(self._owner.call, "_ended")
        try:
            self.server = perfetto_server.PerfettoServer(self._path, ended)
        except perfetto_server.PortTaken:
            self._offer_file(NO_PORT)
            return
        address = self.server.ui_address
        if QDesktopServices.openUrl(QUrl(address)):
            self._shell.status.show_text("Opening the Perfetto UI in the browser")
        else:
            self._shell.message.show_warning(
                f"Could not start a browser. Open this address in one: {address}"
            )

    def _offer_file(self, why: str) -> None:
        self.close()
        self._shell.status.show_text("")
        self._shell.message.show_warning(why, SAVE, self._save)

    def _ended(self, fetched: bool) -> None:
        if self.server is None:  # already closed
            return
        self.close()
        self._shell.status.show_text(
            "Trace loaded in Perfetto UI; local server stopped"
            if fetched
            else "No browser requested the trace; local server stopped"
        )
