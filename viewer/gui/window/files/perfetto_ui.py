"""File > Open in Perfetto UI: writes the trace, opens the UI in the browser, and cleans up.

This is the only function that uses the network, and only on request: the browser loads the UI's
page, which reads the trace back from this machine (`perfetto_server`). The trace itself stays on
this machine. If that does not work, a message shows why and offers to save the file. The server's
module is imported on demand, because that takes 40 ms.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices

from viewer.codecs.temporary_folder import TemporaryFolder
from viewer.gui.qt.background import GuiOwner, Latest
from viewer.gui.session.files.saver import Saver
from viewer.gui.session.session import Session
from viewer.gui.window.frame.shell import Shell

if TYPE_CHECKING:
    from viewer.gui.window.files.perfetto_server import PerfettoServer

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
        self._asking = Latest(shell)
        self._asking.answered.connect(self._reached)
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
