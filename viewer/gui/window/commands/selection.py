"""The commands for selecting several slices, areas, measuring and bookmarks."""

from __future__ import annotations

from functools import partial
from itertools import islice

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from viewer.gui.qt.clipboard import CopyFormat, copy_picture, copy_text
from viewer.gui.qt.command_table import Command, Precondition
from viewer.gui.qt.widgets.tables import CopyAction, copy_tsv
from viewer.gui.session import bookmarks
from viewer.gui.session import selection as selecting
from viewer.gui.session.choices import toggle_strip
from viewer.gui.session.session import Session
from viewer.gui.window.commands.menus import CommandContext, open_profile, selected_slice
from viewer.model.times import counted

_selection = partial(Command, menu="Selection")
_edit = partial(Command, menu="Edit")
_copy_as = partial(Command, menu="Edit", group="Copy as")

MOST_COPIED = 10_000  # slices
NOTHING_TO_COPY = "Select a slice, or rows of a table, to copy"
NOWHERE = "Select something, or point at the timeline: press M at the start, and again at the end"


def selection_commands(context: CommandContext) -> list[Command]:
    """The commands for selection, measuring and bookmarks."""
    session, timeline, status = context.session, context.timeline, context.shell.status

    def select_same() -> None:
        """Select the same name; in a table or text, select all of it as usual for Ctrl+A."""
        focus = QApplication.focusWidget()
        if isinstance(focus, QAbstractItemView | QLineEdit | QPlainTextEdit | QTextEdit):
            focus.selectAll()
        else:
            selecting.select_same(session)

    def copy_name() -> None:
        """Copy the selected slice's label as the timeline shows it."""
        if (chosen := session.state.slice) is not None:
            name = session.traces[chosen.trace].label(chosen.index)
            copy_text(timeline, name, name)

    def pointed_time() -> int | None:
        """The time under the mouse; with a selection on its clock, which becomes active."""
        state, current = session.state, session.current_trace
        if (state.slice is None and state.area is None) or current is None:
            return timeline.take_pointed_time()
        session.activate(session.groups.of(current).key)
        return timeline.view.pointed_time

    def measure() -> None:
        before = session.state.measured
        bookmarks.measure(session, pointed_time())
        if before is None and session.state.measured is None:
            status.show_text(NOWHERE)

    def keep() -> None:
        count = len(session.state.bookmarks)
        with session.one_step():
            if timeline.strip.is_collapsed:
                toggle_strip(session, session.group.key)
            number = bookmarks.keep(session, pointed_time())
        if number is not None:
            timeline.bookmarks_bar.ask_name(number, is_new=len(session.state.bookmarks) > count)

    def fit() -> None:
        if session.state.mark is not None:
            bookmarks.fit(session, session.state.mark)

    has_trace = open_profile(session)
    has_mark = Precondition("a current bookmark", lambda: session.state.mark is not None)

    return [
        _selection("selection.same", "Select same &name", select_same, ("Ctrl+A",), has_trace),
        _selection(
            "selection.area",
            "Convert to time r&ange",
            lambda: selecting.make_area(session),
            ("R",),
            Precondition("selected slices or operators", lambda: selecting.can_make_area(session)),
        ),
        _selection("selection.copy_name", "&Copy name", copy_name, enabled=selected_slice(session)),
        _selection("mark.measure", "&Measure", measure, ("M",), has_trace),
        _selection("mark.keep", "Add &bookmark", keep, ("Shift+M",), has_trace),
        _selection("mark.fit", "&Zoom to bookmark", fit, (), has_mark),
        _selection(
            "mark.remove",
            "&Delete bookmark",
            lambda: bookmarks.remove(session),
            ("Del",),
            Precondition(
                "a current bookmark or a measurement",
                lambda: has_mark() or session.state.measured is not None,
            ),
        ),
    ]


