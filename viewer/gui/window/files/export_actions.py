"""The window's exports: each asks for a file, writes it in the background, and reports the result.

Perfetto traces have their own dialog; tables and images only need a file dialog. Only one file is
written at a time.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot

from viewer.codecs.atomic_file import write_whole
from viewer.codecs.reading import Cancelled, Progress
from viewer.gui.panels.base.panel_host import ExportedFile, JobOf
from viewer.gui.session.files.saver import Saver
from viewer.gui.session.session import Session
from viewer.gui.timeline.timeline import Timeline
from viewer.gui.window.files.background_work import BackgroundWork
from viewer.gui.window.frame.shell import Shell
from viewer.model.inferences.inference_views import Inferences
from viewer.model.text import display_name
from viewer.model.times import group_digits
from viewer.resources import stem_beside

if TYPE_CHECKING:
    from viewer.gui.window.dialogs.export import ExportDialog
    from viewer.gui.window.dialogs.file_dialog import FileAnswer
    from viewer.query.engine import Result
    from viewer.view.state import ViewState
    from viewer.workspace.perfetto_export import ExportFlows, PerfettoOptions
    from viewer.workspace.workspace import Workspace

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
        """Ask for a file, and write a report of what is open, with the comparison if there is one.

        The report is made in the background, of the files as they are now.
        """
        from viewer.gui.session.feeds.derived import DerivedTracks

        state, space = self._session.state, copy.copy(self._session.workspace)
        space.traces = list(space.traces)
        results = DerivedTracks.of(self._session).results
        self.export_file(REPORT, lambda path: partial(_write_report, space, state, results, path))

    def export_file(self, file: ExportedFile, job_of: JobOf) -> None:
        """Ask for a path, and write a file there."""
        answer = self._ask_for_path(file.title, file.ending, file.filters)
        path = answer.path
        if path:
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
    from viewer.html_report.options import ComparedReport, ReportOptions
    from viewer.html_report.report import write_report
    from viewer.reports.compare import with_notes
    from viewer.view.compared.open_comparison import OpenComparison

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
