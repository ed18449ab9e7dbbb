"""The commands that write files: a Perfetto trace by its dialog, and tables."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from viewer.commands import Command, Need
from viewer.export.atomic import Cancelled, Progress
from viewer.exporting import prepare
from viewer.needs import open_profile

if TYPE_CHECKING:
    from viewer.desk import Desk
    from viewer.panels.export_dialog import ExportDialog
    from viewer.perfetto_export import Flows, PerfettoWish

FILTERS = {
    ".pftrace": "Perfetto trace (*.pftrace)",
    ".pftrace.gz": "Perfetto trace, gzipped (*.pftrace.gz)",
}


def export_commands(desk: Desk) -> list[Command]:
    """Every command that writes what is open."""
    session = desk.session
    something = Need("an open file", lambda: not session.is_empty)
    return [
        Command(
            "file.export", "&Export Perfetto…", "File", lambda: export_perfetto(desk), ("Ctrl+E",),
            open_profile(session),
        ),
        Command(
            "file.export_table", "Export &table…", "File", lambda: _export_table(desk),
            ("Ctrl+Shift+E",), something,
        ),
    ]  # fmt: skip


def export_perfetto(desk: Desk) -> ExportDialog:
    """Ask what of the profiles is to be written, then under which name."""
    # The dialog loads the official protos, which the first window need not wait for.
    from viewer.export_choices import display_order
    from viewer.opening import Inferences
    from viewer.panels.export_dialog import ExportDialog

    scene, session = desk.timeline.scene, desk.session
    as_run = session.state.inferences is Inferences.AS_RUN
    order = display_order(scene.stock, scene.arrangement) if as_run else ()
    dialog = ExportDialog(
        session, desk.settings, desk.theme, order, scene.missing_text, desk.window
    )
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.asked.connect(partial(_save_perfetto, desk, dialog.flows))
    dialog.open()
    return dialog


def _save_perfetto(desk: Desk, flows: Flows, wish: PerfettoWish, suffix: str) -> None:
    from viewer.perfetto_export import PerfettoJob

    start = os.path.splitext(desk.session.workspace.paths[0])[0] + suffix
    path, _ = QFileDialog.getSaveFileName(
        desk.window, "Export Perfetto trace", start, FILTERS[suffix]
    )
    if not path:
        return
    if not os.path.splitext(path)[1]:
        path += suffix
    workspace = desk.session.workspace

    def write(progress: Progress, cancelled: Cancelled) -> int:
        # On the thread of the export: the names of all slices take a while.
        return PerfettoJob(workspace, wish, flows).write(path, progress, cancelled)

    desk.save_as(path, lambda _: write, "slices")


def _export_table(desk: Desk) -> None:
    name = "slices" if desk.session.traces else "operators"
    desk.export_table(partial(prepare, desk.session.workspace), name)
