"""The commands of selecting several slices, of areas, measuring and marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
)

from viewer.gui.qt.commands.command_table import SEPARATOR, Command, Precondition
from viewer.gui.session import bookmarks
from viewer.gui.session import selection as selecting
from viewer.gui.session.preconditions import open_profile, selected_slice

if TYPE_CHECKING:
    from viewer.gui.window.controller import WindowController

SELECTION_MENU = (
    "Selection",
    (
        "selection.same", "selection.area", "selection.copy_name", "selection.export", SEPARATOR,
        "mark.measure", "mark.keep", "mark.rename", "mark.fit", "mark.remove",
    ),
)  # fmt: skip
SELECTION_MOUSE = (
    ("Ctrl+click", "Add a slice to the selection, or take it out"),
    ("Shift+click", "Select from the selected slice to another of its row"),
    ("Drag on the ruler", "Select a span of time on all tracks"),
)
NOWHERE = "Select something, or point at the timeline: M begins a span there, M again ends it"


def selection_commands(desk: WindowController) -> list[Command]:
    """Every command of selection and marks."""
    session, view = desk.session, desk.timeline.view

    def select_same() -> None:
        """In a table or a text Ctrl+A marks all of it, as everywhere."""
        focus = QApplication.focusWidget()
        if isinstance(focus, QAbstractItemView | QLineEdit | QPlainTextEdit | QTextEdit):
            focus.selectAll()
        else:
            selecting.select_same(session)

    def copy_name() -> None:
        """As the timeline shows it."""
        chosen = session.state.slice
        if chosen is not None:
            name = session.traces[chosen.trace].label(chosen.index)
            QGuiApplication.clipboard().setText(name)
            desk.show_status(f"Copied {name}")

    def measure() -> None:
        before = session.state.measured
        bookmarks.measure(session, view.pointed_time)
        if before is None and session.state.measured is None:
            desk.show_status(NOWHERE)

    def keep() -> None:
        made = bookmarks.keep(session, view.pointed_time)
        if made is not None:
            way = desk.commands.way_to("mark.rename")
            desk.show_status(f"{session.state.marks[made].name} is kept · {way} renames it")
        elif session.state.mark is None:
            desk.show_status(NOWHERE)

    def rename() -> None:
        if session.state.mark is not None:
            desk.rename_mark(session.state.mark)

    def fit() -> None:
        if session.state.mark is not None:
            bookmarks.fit(session, session.state.mark)

    has_trace = open_profile(session)
    has_mark = Precondition("a current mark", lambda: session.state.mark is not None)

    return [
        Command(
            "selection.same", "Select all of the same &name, then everything", "Selection",
            select_same, ("Ctrl+A",), has_trace,
        ),
        Command(
            "selection.area", "Make the selection an &area", "Selection",
            lambda: selecting.make_area(session), ("R",),
            Precondition("selected slices or operators", lambda: selecting.can_make_area(session)),
        ),
        Command(
            "selection.copy_name", "&Copy name", "Selection", copy_name,
            enabled=selected_slice(session),
        ),
        Command(
            "selection.export", "&Export the selection table…", "Selection",
            desk.selection.export,
            enabled=Precondition("statistics of a selection", lambda: desk.selection.can_export),
        ),
        Command(
            "mark.measure", "&Measure the selection, or from the mouse on", "Selection",
            measure, ("M",), has_trace,
        ),
        Command(
            "mark.keep", "&Keep as a mark", "Selection", keep, ("Shift+M",),
            Precondition("an open profile, shown as it ran", lambda: bookmarks.can_mark(session)),
        ),
        Command("mark.rename", "&Rename the current mark", "Selection", rename, ("F2",), has_mark),
        Command("mark.fit", "&Zoom to the current mark", "Selection", fit, (), has_mark),
        Command(
            "mark.remove", "&Delete the current mark", "Selection",
            lambda: bookmarks.remove(session), ("Del",),
            Precondition(
                "a current mark, or something measured",
                lambda: has_mark() or session.state.measured is not None,
            ),
        ),
    ]  # fmt: skip
