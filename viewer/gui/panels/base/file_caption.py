"""The caption of a panel: what its figures are of, and a menu of other files and inferences."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Slot
from PySide6.QtGui import QAccessible, QActionGroup, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu

from viewer.gui.panels.base.inference_list import inference_rows
from viewer.gui.panels.base.panel_host import PanelHost
from viewer.gui.qt.accessibility import claims_key, has_role
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.widgets.labels import ElidedLabel, literal, tip
from viewer.gui.session.inferences import pick_run
from viewer.gui.session.navigation import show_file
from viewer.model.text import display_name, distinct_names
from viewer.model.times import counted

ALL_INFERENCES = "All inferences"
OTHERS = "Other profiles"
MOST_INFERENCES = 20
_CHEVRON, _GAP = 12, 4
_OPENS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_Down)


@has_role(QAccessible.Role.ButtonMenu)
class FileCaption(ElidedLabel):
    """The text at the right of the line above a page; with something to choose, also a button.

    names_file: its text is the name of the current file, if several are open.
    """

    def __init__(self, host: PanelHost, *, names_file: bool = False) -> None:
        super().__init__("", host.theme, "caption", "text2")
        self._host, self._session = host, host.session
        self._theme, self._names_file = host.theme, names_file
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._session.workspace_changed.connect(self._offer)
        self._session.run_picked.connect(self._offer)
        self._offer()

    @property
    def has_choice(self) -> bool:
        """Whether there are several files, or several inferences of the current one."""
        number = self._session.current_trace
        if number is None:
            return False
        runs = self._session.traces[number].file.inferences()
        return len(self._session.traces) > 1 or sum(1 for _ in runs) > 1

    @Slot()
    def _offer(self) -> None:
        """Be a button while there is something to choose."""
        has_choice = self.has_choice
        traces, number = self._session.traces, self._session.current_trace
        if self._names_file:
            is_named = len(traces) > 1 and number is not None
            self.setText(display_name(traces[number or 0].file.path) if is_named else "")
            self.setVisible(is_named)
        room = self._theme.px(_CHEVRON + _GAP) if has_choice else 0
        self.setContentsMargins(0, 0, room, 0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if has_choice else Qt.FocusPolicy.NoFocus)
        self.setCursor(
            Qt.CursorShape.PointingHandCursor if has_choice else Qt.CursorShape.ArrowCursor
        )
        self.update()

    @property
    def texts(self) -> tuple[str, ...]:
        """Of several files, the name of the current one matters most where there is no room."""
        number, traces = self._session.current_trace, self._session.traces
        is_of_both = self._session.state.compared is not None  # the arms of a comparison
        if not self.text() or number is None or len(traces) < 2 or is_of_both:
            return super().texts
        return *super().texts, display_name(traces[number].file.path)

    def accessible_value(self) -> str:
        """What the figures are of."""
        return self.text()

    def menu(self) -> QMenu:
        """Return a menu of the open files, and of the inferences of the current one."""
        menu, session = QMenu(self), self._session
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        number = session.current_trace
        if number is None:
            return menu
        self._list_files(menu, number)
        self._list_inferences(menu, number)
        return menu

    def _list_files(self, menu: QMenu, number: int) -> None:
        from viewer.workspace.session_sets import session_sets, set_with

        traces = self._session.traces
        if len(traces) < 2:
            return
        group = QActionGroup(menu)
        names = distinct_names([open_trace.file.path for open_trace in traces])
        compared = self._session.state.compared
        arms = () if compared is None else (compared.a.paths, compared.b.paths)
        sets = session_sets(self._session.workspace, arms)
        rows = [(set_with(sets, open_trace.file), i) for i, open_trace in enumerate(traces)]
        # Sessions of one program stay together, below what they are.
        for sessions in dict.fromkeys(of_program for of_program, _ in rows):
            if sets:
                title = literal(OTHERS if sessions is None else sessions.text)
                menu.addAction(title).setEnabled(False)
            for place in (place for of_program, place in rows if of_program is sessions):
                action = menu.addAction(literal(names[place]))
                action.setCheckable(True)
                action.setChecked(place == number)
                action.setToolTip(tip(traces[place].file.path))
                action.triggered.connect(partial(self._show_file, place))
                group.addAction(action)
        menu.addSeparator()

    def _list_inferences(self, menu: QMenu, number: int) -> None:
        session = self._session
        open_trace = session.traces[number]
        table = session.workspace.links(open_trace.file)
        rows = inference_rows(open_trace.file, table, open_trace.axis.ns_per_tick)
        if len(rows) < 2:
            return
        picked = session.state.run
        run = picked[1] if picked is not None and picked[0] == number else -1
        group = QActionGroup(menu)
        for place, text in ((-1, ALL_INFERENCES), *((row.run, row.text) for row in rows)):
            if len(group.actions()) > MOST_INFERENCES:
                text = f"{counted(len(rows) - MOST_INFERENCES, 'more inference')}…"
                menu.addAction(text).triggered.connect(self._host.show_inferences)
                return
            action = menu.addAction(literal(text))
            action.setCheckable(True)
            action.setChecked(place == run)
            action.triggered.connect(partial(self._pick, (number, place)))
            group.addAction(action)

    def _show_file(self, number: int, checked: bool = False) -> None:
        show_file(self._session, number)

    def _pick(self, run: tuple[int, int], checked: bool = False) -> None:
        pick_run(self._session, None if run[1] < 0 else run)

    def open_menu(self) -> None:
        """Open the menu below the text."""
        menu = self.menu()
        if menu.isEmpty():
            menu.deleteLater()
            return
        corner = self.mapToGlobal(QPoint(self.width(), self.height()))
        menu.popup(corner - QPoint(menu.sizeHint().width(), 0))

    @guard(False)
    def event(self, event: QEvent) -> bool:
        return claims_key(event, self._opens) or bool(super().event(event))

    def _opens(self, event: QKeyEvent) -> bool:
        return self.has_choice and event.key() in _OPENS

    @guard
    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.has_choice and event.button() is Qt.MouseButton.LeftButton:
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            self.open_menu()
        else:
            super().mousePressEvent(event)

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._opens(event):
            self.open_menu()
        else:
            super().keyPressEvent(event)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.contentsMargins().right():
            return
        painter, side = QPainter(self), self._theme.px(_CHEVRON)
        place = QRect(self.width() - side, (self.height() - side) // 2, side, side)
        self._theme.icon("chevron-down").paint(painter, place)
        if self.hasFocus():
            painter.setPen(self._theme.color("accent"))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        painter.end()
