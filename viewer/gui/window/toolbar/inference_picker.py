"""The inference picker of the toolbar: a button of fixed width, and a list that pops up below."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QCheckBox,
    QFrame,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.panels.base.file_caption import (
    InferenceList,
    InferenceModel,
    InferenceRow,
    inference_rows,
)
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.labels import Hairline, label
from viewer.gui.session.comparison import compare_inferences
from viewer.gui.session.navigation import choose_phase, include_warm_up, pick_run, run_trace
from viewer.gui.session.session import Session
from viewer.gui.window.toolbar.first_toolbar import NO_INFERENCES, PickerButton
from viewer.model.figures import EVERY_PHASE, TimeScope
from viewer.model.inference_views import Inferences, has_run_views
from viewer.model.text import visible_controls
from viewer.model.trace_attributes import INFERENCE, WorkUnit
from viewer.view.open_trace import OpenTrace

COMPARE_HINT = "Ctrl+click compares with the picked inference"
INCLUDE_WARM_UP = "Include warm-up in figures"
ENTRIES = {
    Inferences.AS_RUN: "All inferences",
    Inferences.ALIGNED: "All inferences, aligned",
    Inferences.TYPICAL: "Typical inference",
    Inferences.MEAN: "Mean without warm-up",
}
_MOST_PHASES = 6
_MOST_SHOWN = 14  # rows without scrolling
_POPUP_WIDTH = 300
_EDGE = 10
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class InferencePicker(PickerButton):
    """Shows the inference that figures are about; a click, Enter or Down opens the list."""

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__(theme)
        self._session = session
        self._of: OpenTrace | None = None  # the trace whose inferences are listed
        self.popup = InferencePopup(theme, self)
        self.popup.list.picked.connect(self._pick)
        self.popup.list.compare_requested.connect(self._compare)
        self.popup.chosen.connect(self._show)
        self.popup.warm_up.clicked.connect(self._include_warm_up)
        self.popup.phase_chosen.connect(self._choose_phase)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.clicked.connect(self.show_list)
        self.follow()

    @property
    def rows(self) -> tuple[InferenceRow, ...]:
        """The inferences that are offered."""
        return self.popup.model.rows

    @Slot()
    def follow(self) -> None:
        """Offer the inferences of the current trace, and show which is picked."""
        session, model = self._session, self.popup.model
        number = run_trace(session)
        open_trace = None if number is None else session.traces[number]
        if open_trace is not self._of or open_trace is None:
            self._of = open_trace
            table = None if open_trace is None else session.workspace.links(open_trace.file)
            model.show(
                ()
                if open_trace is None or table is None
                else inference_rows(open_trace.file, table, open_trace.axis.ns_per_tick)
            )
            has_views = open_trace is not None and has_run_views(open_trace.file)
            self.popup.offer(tuple(Inferences) if has_views else (Inferences.AS_RUN,))
        picked = session.state.run
        run = picked[1] if picked is not None and picked[0] == number else -1
        model.make_current(run)
        view = None if run >= 0 else session.state.inferences
        self.popup.check(view, warm_up=session.state.warm_up)
        whole = TimeScope(warm_up=session.state.warm_up, phase=session.state.phase)
        phases = () if open_trace is None else open_trace.phases_of(whole)
        self.popup.offer_phases(phases[:_MOST_PHASES], session.state.phase)
        self.popup.offer_comparison(can_compare=run >= 0 and len(model.rows) > 1)
        unit = INFERENCE if open_trace is None else open_trace.file.unit
        self.popup.name(unit)
        row = next((row for row in model.rows if row.run == run), None)
        if not model.rows:
            text = NO_INFERENCES
        else:
            text = unit.worded(ENTRIES[session.state.inferences]) if row is None else row.text
        self.setEnabled(bool(model.rows))
        self.setToolTip("" if model.rows else "No open file marks inferences or steps")
        self.setText(text)
        self.setAccessibleName(f"{unit.title}: {text.replace(' · ', ', ')}")

    @Slot()
    def show_list(self) -> None:
        """Open the list below the button, at the picked inference."""
        self.popup.open_below(self)

    @Slot(int)
    def _pick(self, run: int) -> None:
        self.popup.hide()
        if (number := run_trace(self._session)) is not None:
            pick_run(self._session, (number, run))

    @Slot(int)
    def _compare(self, run: int) -> None:
        """Compare the picked inference with another one of the same profile."""
        picked, number = self._session.state.run, run_trace(self._session)
        if number is None or picked is None or picked[0] != number or picked[1] == run:
            return
        self.popup.hide()
        file = self._session.traces[number].file
        compare_inferences(self._session, file, file.runs[picked[1]], (file.runs[run],))

    @Slot(object)
    def _show(self, view: Inferences) -> None:
        self.popup.hide()
        if view is Inferences.AS_RUN:
            pick_run(self._session, None)
        else:
            self._session.show_inferences(view)

    @Slot(bool)
    def _include_warm_up(self, included: bool) -> None:
        include_warm_up(self._session, included=included)

    @Slot(str)
    def _choose_phase(self, phase: str) -> None:
        self.popup.hide()
        choose_phase(self._session, phase)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Down, *_ENTER):
            self.show_list()
        else:
            super().keyPressEvent(event)


class InferencePopup(QFrame):
    """The list, the views of all inferences, and a check box for the warm-up.

    `chosen(Inferences)`: a view was chosen; `phase_chosen(name)`: a phase for figures. Up and Down
    go through all of it, Esc closes it.
    """

    chosen = Signal(object)
    phase_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self._theme = theme
        self.setObjectName("inferences")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAccessibleName("Inferences")
        self.model = InferenceModel(self)
        self.list = InferenceList(self.model, theme)
        self.entries = {view: QRadioButton(text) for view, text in ENTRIES.items()}
        self.warm_up = QCheckBox(INCLUDE_WARM_UP)
        column = QVBoxLayout(self)
        column.setContentsMargins(1, theme.px(4), 1, theme.px(6))
        column.setSpacing(0)
        column.addWidget(self.list)
        self._hint = label(COMPARE_HINT, theme, "caption", "text2")
        self._hint.setContentsMargins(theme.px(10), theme.px(2), theme.px(10), theme.px(4))
        column.addWidget(self._hint)
        column.addWidget(Hairline(theme))
        for view, entry in self.entries.items():
            entry.setAutoExclusive(False)
            entry.clicked.connect(partial(self.chosen.emit, view))
        self.phases = [QRadioButton() for _ in range(_MOST_PHASES + 1)]
        for entry in self.phases:
            entry.setAutoExclusive(False)
            entry.clicked.connect(partial(self._choose_phase, entry))
            entry.hide()
        below: tuple[QAbstractButton, ...] = (
            *self.entries.values(), *self.phases, self.warm_up,
        )  # fmt: skip
        self._below = below
        edge = theme.px(8)
        for button in below:
            button.setContentsMargins(edge, 0, edge, 0)
            button.setMinimumHeight(theme.px(26))
            button.setStyleSheet(f"padding-left: {edge}px")
            column.addWidget(button)
        for widget in (self.list, *below):
            widget.installEventFilter(self)

    def name(self, unit: WorkUnit) -> None:
        """Use the noun of the trace in all texts."""
        self.setAccessibleName(unit.plural.capitalize())
        self.list.setAccessibleName(unit.plural.capitalize())
        self._hint.setText(unit.worded(COMPARE_HINT))
        for view, entry in self.entries.items():
            entry.setText(unit.worded(ENTRIES[view]))

    def offer(self, views: Sequence[Inferences]) -> None:
        """Show only some of the views of all inferences."""
        for view, entry in self.entries.items():
            entry.setVisible(view in views)

    def offer_comparison(self, *, can_compare: bool) -> None:
        """Say how to compare two inferences, if one is picked and there are others."""
        self._hint.setVisible(can_compare)

    def offer_phases(self, phases: Sequence[str], chosen: str) -> None:
        """Offer the methods and phases that figures can be of, and all of them; () for none."""
        names = (*phases, EVERY_PHASE) if phases else ()
        current = chosen if chosen in names else next(iter(names), "")
        for place, entry in enumerate(self.phases):
            entry.setVisible(place < len(names))
            if place < len(names):
                name = names[place]
                text = "all, added up" if name == EVERY_PHASE else visible_controls(name)
                entry.setText(f"Figures of {text}")
                entry.setProperty("phase", name)
                entry.setChecked(name == current)

    def _choose_phase(self, entry: QRadioButton) -> None:
        self.phase_chosen.emit(entry.property("phase"))

    def check(self, view: Inferences | None, *, warm_up: bool) -> None:
        """Mark the view that is shown, None for a picked inference."""
        for inferences, entry in self.entries.items():
            entry.setChecked(inferences is view)
        self.warm_up.setChecked(warm_up)

    def open_below(self, button: QWidget) -> None:
        """Open below a button, inside its screen, with the picked inference in view."""
        rows = min(len(self.model.rows), _MOST_SHOWN)
        self.list.setFixedHeight(self.list.height_of(rows))
        self.list.setVisible(rows > 0)
        width = max(self._theme.px(_POPUP_WIDTH), self.list.sizeHintForColumn(0), button.width())
        self.setFixedWidth(width)
        self.adjustSize()
        corner = button.mapToGlobal(QPoint(0, button.height() + 2))
        screen = button.screen().availableGeometry()
        corner.setX(max(min(corner.x(), screen.right() - width), screen.left()))
        corner.setY(max(min(corner.y(), screen.bottom() - self.height()), screen.top()))
        self.move(corner)
        self.show()
        self.list.go_to(self.model.current)
        self.list.setFocus(Qt.FocusReason.PopupFocusReason)

    @guard(False)
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let Up and Down leave the list for the buttons, and Enter press a button."""
        if event.type() != QEvent.Type.KeyPress or not isinstance(event, QKeyEvent):
            return False
        key = event.key()
        if watched is self.list:
            is_last = self.list.currentIndex().row() == len(self.model.rows) - 1
            if key == Qt.Key.Key_Down and is_last:
                return self._focus(0)
            return False
        buttons = self._visible_buttons()
        index = next((i for i, button in enumerate(buttons) if button is watched), -1)
        if index < 0:
            return False
        if key in _ENTER:
            buttons[index].click()
            return True
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            return self._focus(index + (1 if key == Qt.Key.Key_Down else -1))
        return False

    def _visible_buttons(self) -> list[QAbstractButton]:
        return [button for button in self._below if not button.isHidden()]

    def _focus(self, number: int) -> bool:
        """Focus one of the buttons, the list above the first; nothing below the last."""
        buttons = self._visible_buttons()
        widget = self.list if number < 0 else buttons[min(number, len(buttons) - 1)]
        widget.setFocus(Qt.FocusReason.OtherFocusReason)
        return True