def copy_commands(context: CommandContext) -> list[Command]:
    """The commands to copy the rows of the focused table, else the selected slices."""
    session, timeline, status = context.session, context.timeline, context.shell.status
    docks = context.docks

    def copy(form: CopyFormat) -> None:
        focus = QApplication.focusWidget()
        action = None if focus is None else _copying(focus)
        if action is not None:
            action.copy(form)
        elif isinstance(focus, QLineEdit | QPlainTextEdit | QTextEdit):
            focus.copy()
        elif session.state.slice is None:
            status.show_text(NOTHING_TO_COPY)
        else:
            copy_tsv(timeline, _slices_tsv(session), form)

    def copy_ns() -> None:
        lines = _slices_tsv(session).splitlines()[1:]
        lengths = [length for line in lines if "\t" in line and (length := line.split("\t")[2])]
        if not lengths:
            status.show_text("The selected slices have no duration in ns")
            return
        copy_text(timeline, "\n".join(lengths), f"{counted(len(lengths), 'duration')} in ns")

    def copy_timeline() -> None:
        from viewer.gui.timeline.picture import ViewPicture

        copy_picture(timeline, ViewPicture(timeline).image(), "an image of the timeline")

    # On the timeline Ctrl+C copies the slice, as it copies rows in a table.
    on_canvas = QAction("Copy", timeline)
    on_canvas.setShortcut(QKeySequence.StandardKey.Copy)
    on_canvas.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
    on_canvas.triggered.connect(lambda: copy(CopyFormat.TEXT))
    timeline.addAction(on_canvas)
    something = Precondition("an open file", lambda: not session.is_empty)
    return [
        _edit("edit.copy", "&Copy", lambda: copy(CopyFormat.TEXT), (), something),
        *(
            _copy_as(
                f"edit.copy_{form.name.lower()}",
                f"&{form.value}",
                lambda form=form: copy(form),  # type: ignore[misc]
                enabled=something,
                keywords="copy",
            )
            for form in CopyFormat
        ),
        _copy_as(
            "edit.copy_ns",
            "&Durations in ns",
            copy_ns,
            enabled=selected_slice(session),
            keywords="copy nanoseconds",
        ),
        _edit(
            "edit.copy_timeline",
            "Copy &image of the timeline",
            copy_timeline,
            enabled=open_profile(session),
            keywords="copy picture clipboard",
        ),
        _edit(
            "edit.copy_panel",
            "Copy image of the &panel",
            lambda: docks.copy_panel(docks.focused_panel),
            enabled=Precondition(
                "a panel", lambda: something() and docks.shows_any and bool(docks.focused_panel)
            ),
            keywords="copy picture clipboard",
        ),
    ]


def _copying(focus: QWidget) -> CopyAction | None:
    """The action of a table or tree that copies its rows, None if the widget has none."""
    return next((action for action in focus.actions() if isinstance(action, CopyAction)), None)


def _slices_tsv(session: Session) -> str:
    """The selected slices with headings as tab-separated text, in ns of their axes."""
    lines = ["Name\tStart, ns\tDuration, ns\tProcess\tTrack"]
    chosen = session.state.slices
    for ref in islice(chosen, MOST_COPIED):
        open_trace = session.traces[ref.trace]
        slices = open_trace.trace.slices
        track = open_trace.trace.tracks[slices.track(ref.index)]
        start, end = open_trace.span_ns(ref.index)
        cells = (
            open_trace.label(ref.index),
            str(start),
            # A slice on a separate clock has no duration on this one, as in Search.
            str(end - start) if open_trace.native(ref.index) is None else "",
            track.process,
            track.thread,
        )
        lines.append("\t".join(" ".join(cell.split()) for cell in cells))
    if len(chosen) > MOST_COPIED:
        more = counted(len(chosen) - MOST_COPIED, "more slice")
        lines.append(f"{more}: a Perfetto export has all of them")
    return "\n".join(lines) + "\n"
