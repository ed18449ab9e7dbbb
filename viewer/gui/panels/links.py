"""The Links panel: for each profile its candidate ETRecords, how well they match, and why.

An ETRecord and an ETDump share no key, so the panel shows how well each pair matches and what that
is based on. The user can override each automatic decision: which ETRecord, or none; which column
holds identifiers; and which method an inference belongs to if the ETRecord cannot tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from viewer.analysis.links.coverage import coverage_of
from viewer.analysis.links.link_table import REASONS, LinkState, LinkTable
from viewer.analysis.links.match import MATCH_EXPLANATION, UNCHECKABLE, Match, names_compared
from viewer.analysis.links.pairing import Candidate, ColumnMatch
from viewer.gui.panels.base.panel import PanelHost, ScrollPanel
from viewer.gui.qt.accessibility import has_role
from viewer.gui.qt.background import WhenVisible
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.controls import ComboBox, EscapeField, laid_out
from viewer.gui.qt.widgets.labels import ElidedLabel, EmptyPlace, Hairline, explain, label, literal
from viewer.gui.session.choices import (
    choose_method,
    inference_to_link,
    match_automatically,
    pair_files,
    set_identifier_column,
    whole_percent,
)
from viewer.gui.session.session import Session
from viewer.model.text import display_name, listed
from viewer.model.times import format_share, group_digits
from viewer.model.trace import Run, Trace
from viewer.model.trace_attributes import is_of_one_file, of_source
from viewer.view.open_trace import OpenTrace
from viewer.workspace.matches import ChosenBy
from viewer.workspace.user_choices import numbers_text, parse_numbers

UNDECIDED = "Choose its method…"
ALL_RUNS = "all inferences"
_HINT = (
    "The numbers of the inferences to choose the method for, such as 1-3,7. If empty, the method "
    "is chosen for all of them."
)


class MethodChoosers(QWidget):
    """One row per scope: its runs, the numbers of those to choose for, a method, and the match.

    choosers, numbers, notes: by the name of the scope; scopes with one run have no numbers.
    """

    def __init__(
        self, session: Session, table: LinkTable, inferences: Sequence[Run], theme: Theme
    ) -> None:
        super().__init__()
        self._session, self._table, self._theme = session, table, theme
        self._path = table.trace.path
        self.choosers: dict[str, QComboBox] = {}
        self.numbers: dict[str, EscapeField] = {}
        self.notes: dict[str, QLabel] = {}
        self._current: dict[str, int] = {}  # the index of the method that is in force
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(theme.px(12))
        self._grid.setVerticalSpacing(theme.px(4))
        self._grid.setColumnStretch(3, 1)
        # Inferences whose method was chosen have a scope of their own, of the same name.
        by_name: dict[str, list[Run]] = {}
        for run in sorted(inferences, key=lambda run: run.scope):
            by_name.setdefault(table.trace.scopes[run.scope].name, []).append(run)
        for title, runs in by_name.items():
            self._add(title, runs)

    def _add(self, title: str, runs: Sequence[Run]) -> None:
        row, theme, table = 2 * len(self.choosers), self._theme, self._table
        assert table.program is not None
        names = [method.name for method in table.program.methods]
        chooser = ComboBox(theme)
        chooser.setAccessibleName(f"Method of {title}")
        scopes = sorted({run.scope for run in runs})
        methods = {table.method_of_scope(scope) for scope in scopes}
        method = methods.pop() if len(methods) == 1 else None
        if method is None:
            chooser.addItem(UNDECIDED, None)
        for name in names:
            chooser.addItem(name, name)
        chooser.setCurrentIndex(names.index(method) if method in names else 0)
        chooser.activated.connect(partial(self._choose, title, len(runs)))
        self._grid.addWidget(
            label(f"{title} · {table.trace.unit.counted(len(runs))}", theme, "cell"), row, 0
        )
        if len(runs) > 1:
            field = EscapeField()
            field.setAccessibleName(f"Inferences of {title}")
            field.setPlaceholderText(ALL_RUNS)
            field.setMaximumWidth(theme.px(110))
            explain(field, _HINT)
            field.returnPressed.connect(chooser.setFocus)
            self._grid.addWidget(field, row, 1)
            self.numbers[title] = field
        self._grid.addWidget(chooser, row, 2)
        tone = "warning" if method is None else "text2"
        texts = [self._text(scope, runs, len(scopes) > 1) for scope in scopes]
        self._grid.addWidget(label("\n".join(texts), theme, "cell", tone, wrap=True), row, 3)
        note = label("", theme, "cell", "warning", wrap=True)
        note.hide()
        self._grid.addWidget(note, row + 1, 1, 1, 3)
        self.choosers[title], self._current[title] = chooser, chooser.currentIndex()
        self.notes[title] = note

    def _text(self, scope: int, runs: Sequence[Run], has_parts: bool) -> str:
        """Return the match of a scope, or what is undecided; of a part, its runs and method too."""
        trace_match = self._table.trace_match
        assert trace_match is not None
        match, undecided = trace_match.by_scope[scope], trace_match.undecided[scope]
        text = verdict(match) if match else ""
        if undecided:
            text = f"{listed(undecided)} have the same instructions"
        if not has_parts:
            return text
        run_numbers = numbers_text([run.number for run in runs if run.scope == scope])
        method = self._table.method_of_scope(scope)
        return f"{run_numbers}: {method}" if method else f"{run_numbers}: {text}"

    def ask(self, title: str, number: int) -> None:
        """Offer to choose the method of one inference: put its number into the field."""
        if title in self.numbers:
            self.numbers[title].setText(str(number))
        self.choosers[title].setFocus()

    def _choose(self, title: str, most: int, index: int) -> None:
        """Choose the method at an index for the runs in the field, or say why it is impossible."""
        chooser, note = self.choosers[title], self.notes[title]
        text = self.numbers[title].text().strip() if title in self.numbers else ""
        try:
            numbers = parse_numbers(text, most) if text else ()
        except ValueError as error:
            chooser.setCurrentIndex(self._current[title])
            note.setText(str(error))
            note.show()
            return
        if (method := chooser.itemData(index)) is not None:
            choose_method(self._session, self._path, title, method, numbers)


def verdict(match: Match) -> str:
    """Return whether the two files match, in words, and what that is based on."""
    if not match.checkable:
        return UNCHECKABLE
    fits = "matches" if match.belongs else "does not match"
    if match.is_partial:
        fits = "matches only in part"
    return f"{fits} · {names_compared(match)}"


NOTHING = "Open a profile and its ETRecord to see how well they match."
NO_CANDIDATE = "No ETRecord or source is open."
NO_COLUMN = "none: use the file's own links"
BY_CHANCE = "numbers can match by chance"
_WHY = {
    ChosenBy.NOBODY: "choose a column if its values are identifiers of the ETRecord",
    ChosenBy.EVIDENCE: "selected automatically: unambiguous match",
    ChosenBy.MEMORY: "same choice as for earlier profiles of this form",
    ChosenBy.USER: "as you chose",
}
OPENED_BY_ITSELF = "opened automatically, because the profile names it"
# Only the best of many ETRecords; one that matches would be among these.
_MOST_RECORDS = 12
_TONE = {LinkState.LINKED: "ok", LinkState.UNLINKED: "warning", LinkState.NOT_LINKABLE: "text3"}


@has_role(QAccessible.Role.Grouping)
class LinksPanel(ScrollPanel):
    """One section per open profile, rebuilt whenever files or links change."""

    def __init__(self, host: PanelHost) -> None:
        session, theme = host.session, host.theme
        super().__init__(host, "Links")
        session.workspace_changed.connect(self.refresh)
        # The colors of the theme are in the texts.
        self._seen = WhenVisible(self)
        self._seen.due.connect(self.refresh)
        theme.changed.connect(self._seen.request)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show how each profile is linked."""
        if not self._session.traces:
            empty = EmptyPlace(NOTHING, self._theme, "Open…")
            empty.pressed.connect(self.host.open_files)
            self.replace_widget(empty)
            return
        page = QWidget()
        column = QVBoxLayout(page)
        inset = self._theme.px(12)
        column.setContentsMargins(inset, inset, inset, inset)
        column.setSpacing(inset)
        for number, open_trace in enumerate(self._session.traces):
            if number:
                column.addWidget(Hairline(self._theme))
            column.addWidget(Section(self._session, open_trace, self._theme))
        column.addStretch(1)
        focused = _named_focus(self.widget())
        self.replace_widget(page)
        if focused is not None and len(same := _named(page, focused[0])) > focused[1]:
            same[focused[1]].setFocus()  # the next choice is often made in the same place

    def choose_method(self) -> None:
        """Offer to choose the method of the selected inference."""
        if (inference := inference_to_link(self._session)) is not None:
            self.host.show_panel("links")
            self.ask_method(*inference)

    def ask_method(self, trace: int, run: Run) -> None:
        """Offer to choose the method of one inference of a profile."""
        section = self.findChildren(Section)[trace - len(self._session.traces)]
        if section.methods is not None:
            file = self._session.traces[trace].file
            section.methods.ask(file.scopes[run.scope].name, run.number)


