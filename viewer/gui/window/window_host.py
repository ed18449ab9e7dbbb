"""What panels ask of their window: each has a `WindowHost`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from viewer.gui.panels.base.panel_host import ExportedFile, JobOf
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session
from viewer.program.sources.files import Substitution

if TYPE_CHECKING:
    from viewer.gui.window.controller import WindowController


class WindowHost:
    """The host of one page of a panel; `PanelHost` says what its methods do.

    controller: returns the controller once it is complete, which is after the panels are made.
    Until then there is nothing to count, and no user to ask for anything.
    """

    def __init__(
        self,
        session: Session,
        theme: Theme,
        controller: Callable[[], WindowController | None],
        page: str,
    ) -> None:
        self.session, self.theme = session, theme
        self._controller, self._page = controller, page

    @property
    def _parts(self) -> WindowController:
        controller = self._controller()
        assert controller is not None
        return controller

    def open_files(self) -> None:
        self._parts.opener.open_dialog()

    def show_panel(self, name: str) -> None:
        self._parts.docks.show_panel(name)

    def show_source(self, path: str, line: int) -> None:
        self.session.source_requested.emit(path, line)

    def show_inferences(self) -> None:
        self._parts.toolbar.run.show_list()

    def choose_comparison(self) -> None:
        self._parts.comparing.choose()

    def choose_reference(self) -> None:
        self._parts.references.choose()

    def choose_buffer(self) -> None:
        self._parts.references.choose_buffer()

    def locate_source(self, recorded_path: str) -> None:
        self._parts.source_paths.locate(recorded_path)

    def forget_source(self, substitution: Substitution) -> None:
        self._parts.source_paths.forget(substitution)

    def edit_file(self, path: str, line: int) -> None:
        self._parts.source_editor.open(path, line)

    def export(self, file: ExportedFile, job_of: JobOf) -> None:
        self._parts.exports.export_file(file, job_of)

    def show_count(self, count: int) -> None:
        if self._controller() is not None:
            self._parts.layout.show_count(self._page, count)

    def refresh_commands(self) -> None:
        if self._controller() is not None:
            self._parts.commands.refresh()
