"""The Source panel: the file of the selected operator, with the cost of each line, and its calls.

Before anything is selected, it is the file with the most expensive line. Of a file that is not
found, the lines that the ETRecord quotes are shown. The self time of a line is that of operators on
this line alone. Time shared by several lines has a bracket and is in the footer, never divided.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from itertools import chain

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QSizePolicy, QToolButton, QWidget

from viewer.analysis.cost.source_costs import (
    LineCosts,
    PlaceOf,
    first_lines,
    line_costs,
    most_expensive_lines,
    place_of,
    users_place_of,
)
from viewer.analysis.links.mlir_locations import positions_of
from viewer.dataclasses import dataclass
from viewer.gui.panels.base.cost_painting import whole_text
from viewer.gui.panels.base.file_caption import FileCaption
from viewer.gui.panels.base.panel import PagePanel, PanelHost, plain_column
from viewer.gui.panels.base.slice_facts import no_line_text, place_texts
from viewer.gui.panels.source.code_view import (
    ERROR_TIP,
    ERROR_TITLE,
    Bracket,
    CodeView,
    ComparedLines,
    Gutter,
    error_notes,
    shared_changes,
    shared_times,
    time_notes,
)
from viewer.gui.panels.source.syntax import language_of
from viewer.gui.qt.background import WhenVisible
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import laid_out, tool_button
from viewer.gui.qt.widgets.labels import (
    ElidedLabel,
    Hairline,
    anchor,
    explain,
    label,
    literal,
    span,
)
from viewer.gui.session.feeds.feed import CostFeed
from viewer.gui.session.selection import operator_of
from viewer.model import figures as figure_terms
from viewer.model.text import one_line
from viewer.model.times import counted
from viewer.program.frames import Frame
from viewer.program.mlir.locations import FilePosition
from viewer.program.program import Operator
from viewer.program.source_files import (
    PARENTS,
    QuotedLines,
    SourceFile,
    Substitution,
    VersionFit,
    file_name,
    local_paths,
    quoted_lines,
    refusal,
    version_fit,
)

_UNFOLD = "unfold"
_SEPARATOR = " › "


@dataclass(frozen=True, slots=True)
class CallStep:
    """One call of the path.

    frame: None for folded frames. library: the number of library frames, 0 for the user's code.
    """

    frame: Frame | None
    text: str
    library: int = 0


def steps_of(operator: Operator, unfolded: bool = False) -> list[CallStep]:
    """Return the call path of an operator, outermost call first.

    unfolded: list library frames one by one. If all frames are library frames, none is folded.
    """
    texts = {id(frame): text for frame, text in place_texts(operator)}
    only_library = all(frame.is_library for frame in operator.frames)
    steps: list[CallStep] = []
    for frame in operator.frames:
        if not frame.is_library or only_library:
            steps.append(CallStep(frame, texts.get(id(frame), frame.function)))
        elif unfolded:
            steps.append(CallStep(frame, frame.function, 1))
        elif steps and steps[-1].frame is None:
            steps[-1] = CallStep(None, f"⋯ {steps[-1].library + 1}", steps[-1].library + 1)
        else:
            steps.append(CallStep(None, "⋯ 1", 1))
    return steps


class CallPath(QLabel):
    """The call path as a label. `chosen(path, line)`: a call was clicked or opened by keyboard."""

    chosen = Signal(str, int)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._operator: Operator | None = None
        self._place: tuple[str, int] | None = None
        self._name = ""
        self._unfolded = False
        self.steps: list[CallStep] = []
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setFont(theme.font("header"))
        self.setAccessibleName("Calls")
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.LinksAccessibleByMouse
            | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.linkActivated.connect(self._follow)

    def show_path(self, operator: Operator | None, place: tuple[str, int], name: str) -> None:
        """Show the calls of an operator, with that at `place` as current; without any, a name."""
        if operator is not self._operator:
            self._unfolded = False
        self._operator, self._place, self._name = operator, place, name
        self.render_path()

    @guard(QSize())
    def minimumSizeHint(self) -> QSize:
        """Allow a long path to be cut off instead of widening the panel."""
        return QSize(0, super().minimumSizeHint().height())

    def render_path(self) -> None:
        """Show the calls in the colors of the theme."""
        theme, tokens = self._theme, self._theme.tokens
        operator = self._operator
        self.steps = [] if operator is None else steps_of(operator, self._unfolded)
        parts = []
        for i, step in enumerate(self.steps):
            if step.frame is None:
                parts.append(anchor(_UNFOLD, step.text, theme))
            elif (step.frame.path, step.frame.line) == self._place:
                parts.append(span(step.text, tokens.text1, bold=True))
            else:
                parts.append(anchor(str(i), step.text, theme))
        parts = parts or [span(self._name, tokens.text1, bold=True)]
        self.setText(span(_SEPARATOR, tokens.text3).join(parts))
        self.setFocusPolicy(
            Qt.FocusPolicy.StrongFocus if "<a " in self.text() else Qt.FocusPolicy.NoFocus
        )

    @Slot(str)
    def _follow(self, link: str) -> None:
        if link == _UNFOLD:
            self._unfolded = True
            self.render_path()
            return
        if (frame := self.steps[int(link)].frame) is not None:
            self.chosen.emit(frame.path, frame.line)


NOTHING = "Select an operator to see its source."
NO_LINES = "The open files record no source lines."
NO_RECORD = "Open the ETRecord or the source of the model to see the source lines of these slices."
FUNCTIONS = "Times are per function, shown at its first line."
NO_CALLER = "No line in your own files that called this operator was recorded."
NO_RECORDED_LINES = "This profile records no source lines."
CALLED_FROM = "By caller"
CALLED_FROM_TIP = (
    "Show the time on the lines of your own files that call installed packages,\n"
    "instead of on the lines in these packages"
)
_MOST_LOOKED_FOR = 12  # files; each is looked for in the folders of the open files
_LEAST_PATH = 90  # px; a path cut to fewer than about 14 characters, "s…y", is useless

LOCATE = "Locate the file…"
_MOST_FOLDERS = 5  # in the tooltip


def not_found_text(path: str, refused: str = "") -> str:
    """The page for a file of which nothing can be shown; refused: why it is not read."""
    return refused or (
        f"{file_name(path)} was not found at its recorded path, {path}, or in or near the folders "
        "of the open files. Locate it once; Opscope then finds all sources in the same folder."
    )


def quoted_text(path: str, lines: int, refused: str = "") -> str:
    """The notice above the recorded lines of a file; refused: why the file is not read."""
    these = f"these are the {lines} lines" if lines > 1 else "this is the line"
    if refused:
        return f"{these[0].upper()}{these[1:]} that the ETRecord quotes. {refused}"
    return f"{one_line(file_name(path))} was not found; {these} that the ETRecord quotes."


def searched_text(
    path: str, opened: Sequence[str], substitutions: Sequence[Substitution] = ()
) -> str:
    """Where a file was looked for, one place per line. opened: the paths of the open files."""
    folders = dict.fromkeys(os.path.dirname(os.path.abspath(file)) for file in opened)
    places = [one_line(place) for place in (path, *local_paths(path, substitutions))]
    above = f"and {PARENTS} levels above"
    places += [f"{one_line(folder)}, {above}" for folder in list(folders)[:_MOST_FOLDERS]]
    if len(folders) > _MOST_FOLDERS:
        places.append(f"{counted(len(folders) - _MOST_FOLDERS, 'other folder')} of open files")
    return "\n".join(("Searched:", *places))


def version_text(fit: VersionFit) -> str:
    """Return the note for a file that differs from the recorded version."""
    line, quoted = fit.unlike[0]
    others = len(fit.unlike) - 1
    more = f", and {counted(others, 'other line')} of {fit.compared} differ" if others else ""
    return f"Different version of the file: line {line} was recorded as “{quoted}”{more}"


def shown_hint(file: SourceFile) -> str:
    """Where a shown file was read, behind symbolic links, and where it was recorded."""
    real = os.path.realpath(file.shown)
    link = "" if real == file.shown else f", a link to {one_line(real)}"
    return f"Shown from {one_line(file.shown)}{link}\nRecorded as {one_line(file.recorded_path)}"


class MissingFile(QWidget):
    """The notice above recorded lines. `locate_requested`: let the user find the file."""

    locate_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.text = ElidedLabel("", theme, "caption", "text2")
        self.button = tool_button(LOCATE, "")
        self.button.setProperty("framed", True)
        self.button.clicked.connect(self.locate_requested)
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(12), theme.px(3), theme.px(12), theme.px(3))
        row.setSpacing(theme.px(8))
        row.addWidget(self.text, 1)
        row.addWidget(self.button)

    def show_notice(self, notice: str, searched: str) -> None:
        """Show which lines there are, and in the tooltips where the file was looked for."""
        self.text.setText(notice)
        self.text.hint = f"{notice}\n{searched}"
        explain(self.button, searched)


class SourcePanel(PagePanel):
    """Shows source; a click on a line with a cost selects the operators of that line."""

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host)
        self._costs = CostFeed.of(session)
        self.place: tuple[str, int] | None = None  # the recorded path and the line shown
        self._opened_at: tuple[str, int] | None = None  # the line shown before any selection
        self._line_costs = LineCosts({}, ())
        self.shown_file: str | None = None  # its path on this machine
        self._pointed = 0  # the line that was clicked last in the file, 0 for none
        self.code = CodeView(theme)
        self.code.line_clicked.connect(self._click)
        self.code.line_pointed.connect(self._point)
        self.paths_menu = QMenu(self)
        self.paths_menu.aboutToShow.connect(self._fill_paths)
        self.paths = self._paths_button()
        self.paths.setVisible(bool(session.workspace.choices.source_paths))
        self.editor = self._editor_button()
        self.by_caller = self._caller_button()
        self.gutter_title = label("", theme, "header", "text2")
        self.caption = FileCaption(host, names_file=True)
        self.calls = CallPath(theme)
        self.calls.chosen.connect(self._walk)
        self.version = ElidedLabel("", theme, "caption", "warning")
        self.functions = ElidedLabel(FUNCTIONS, theme, "caption", "text2")
        for notice in (self.version, self.functions):
            notice.setContentsMargins(theme.px(12), theme.px(3), theme.px(12), theme.px(3))
        self.missing = MissingFile(theme)
        self.missing.locate_requested.connect(self._locate)
        self.note = ElidedLabel("", theme, "caption", "text3", Qt.TextElideMode.ElideMiddle)
        self.note.least = theme.px(_LEAST_PATH)
        self.note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.shared = label("", theme, "caption", "text2", html=True, wrap=True)
        explain(self.shared, figure_terms.SHARED.definition)
        self._head = self._head_line()
        self.set_page(self._page(), above=self._head)
        session.workspace_changed.connect(self._reopen)
        session.selection_changed.connect(self.refresh)
        session.sources_changed.connect(self._look_again)
        session.source_requested.connect(self._take_request)
        self._compared = ComparedLines(session, self)
        for changed in (self._costs.changed, self._compared.changed, session.coloring_changed):
            changed.connect(self._take_costs)
        self._seen = WhenVisible(self)
        self._seen.due.connect(self._restyle)
        theme.changed.connect(self._seen.request)
        self._offer_callers()
        self.refresh()

    def _head_line(self) -> QWidget:
        theme = self._theme
        head = QWidget()
        head.setFixedHeight(theme.px(26))
        row = laid_out(QHBoxLayout(head), gap=theme.px(8), margins=(0, 0, theme.px(12), 0))
        for widget, stretch in (
            (self.gutter_title, 0), (self.calls, 0), (self.note, 1), (self.caption, 1),
            (self.by_caller, 0), (self.paths, 0), (self.editor, 0),
        ):  # fmt: skip
            row.addWidget(widget, stretch)
        return head

    def _page(self) -> QWidget:
        theme = self._theme
        page = QWidget()
        self._foot = QWidget()
        foot = QHBoxLayout(self._foot)
        foot.setContentsMargins(theme.px(12), theme.px(5), theme.px(12), theme.px(6))
        foot.addWidget(self.shared, 1)
        column = plain_column(page)
        lines = Hairline(theme), Hairline(theme)
        for widget in (lines[0], self.version, self.functions, self.code, lines[1], self._foot):
            column.addWidget(widget)
        column.insertWidget(1, self.missing)  # the last child, so that the code gets the focus
        return page

    @property
    def current_line(self) -> int:
        """The line that was clicked last, else that of the selection, else the first in view."""
        first, last = self.code.shown_range
        line = self._pointed or (self.place[1] if self.place else 0) or self.code.line_at(0)
        return min(max(line, first), last)

    @property
    def can_edit(self) -> bool:
        return self.shown_file is not None

    @Slot()
    def edit_shown(self) -> None:
        if self.shown_file is not None:
            self.host.edit_file(self.shown_file, self.current_line)

    def marked_areas(self) -> Sequence[QRect]:
        """Return where the lines of the selection are, those in view."""
        viewport = self.code.viewport()
        corner = viewport.mapTo(self, QPoint())
        lines = self.code.marked_rects() if viewport.isVisible() else []
        return [line.translated(corner) for line in lines]

    @Slot(str, int)
    def _take_request(self, path: str, line: int) -> None:
        self.show_source(path, line)
        self.host.show_panel("source")

    @Slot(str, int)
    def show_source(self, path: str, line: int) -> None:
        """Show a line of a recorded file, whatever is selected."""
        self.place = (path, line)
        self._show(None)

    @Slot()
    def _reopen(self) -> None:
        self._offer_callers()
        self.place = self._opened_at = None
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the source of the selected operators; without any, keep the file."""
        members = self._members()
        place = next(filter(None, map(self._place_of, members)), None)
        if place is not None:
            self.place = place
            self._show(members[0])
        elif members:
            self.place = None
            is_in_package = self.by_caller.isChecked() and any(m.source for m in members)
            self._show_sentence(NO_CALLER if is_in_package else no_line_text(members))
        elif (position := self._position()) is not None:
            self.place = (position.file, position.line)
            self._show(None)
        elif self.place is None and (place := self._opening_place()) is not None:
            self.place = self._opened_at = place
            self._show(None)
        elif self.place is None:
            self._show_sentence(self._why_empty())
        else:
            # The file stays, but none of its lines belongs to the selection.
            is_opening_line = self.place == self._opened_at and not self._is_any_selected
            self.place = (self.place[0], self.place[1] if is_opening_line else 0)
            self._recount()

    def forget(self) -> None:
        super().forget()
        self.code.forget()

    def _why_empty(self) -> str:
        space = self._session.workspace
        answer = self._costs.answer
        if answer is not None and answer.open_trace.table.is_recorded:
            return NO_RECORDED_LINES
        if space.traces and not space.programs:
            return NO_RECORD
        return NOTHING if any(map(first_lines, space.programs)) else NO_LINES

    @property
    def _is_any_selected(self) -> bool:
        state = self._session.state
        return state.slice is not None or state.operators is not None

    def _opening_place(self) -> tuple[str, int] | None:
        """Return the most expensive line; without costs, the line of the first operator.

        In the first file that can be shown; if there is none, in the first, which can be located.
        """
        answer, space = self._costs.answer, self._session.workspace
        if space.traces and (answer is None or self._session.number_of(answer.open_trace) is None):
            return None  # the costs are being computed
        program = answer.open_trace.table.program if answer else None
        of = self._place_of
        lines = most_expensive_lines(program, answer.table, of) if answer and program else ()
        lines = lines or tuple(chain.from_iterable(first_lines(p, of) for p in space.programs))
        places = (
            place
            for place in lines[:_MOST_LOOKED_FOR]
            if space.source(place[0]) or self._recorded(place[0]).quoted
        )
        return next(places, next(iter(lines), None))

    def _position(self) -> FilePosition | None:
        """Return the first position in the selected slice's location, linked or not."""
        ref = self._session.state.slice
        if ref is None:
            return None
        trace = self._session.traces[ref.trace].trace
        location = trace.keys.location[trace.slices.key[ref.index]]
        return next(iter(positions_of(location)), None) if location else None

    @Slot()
    def _look_again(self) -> None:
        """Read the shown file again, because source paths changed."""
        self.paths.setVisible(bool(self._session.workspace.choices.source_paths))
        if self.place is not None:
            self._show(next(iter(self._members()), None))

    def _paths_button(self) -> QToolButton:
        """Return the button that lists source path substitutions."""
        tip = "Source folders on this machine that replace recorded folders"
        button = tool_button("Paths", tip)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setMenu(self.paths_menu)
        return button

    def _caller_button(self) -> QToolButton:
        button = tool_button(CALLED_FROM, "")
        button.setCheckable(True)
        button.setProperty("low", True)
        explain(button, CALLED_FROM_TIP)
        button.toggled.connect(self._switch)
        button.hide()  # until a program has such lines
        return button

    @property
    def _place_of(self) -> PlaceOf:
        """What the line of an operator is: in the model, or in the user's own files."""
        return users_place_of if self.by_caller.isChecked() else place_of

    @Slot(bool)
    def _switch(self, _: bool) -> None:
        """Show the other lines: those of the selection, else the most expensive one."""
        if not any(map(self._place_of, self._members())):
            self.place = self._opened_at = None
        self.refresh()

    def _offer_callers(self) -> None:
        programs = list(self._session.workspace.programs)
        if (answer := self._costs.answer) and answer.open_trace.table.program:
            programs.append(answer.open_trace.table.program)
        has_callers = any(program.has_callers for program in programs)
        self.by_caller.setVisible(has_callers)
        if not has_callers:
            self.by_caller.setChecked(False)

    def _editor_button(self) -> QToolButton:
        tip = "Open this line in the editor that is chosen in Preferences"
        button = tool_button("", tip, "Open source line in editor")
        button.setIcon(self._theme.icon("code"))
        button.clicked.connect(self.edit_shown)
        button.hide()  # until a file is shown
        return button

    def _set_file(self, path: str | None) -> None:
        self._pointed = 0
        if path != self.shown_file:
            self.shown_file = path
            self.editor.setVisible(path is not None)
            self.host.refresh_commands()

    @Slot()
    def _fill_paths(self) -> None:
        self.paths_menu.clear()
        if self.place is not None:
            name = literal(file_name(self.place[0]))
            ask = self.paths_menu.addAction(f"Locate the file {name}…")
            ask.triggered.connect(self._locate)
            self.paths_menu.addSeparator()
        for substitution in self._session.workspace.choices.source_paths:
            recorded = substitution.recorded_path or "file names only"
            text = f"Forget {recorded} → {substitution.local}"
            forget = self.paths_menu.addAction(literal(text))
            forget.triggered.connect(partial(self.host.forget_source, substitution))

    @Slot()
    def _locate(self) -> None:
        if self.place is not None:
            self.host.locate_source(self.place[0])

    def _members(self) -> list[Operator]:
        chosen, ref = self._session.state.operators, self._session.state.slice
        if chosen is None:
            return []
        if ref is not None and ref.trace == chosen[0]:
            # The lines are those of the nodes that the slice ran.
            open_trace = self._session.traces[ref.trace]
            ran = open_trace.table.executed(int(open_trace.trace.slices.key[ref.index]))
            return [operator for operator in ran if operator.index in chosen[1]]
        operators = (operator_of(self._session, chosen[0], i) for i in chosen[1])
        return [operator for operator in operators if operator is not None]

    @Slot(str, int)
    def _walk(self, path: str, line: int) -> None:
        """Show another call of the selected operator's call path."""
        self.place = (path, line)
        self._show(next(iter(self._members()), None))

    def _show(self, operator: Operator | None) -> None:
        if self.place is None:
            return
        path, line = self.place
        self.calls.show_path(operator, self.place, file_name(path))
        file = self._session.workspace.source(path)
        if file is not None:
            self._set_file(file.shown)
            self.code.show_lines(file.lines, language_of(file.shown), line)
            self._check_version(file)
            self.note.setText(f"shown from {file.shown}" if file.is_elsewhere else path)
            self.note.hint = shown_hint(file)
        elif self._show_recorded():
            self._set_file(None)
            self.version.hide()
            self.functions.hide()
            self.note.setText(path)
            self.note.hint = f"Recorded as {path}"
        else:
            self._show_sentence(not_found_text(path, self._refused(path)), LOCATE)
            return
        self.missing.setVisible(file is None)
        explain(self.calls, self.note.hint)  # there is no room for the path next to many calls
        self._head.show()
        self.show_page()
        self._recount()
        self.code.reveal(line)

    def _show_recorded(self) -> bool:
        """Show the recorded lines of a file that was not found; return whether there are any."""
        if self.place is None:
            return False
        (path, line), space = self.place, self._session.workspace
        recorded = self._recorded(path)
        if recorded.quoted:
            self.code.show_lines(recorded.texts, language_of(path), line, recorded.numbers)
            searched = searched_text(path, space.paths, space.choices.source_paths)
            notice = quoted_text(path, recorded.quoted, self._refused(path))
            self.missing.show_notice(notice, searched)
        return bool(recorded.quoted)

    def _refused(self, path: str) -> str:
        """Return why the file of a recorded path is not read; "" if there is none."""
        space = self._session.workspace
        folders = [os.path.dirname(os.path.abspath(file)) for file in space.paths]
        return refusal(path, folders, space.choices.source_paths)

    def _recorded(self, path: str) -> QuotedLines:
        # The text is that of the program with the costs, if others quote another version.
        first = self._costs.answer.open_trace.table.program if self._costs.answer else None
        programs = self._session.workspace.programs
        return quoted_lines(sorted(programs, key=lambda program: program is not first), path)

    def _check_version(self, file: SourceFile) -> None:
        """Show a note if the file differs from the source quoted in an open ETRecord."""
        answer = self._costs.answer
        self.functions.setVisible(answer is not None and answer.open_trace.table.is_recorded)
        fits = (version_fit(program, file) for program in self._session.workspace.programs)
        fit = next((fit for fit in fits if fit.compared), None)
        self.version.setVisible(fit is not None and fit.is_other)
        if fit is not None and fit.is_other:
            self.version.setText(version_text(fit))

    def _show_sentence(self, sentence: str, button: str = "") -> None:
        self._set_file(None)
        below = None
        if button and self._session.workspace.choices.source_paths:
            below = self._paths_button()
            below.setProperty("framed", True)
        self._stack.show_sentence(sentence, button, self._locate if button else None, below)
        # Keep the head: other calls of the path may have a file that exists.
        self.gutter_title.clear()
        self.note.clear()
        explain(self.calls, "")
        self._head.setVisible(self.place is not None and len(self.calls.steps) > 1)

    @Slot()
    def _take_costs(self) -> None:
        self._offer_callers()
        if self.shown_file is None:
            self._show_recorded()  # another program may have the costs, and other lines
        self._recount()

    def _recount(self) -> None:
        answer = self._costs.answer
        program = answer.open_trace.table.program if answer else None
        if self.place is None:
            if answer is not None and not self._members():
                self.refresh()  # the first costs tell which line is the most expensive
            return
        path, line = self.place
        selected = self._session.state.operators
        highlighted = set(selected[1]) if selected else set()
        if answer is None or program is None:
            self._line_costs = LineCosts({}, ())
            self.code.set_gutter(Gutter({}))
            self._foot.hide()
        else:
            costs = line_costs(program, answer.table, path, self._place_of)
            base = answer.base
            errors = error_notes(self._session, answer.open_trace, path, self._place_of)
            if errors is None:
                notes = time_notes(costs, base, answer.table.whole)
                # A comparison pairs the lines of the model.
                is_paired = not self.by_caller.isChecked()
                changes = self._compared.of(path) if is_paired else None
                shared = self._compared.shared(path) if is_paired else ()
            else:
                notes, changes, shared = errors, None, ()
            joined = [(s.lines, set[int]().union(*s.sets)) for s in costs.shared]
            if changes is not None:
                joined = [(s.lines, set(s.operators)) for s in shared]
            brackets = [
                Bracket(lines, not highlighted.isdisjoint(operators))
                for lines, operators in sorted(joined, key=lambda pair: pair[0][0] - pair[0][-1])
                if len(lines) > 1
            ]
            self._line_costs = costs
            self.code.set_gutter(Gutter(notes, brackets, changes))
            whole = whole_text(answer.open_trace.trace, figure_terms.BUSY_TIME)
            share = figure_terms.share(whole, of=base)
            title = "" if changes is None else self._compared.title
            self_title = base.titled(figure_terms.SELF.title)
            title = title or f"  {self_title}, {share.title}"
            texts = figure_terms.SELF.definition, share.definition, base.explanation
            tips = "\n".join(filter(None, texts))
            if errors is not None:
                title, tips = ERROR_TITLE, ERROR_TIP
            self.gutter_title.setText(title if notes or brackets else "")
            explain(self.gutter_title, tips if notes else "")
            tokens, below = self._theme.tokens, shared_times(costs.shared, base, self._theme.tokens)
            self.shared.setText(below if changes is None else shared_changes(shared, tokens))
            self._foot.setVisible(bool(costs.shared if changes is None else shared))
        self.gutter_title.setFixedWidth(self.code.gutter_width)
        places = filter(None, map(self._place_of, self._members()))
        lines = {place[1] for place in places if place[0] == path}
        self.code.mark(sorted(lines) if line in lines else [line] if line else [])

    @Slot(int)
    def _point(self, line: int) -> None:
        self._pointed = line

    @Slot(int)
    def _click(self, line: int) -> None:
        path = self.shown_file
        self._select_line(line)
        if self.shown_file == path:
            self._pointed = line

    def _select_line(self, line: int) -> None:
        """Select the operators of a line, if it has any."""
        answer = self._costs.answer
        self_cost = self._line_costs.self_costs.get(line)
        if answer is None:
            return
        shared = (s.sets for s in self._line_costs.shared if line in s.lines)
        sets = self_cost.sets if self_cost else next(shared, ())
        trace = self._session.number_of(answer.open_trace)
        if not sets or trace is None:
            return
        # Repeated clicks cycle through all operator sets of the line, most expensive first.
        now = self._session.state.operators
        index = sets.index(now[1]) + 1 if now and now[0] == trace and now[1] in sets else 0
        self._session.select_operators(trace, sets[index % len(sets)])

    @Slot()
    def _restyle(self) -> None:
        self.code.restyle()
        self.calls.render_path()
        self.editor.setIcon(self._theme.icon("code"))
        self._recount()

    @guard
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.place is not None and self.place[1]:
            self.code.reveal(self.place[1])
