"""Small controls: a combo box, a text field with Escape, joined buttons, and a row that wraps."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Generic, TypeAlias, TypeVar

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QRect,
    QSignalBlocker,
    QSize,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QIcon, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QBoxLayout,
    QButtonGroup,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLayout,
    QLayoutItem,
    QLineEdit,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QWidget,
)

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import ICON_SIZE, Theme
from viewer.model.text import visible_controls


class ComboBox(QComboBox):
    """A combo box; Qt's own rows ignore the style sheet, and do not show which is chosen."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setItemDelegate(_Rows(self, theme))

    @guard
    def addItem(self, text: str, userData: object = None) -> None:  # type: ignore[override]
        """Add a row, with control characters of its text as escapes."""
        super().addItem(visible_controls(text), userData)

    def offer(self, texts: Iterable[str], current: int) -> None:
        """Replace the rows without signals. current: the one to show, -1 for the first."""
        with QSignalBlocker(self):
            self.clear()
            for text in texts:
                self.addItem(text)
            if current >= 0:
                self.setCurrentIndex(current)

    @guard
    def showPopup(self) -> None:
        rows = self.view()
        # A row is wider than the box by the room for its check.
        around = rows.frameWidth() + self._theme.px(10)
        rows.setMinimumWidth(max(self.width(), rows.sizeHintForColumn(0) + 2 * around))
        super().showPopup()


class _Rows(QStyledItemDelegate):
    def __init__(self, box: QComboBox, theme: Theme) -> None:
        super().__init__(box)
        self._box = box
        self._theme = theme

    @guard
    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        # The selected row is the one below the pointer: the list has no hover of its own.
        option.state &= ~(QStyle.StateFlag.State_HasFocus | QStyle.StateFlag.State_MouseOver)
        super().paint(painter, option, index)
        if index.row() == self._box.currentIndex():
            room = option.rect.adjusted(self._theme.px(6), 0, 0, 0)
            side = self._theme.px(ICON_SIZE)
            room.setWidth(side)
            check: QIcon = self._theme.icon("check", "accent")
            check.paint(painter, room, Qt.AlignmentFlag.AlignCenter)


