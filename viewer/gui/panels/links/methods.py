"""The choosers of methods: per scope, for all its inferences or for those with some numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QWidget

from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.match import UNCHECKABLE, Match, names_compared
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.combo_box import ComboBox
from viewer.gui.qt.widgets.escape_field import EscapeField
from viewer.gui.qt.widgets.labels import explain, label
from viewer.gui.session.linking import choose_method
from viewer.gui.session.session import Session
from viewer.model.text import listed
from viewer.model.trace import Run
from viewer.workspace.inference_methods import numbers_text, parse_numbers

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
        method = chooser.itemData(index)
        if method is not None:
            choose_method(self._session, self._path, title, method, numbers)


def verdict(match: Match) -> str:
    """Return whether the two files match, in words, and what that is based on."""
    if not match.checkable:
        return UNCHECKABLE
    fits = "matches" if match.belongs else "does not match"
    if match.is_partial:
        fits = "matches only in part"
    return f"{fits} · {names_compared(match)}"