def _named_focus(page: QWidget | None) -> tuple[str, int] | None:
    """Return the accessible name of the focused widget in a page, and its place among its like."""
    focused = QApplication.focusWidget()
    if page is None or focused is None or not page.isAncestorOf(focused):
        return None
    name = focused.accessibleName()
    return (name, _named(page, name).index(focused)) if name else None


def _named(page: QWidget, name: str) -> list[QWidget]:
    return [widget for widget in page.findChildren(QWidget) if widget.accessibleName() == name]


def own_export_text(trace: Trace) -> str:
    """Explain why an export of Opscope is not linked to an ETRecord; "" for any other file."""
    stated = trace.provenance
    if not stated:
        return ""
    carries = (
        "already includes the links of its slices, in the arguments “operator” and “debug_handles”"
        if "operator" in trace.slices.columns
        else "was made without the links of its slices"
    )
    source_file = of_source(stated).get("file")
    which = (
        f"the original file, {source_file},"
        if is_of_one_file(stated) and source_file
        else "the original files"
    )
    return (
        f"This trace is an export of Opscope and {carries}. To link it again, open {which} with "
        f"the ETRecord."
    )


class Section(QWidget):
    """How one profile is linked: candidate ETRecords, column of identifiers, methods, reasons."""

    def __init__(self, session: Session, open_trace: OpenTrace, theme: Theme) -> None:
        super().__init__()
        self._session, self._shown, self._theme = session, open_trace, theme
        self._path = open_trace.trace.path
        self.records: list[QRadioButton] = []
        self.methods: MethodChoosers | None = None  # if the program has several methods
        self.columns: QComboBox | None = None  # if a column matches or was chosen
        self._column = laid_out(QVBoxLayout(self), gap=theme.px(8), margins=(0, 0, 0, 0))
        self._head()
        candidates = session.workspace.candidates(open_trace.file)
        if candidates:
            self._records(candidates)
        else:
            self._column.addWidget(label(NO_CANDIDATE, theme, "cell", "text2", wrap=True))
        if export_text := own_export_text(open_trace.file):
            self._column.addWidget(label(export_text, theme, "cell", "text2", wrap=True))
        self._column_chooser()
        self._method_choosers(open_trace.table)
        self._reasons()

    def _head(self) -> None:
        row = QHBoxLayout()
        row.addWidget(ElidedLabel(display_name(self._path), self._theme, "operator"), 1)
        if self._session.workspace.is_explicit(self._shown.file):
            undo = QPushButton("Match automatically")
            undo.setToolTip("Discard your choices for this profile")
            undo.clicked.connect(partial(match_automatically, self._session, self._path))
            row.addWidget(undo)
        self._column.addLayout(row)

    def _records(self, candidates: list[Candidate]) -> None:
        theme, table = self._theme, self._shown.table
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme.px(12))
        grid.setVerticalSpacing(theme.px(4))
        grid.setColumnStretch(0, 1)
        group = QButtonGroup(self)
        for row, candidate in enumerate(candidates[:_MOST_RECORDS]):
            match = candidate.trace_match.match
            choice = QRadioButton(literal(display_name(candidate.program.path)))
            explain(choice, candidate.program.path)
            choice.setChecked(table.program is candidate.program)
            choice.clicked.connect(partial(self._pair, candidate.program.path))
            grid.addWidget(choice, row, 0)
            value = label(_value(match), theme, "cell", _tone(match))
            explain(value, MATCH_EXPLANATION)
            grid.addWidget(value, row, 1)
            text = verdict(match)
            if self._session.workspace.files[candidate.program.path].found_for is not None:
                text += f" · {OPENED_BY_ITSELF}"
            verdict_label = label(text, theme, "cell", "text2")
            explain(verdict_label, MATCH_EXPLANATION)
            grid.addWidget(verdict_label, row, 2)
            group.addButton(choice)
            self.records.append(choice)
        row = len(self.records)
        if (ran := self._session.workspace.what_ran(self._shown.file)) is not None:
            text = f"Matched by the program {display_name(ran.path)}"
            self._column.addWidget(label(text, theme, "cell", "text2", wrap=True))
        if len(candidates) > row:
            more = f"and {group_digits(len(candidates) - row)} more with a lower match"
            grid.addWidget(label(more, theme, "cell", "text3"), row, 0)
            row += 1
        no_record = QRadioButton("No ETRecord")
        no_record.setChecked(table.program_path is None)
        no_record.clicked.connect(partial(self._pair, None))
        group.addButton(no_record)
        self.records.append(no_record)
        grid.addWidget(no_record, row, 0)
        self._column.addLayout(grid)

    def _column_chooser(self) -> None:
        """Add a selector for the column of identifiers, if a column matches or was chosen."""
        space, theme = self._session.workspace, self._theme
        candidates = space.identifiers.candidates(
            self._shown.file, space.links(self._shown.file).program
        )
        matches = {match.column: match for _, match in candidates}
        chosen = space.identifiers.column(self._shown.file)
        if not matches and chosen.column is None:
            return
        several = len({program.path for program, _ in candidates}) > 1
        self.columns = columns = _wide_chooser("Column of identifiers", theme)
        columns.addItem(NO_COLUMN, None)
        for program, match in candidates:
            where = display_name(program.path) if several else "the map"
            columns.addItem(_match_text(match, where), match.column)
        if chosen.column is not None and chosen.column not in matches:
            text = f"{chosen.column} · not in the map of any open ETRecord"
            columns.addItem(text, chosen.column)
        columns.setCurrentIndex(columns.findData(chosen.column))
        explain(columns, columns.currentText())
        columns.activated.connect(self._identify)
        row = QHBoxLayout()
        row.setSpacing(theme.px(12))
        row.addWidget(label("Identifiers", theme, "cell"))
        row.addWidget(columns, 1)
        self._column.addLayout(row)
        by_chance = chosen.column in matches and not matches[chosen.column].words
        note = f"{_WHY[chosen.by]} · {BY_CHANCE}" if by_chance else _WHY[chosen.by]
        tone = "warning" if by_chance else "text2"
        self._column.addWidget(label(note, theme, "cell", tone, wrap=True))

    def _method_choosers(self, table: LinkTable) -> None:
        """Add a row per scope of inferences, if the ETRecord has several methods.

        An MLIR text has functions instead, and locations state their function.
        """
        if table.program is None or table.trace_match is None or table.program.text_lines:
            return
        if len(table.program.methods) < 2:
            return
        inferences = list(self._shown.file.inferences())
        self.methods = MethodChoosers(self._session, table, inferences, self._theme)
        self._column.addWidget(self.methods)

    def _reasons(self) -> None:
        theme = self._theme
        facts = coverage_of(self._session.workspace.links(self._shown.file))
        if facts["linkable"]:
            linked, linkable = group_digits(facts["linked"]), group_digits(facts["linkable"])
            share = format_share(facts["linked"], facts["linkable"])
            text = f"Linked: {linked} of {linkable} slices ({share})"
            if facts["covered_time"] is not None:  # first, as in the toolbar
                time = whole_percent(facts["covered_time"])
                text = f"Linked: {time} of time, {linked} of {linkable} slices ({share})"
            self._column.addWidget(label(text, theme, "cell", wrap=True))
        grid = QGridLayout()
        grid.setHorizontalSpacing(theme.px(8))
        grid.setVerticalSpacing(theme.px(3))
        grid.setColumnStretch(2, 1)
        counts = sorted(facts["by_reason"].items(), key=lambda item: -item[1])
        for row, (text, count) in enumerate(counts):
            reason = REASONS[text]
            tone = _TONE[reason.state]
            right = Qt.AlignmentFlag.AlignRight
            grid.addWidget(label(group_digits(count), theme, "cell"), row, 0, right)
            grid.addWidget(label("●", theme, "caption", tone), row, 1)
            why = label(reason.listed_text, theme, "cell", "text2", wrap=True)
            grid.addWidget(why, row, 2)
        self._column.addLayout(grid)

    def _pair(self, program_path: str | None, checked: bool = True) -> None:
        pair_files(self._session, self._path, program_path)

    def _identify(self, index: int) -> None:
        if self.columns is not None:
            set_identifier_column(self._session, self._path, self.columns.itemData(index))


def _wide_chooser(name: str, theme: Theme) -> QComboBox:
    """Return a combo box for long texts that shrinks in a narrow panel."""
    chooser = ComboBox(theme)
    chooser.setAccessibleName(name)
    chooser.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    chooser.setMinimumContentsLength(20)
    return chooser


def _match_text(match: ColumnMatch, where: str) -> str:
    """Return "column event · 6 of 6 in the map · 98 % of slices"."""
    share = format_share(match.of_slices, 1)
    matched, values = group_digits(match.known), group_digits(match.values)
    return f"column {match.column} · {matched} of {values} in {where} · {share} of slices"


def _value(match: Match) -> str:
    return f"{match.value:.2f}" if match.checkable else "–"


def _tone(match: Match) -> str:
    if not match.checkable:
        return "text3"
    return "ok" if match.belongs and not match.is_partial else "warning"