class EscapeField(QLineEdit):
    """A text field that gets Escape in its `keyPressEvent`."""

    @property
    def takes_escape(self) -> bool:
        """Whether the field handles Escape now; otherwise it is a command of the window."""
        return True

    def show_clear_button(self) -> None:
        """Add a button that clears the field, named for screen readers."""
        self.setClearButtonEnabled(True)
        for button in self.findChildren(QToolButton):
            button.setAccessibleName("Clear")

    @guard(False)
    def event(self, event: QEvent) -> bool:
        """Keep Escape from triggering a command if the field takes it."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
            and self.takes_escape
        ):
            event.accept()
            return True
        return bool(super().event(event))


Choice = TypeVar("Choice", bound=Hashable)


def tool_button(text: str, tip: str, name: str = "") -> QToolButton:
    """Return a button. name: for screen readers, if it is not the text."""
    button = QToolButton()
    button.setText(text)
    button.setToolTip(tip)
    button.setAccessibleName(name or text)
    return button


class SegmentBar(QFrame, Generic[Choice]):
    """The buttons; `picked(choice)`. tips: by choice. titles: by default the values of an enum."""

    picked = Signal(object)

    def __init__(
        self, name: str, tips: Mapping[Choice, str], titles: Mapping[Choice, str] | None = None
    ) -> None:
        super().__init__()
        self.setProperty("segmented", True)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._choices = tuple(tips)
        self._group = QButtonGroup(self)
        self.buttons: dict[Choice, QToolButton] = {}
        row = laid_out(QHBoxLayout(self), gap=0, margins=(0, 0, 0, 0))
        for number, (choice, tip) in enumerate(tips.items()):
            title = choice.value if isinstance(choice, Enum) else choice
            button = tool_button(str(title) if titles is None else titles[choice], tip)
            button.setCheckable(True)
            self._group.addButton(button, number)
            self.buttons[choice] = button
            row.addWidget(button)
        self._group.idClicked.connect(self._pick)

    def press(self, choice: Choice) -> None:
        """Show a choice as pressed."""
        self.buttons[choice].setChecked(True)

    @Slot(int)
    def _pick(self, number: int) -> None:
        self.picked.emit(self._choices[number])


_Placed: TypeAlias = tuple[QLayoutItem, int]  # and its stretch
Part: TypeAlias = QWidget | QLayout
Item: TypeAlias = Part | tuple[Part, int] | int  # with its stretch, or a stretch alone
Layout = TypeVar("Layout", bound=QBoxLayout)


def laid_out(
    layout: Layout,
    *items: Item,
    gap: int | None = None,
    margins: tuple[int, int, int, int] | None = None,
) -> Layout:
    """Add widgets, layouts and stretches to a layout, and return it. gap, margins: in px."""
    if gap is not None:
        layout.setSpacing(gap)
    if margins is not None:
        layout.setContentsMargins(*margins)
    for item in items:
        if isinstance(item, int):
            layout.addStretch(item)
            continue
        part, stretch = item if isinstance(item, tuple) else (item, 0)
        if isinstance(part, QLayout):
            layout.addLayout(part, stretch)
        else:
            layout.addWidget(part, stretch)
    return layout


class WrappingRow(QHBoxLayout):
    """A horizontal layout; with less room than its items need at least, it has several lines.

    Items keep their order. In each line, those with a stretch share what the others leave.
    """

    @guard(QSize(0, 0))
    def minimumSize(self) -> QSize:
        """Return the size with one item in each line."""
        margins = self.contentsMargins()
        widths = (item.minimumSize().width() for line in self._lines(0) for item, _ in line)
        wide = max(widths, default=0) + margins.left() + margins.right()
        return QSize(wide, super().minimumSize().height())

    @guard(False)
    def hasHeightForWidth(self) -> bool:
        return True

    @guard(0)
    def heightForWidth(self, width: int) -> int:
        margins = self.contentsMargins()
        lines = self._lines(width)
        if len(lines) < 2:
            return self.sizeHint().height()
        gaps = self._gap() * (len(lines) - 1)
        return margins.top() + margins.bottom() + gaps + sum(map(_height, lines))

    @guard(0)
    def minimumHeightForWidth(self, width: int) -> int:
        """Return the same: no line may be cut."""
        return self.heightForWidth(width)

    @guard
    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        lines = self._lines(rect.width())
        if len(lines) < 2:
            return
        room = rect.marginsRemoved(self.contentsMargins())
        top = room.top()
        for line in lines:
            height = _height(line)
            self._place(line, QRect(room.left(), top, room.width(), height))
            top += height + self._gap()

    def _gap(self) -> int:
        return self.spacing() // 2

    def _lines(self, width: int) -> list[list[_Placed]]:
        """Return the items of each line in a width, without hidden ones."""
        margins = self.contentsMargins()
        width -= margins.left() + margins.right()
        lines: list[list[_Placed]] = []
        used = 0
        for index in range(self.count()):
            item = self.itemAt(index)
            if item is None or item.isEmpty():
                continue
            least = item.minimumSize().width()
            if lines and used + self.spacing() + least <= width:
                lines[-1].append((item, self.stretch(index)))
                used += self.spacing() + least
            else:
                lines.append([(item, self.stretch(index))])
                used = least
        return lines

    def _place(self, line: Sequence[_Placed], room: QRect) -> None:
        widths = [item.minimumSize().width() for item, _ in line]
        rest = max(room.width() - sum(widths) - self.spacing() * (len(line) - 1), 0)
        for i, (item, stretch) in enumerate(line):
            if not stretch:
                more = min(max(item.sizeHint().width() - widths[i], 0), rest)
                widths[i] += more
                rest -= more
        stretches = max(sum(stretch for _, stretch in line), 1)
        left = room.left()
        for width, (item, stretch) in zip(widths, line, strict=True):
            wide = min(width + rest * stretch // stretches, room.width())
            item.setGeometry(QRect(left, room.top(), wide, room.height()))
            left += wide + self.spacing()


def _height(line: Sequence[_Placed]) -> int:
    return max(item.sizeHint().height() for item, _ in line)
