"""The commands that write files: a Perfetto trace by its dialog, tables, a picture of the view."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from viewer.codecs.atomic_file import write_whole
from viewer.codecs.reading import Cancelled, Progress
from viewer.gui.qt.commands.command_table import Command, Precondition
from viewer.gui.session.preconditions import open_profile
from viewer.resources import stem_beside
from viewer.workspace.exports import prepare

if TYPE_CHECKING:
    from viewer.gui.session.session import Session
    from viewer.gui.window.controller import WindowController
    from viewer.gui.window.dialogs.export import ExportDialog
    from viewer.workspace.perfetto_export import ExportFlows, PerfettoOptions

FILTERS = {
    ".pftrace": "Perfetto trace (*.pftrace)",
    ".pftrace.gz": "Perfetto trace, gzipped (*.pftrace.gz)",
}
PICTURES = ("Picture, PNG (*.png)", "Picture, SVG (*.svg)", "Document, PDF (*.pdf)")


def export_commands(desk: WindowController) -> list[Command]:
    """Every command that writes what is open."""
    session = desk.session
    operators = Precondition(
        "a record or source that belongs to an open profile, or one alone",
        lambda: _has_operators(session),
    )
    return [
        Command(
            "file.export", "&Export Perfetto…", "File", lambda: export_perfetto(desk), ("Ctrl+E",),
            open_profile(session),
        ),
        Command(
            "file.export_table", "Export &table of slices…", "File",
            lambda: _export_table(desk, "slices"), ("Ctrl+Shift+E",), open_profile(session),
        ),
        Command(
            "file.export_operators", "Export ta&ble of operators…", "File",
            lambda: _export_table(desk, "operators"), (), operators,
        ),
        Command(
            "file.save_picture", "Save &picture…", "File", lambda: _save_view(desk), (),
            open_profile(session),
        ),
    ]  # fmt: skip


def export_perfetto(desk: WindowController) -> ExportDialog:
    """Ask what of the profiles is to be written, then under which name."""
    # The dialog loads the official protos, which the first window need not wait for.
    from viewer.gui.session.export_scope import display_order
    from viewer.gui.window.dialogs.export import ExportDialog
    from viewer.model.inference_views import Inferences

    scene, session = desk.timeline.scene, desk.session
    as_run = session.state.inferences is Inferences.AS_RUN
    order = display_order(scene.track_list, scene.arrangement) if as_run else ()
    dialog = ExportDialog(
        session, desk.settings, desk.theme, order, scene.missing_text, desk.window
    )
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.asked.connect(partial(_save_perfetto, desk, dialog.flows))
    dialog.open()
    return dialog


def _save_perfetto(
    desk: WindowController, flows: ExportFlows, wish: PerfettoOptions, suffix: str
) -> None:
    from viewer.workspace.perfetto_export import PerfettoJob
    from viewer.workspace.snapshot import Snapshot

    start = stem_beside(desk.session.workspace.paths[0]) + suffix
    path, _ = QFileDialog.getSaveFileName(
        desk.window, "Export Perfetto trace", start, FILTERS[suffix]
    )
    if not path:
        return
    if not os.path.splitext(path)[1]:
        path += suffix
    opened = Snapshot.of(desk.session.workspace)
    desk.save_as(path, lambda to: partial(PerfettoJob(opened, wish, flows).write, to), "slices")


def _save_view(desk: WindowController) -> None:
    """Ask for a name and write a picture of the timeline as it is seen."""
    from viewer.gui.timeline.picture import SUFFIXES, ViewPicture

    start = stem_beside(desk.session.workspace.paths[0]) + ".png"
    path, chosen = QFileDialog.getSaveFileName(
        desk.window, "Save picture of the timeline", start, ";;".join(PICTURES)
    )
    if not path:
        return
    if not path.lower().endswith(SUFFIXES):
        path += chosen.partition("(*")[2].rstrip(")") or SUFFIXES[0]
    # What is seen is drawn now, before it changes; its bytes are written beside the window.
    data = ViewPicture(desk.timeline).bytes_of(os.path.splitext(path)[1].lower())

    def write(progress: Progress, cancelled: Cancelled) -> int:
        write_whole(path, data)
        return 1

    desk.save_as(path, lambda _: write, "picture")


def _export_table(desk: WindowController, table: str) -> None:
    """Ask for a name and write one of `viewer.workspace.exports.TABLES`."""
    workspace = desk.session.workspace
    desk.export_table(lambda path: prepare(workspace, path, table), table)


def _has_operators(session: Session) -> bool:
    """Whether the table of operators would have a row."""
    if session.traces:
        linked = (shown.table.program for shown in session.traces)
        return any(program is not None and program.operators for program in linked)
    return any(program.operators for program in session.workspace.programs)
