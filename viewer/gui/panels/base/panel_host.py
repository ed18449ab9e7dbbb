"""What a window and a panel are to each other: `PanelHost` and `Panel`.

A panel shows the session that it is given, changes it through `viewer.gui.session`, and asks its
host for what only a window can do. The window asks a panel for what `Panel` has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from PySide6.QtCore import QRect

from viewer.gui.qt.theme.theme import Theme
from viewer.gui.session.session import Session
from viewer.program.sources.files import Substitution

if TYPE_CHECKING:
    from viewer.workspace.exports import ExportJob

JobOf: TypeAlias = "Callable[[str], ExportJob]"  # creates the job that writes a path


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file that a panel can write.

    Attributes:
        title: title of the dialog that asks for its path.
        ending: what is appended to the name of the profile, as a proposal.
        filters: the kinds of files, as Qt's file dialog takes them.
        counts: what its job counts, as in "12 slices".
    """

    title: str
    ending: str
    filters: str
    counts: str

    @classmethod
    def table(cls, name: str) -> ExportedFile:
        """A table of rows. name: appended to the name of the profile."""
        filters = ("comma separated (*.csv)", "tab separated (*.tsv)", "Parquet (*.parquet)")
        choices = ";;".join(f"Table, {text}" for text in filters)
        return cls("Export table", f".{name}.csv", choices, "rows")


class PanelHost(Protocol):
    """What a panel can ask of the window that it is in. Each panel has a host of its own."""

    @property
    def session(self) -> Session:
        """The session to show."""

    @property
    def theme(self) -> Theme:
        """The fonts, colors and sizes to show it with."""

    def open_files(self) -> None:
        """Ask for files, and open them."""

    def show_panel(self, name: str) -> None:
        """Bring a panel, or a page of one, to the front."""

    def show_source(self, path: str, line: int) -> None:
        """Show a line of a recorded source file."""

    def show_inferences(self) -> None:
        """Open the list of all inferences."""

    def choose_comparison(self) -> None:
        """Ask for both arms of a comparison, and compare them."""

    def choose_reference(self) -> None:
        """Ask for a file to compare logged values with."""

    def choose_buffer(self) -> None:
        """Ask for the debug buffer of a profile."""

    def locate_source(self, recorded_path: str) -> None:
        """Ask where a recorded source file is on this machine."""

    def forget_source(self, substitution: Substitution) -> None:
        """Forget a folder that replaces a recorded one."""

    def edit_file(self, path: str, line: int) -> None:
        """Open a line of a file in the user's editor."""

    def export(self, file: ExportedFile, job_of: JobOf) -> None:
        """Ask for a path, and write a file there in the background."""

    def show_count(self, count: int) -> None:
        """Show on the tab how many rows the panel has, and open or close it by its presence."""

    def refresh_commands(self) -> None:
        """Enable commands again, because what those of the panel require has changed."""


class Panel:
    """What a window asks of a panel; by default it has nothing of all this."""

    def show_keys(self, way_to: Callable[[str], str]) -> None:
        """Mention the current keys. way_to: how to run a command, by its id."""

    def stop(self) -> str:
        """Stop what the user waits for, and return a text about it; "" if there was nothing."""
        return ""

    def forget(self) -> None:
        """Forget what the user chose for files that were closed: others start without it."""

    def marked_areas(self) -> Sequence[QRect]:
        """Where the panel shows what is selected, in its own coordinates."""
        return ()
