"""The toolbar of the first frame, before the session exists, and looks that the real one shares.

It has the same controls in the same places, so that nothing moves or appears when the real toolbar
replaces it. Only *Open* does something before. Nothing imported here may need numpy.
"""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAction, QFontMetricsF, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QSizePolicy,
    QStyle,
    QStyleOptionToolButton,
    QStylePainter,
    QToolBar,
    QToolButton,
    QWidget,
)

from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import ICON_SIZE, Theme
from viewer.gui.qt.widgets.controls import ComboBox, EscapeField
from viewer.gui.qt.widgets.labels import elided_text

OPEN_WIDTH = 66  # px, of the content of the button
NARROW = 1200  # px of the toolbar, below which the inference picker is narrow
LINK_STATE_WIDTH = 258  # px of its short text, "100 % of time linked · match 1.00"
PLACEHOLDER = "Search name, op:conv, dur > 1ms …"
LEAST_WIDTH, USUAL_WIDTH, WIDTH = 100, 260, 420  # px of the search field
PICKER_WIDTH, NARROW_PICKER_WIDTH = 232, 156
NO_INFERENCES = "No inferences"
# The titles of `viewer.render.color_schemes.SCHEMES`, which the box is as wide as.
SCHEME_TITLES = (
    "Operator", "Name", "Operator type", "Module", "Delegate", "Duration", "Error", "Link state",
)  # fmt: skip
_EDGE = 10


class SearchBox(EscapeField):
    """The look of the search field: an icon, a hint, and a width that gives way to others."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._wished = theme.px(USUAL_WIDTH)
        self.setPlaceholderText(PLACEHOLDER)
        self.setAccessibleName("Search slices")
        self.setMinimumWidth(theme.px(LEAST_WIDTH))
        self.setMaximumWidth(theme.px(WIDTH))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._icon = QAction(self)
        self._icon.setText("Search")  # for a screen reader: the button has no other name
        self._icon.setIcon(theme.icon("search"))
        self.addAction(self._icon, QLineEdit.ActionPosition.LeadingPosition)

    @guard(QSize(USUAL_WIDTH, 28))
    def sizeHint(self) -> QSize:
        """Wide enough for a query of a few words, unless space is limited."""
        return QSize(self._wished, super().sizeHint().height())

    def take_usual_width(self) -> None:
        """Request enough width for a query of a few words."""
        self._wished = self._theme.px(USUAL_WIDTH)
        self.updateGeometry()

    def shorten_by(self, px: int) -> None:
        """Request `px` less width, but not less than `LEAST_WIDTH`."""
        if px > 0:
            self._wished = max(self._wished - px, self._theme.px(LEAST_WIDTH))
            self.updateGeometry()


class PickerButton(QToolButton):
    """The look of the inference picker: a text, and a chevron at the right."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._width = theme, PICKER_WIDTH
        self.setProperty("framed", True)
        self.setFixedWidth(theme.px(PICKER_WIDTH))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def be_narrow(self, narrow: bool) -> None:
        """Take the width for a narrow window, or the usual one."""
        self._width = NARROW_PICKER_WIDTH if narrow else PICKER_WIDTH
        self.setFixedWidth(self._theme.px(self._width))

    @guard(QSize())
    def sizeHint(self) -> QSize:
        return QSize(self._theme.px(self._width), super().sizeHint().height())

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the frame, the text from the left, and a chevron at the right."""
        theme, painter, option = self._theme, QStylePainter(self), QStyleOptionToolButton()
        self.initStyleOption(option)
        text, option.text = self.text(), ""
        painter.drawComplexControl(QStyle.ComplexControl.CC_ToolButton, option)
        edge = theme.px(_EDGE)
        chevron = QRect(0, 0, ICON_SIZE, ICON_SIZE)
        chevron.moveCenter(self.rect().center())
        chevron.moveRight(self.width() - edge)
        theme.icon("chevron-down").paint(painter, chevron)
        place = self.rect().adjusted(edge, 0, chevron.left() - edge - self.width(), 0)
        painter.setFont(theme.font("cell"))
        painter.setPen(theme.color("text1" if self.isEnabled() else "text3"))
        metrics = QFontMetricsF(painter.font())
        elided = elided_text(metrics, text, Qt.TextElideMode.ElideRight, place.width())
        painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), elided)
        painter.end()


class BaseToolbar(QToolBar):
    """What both toolbars have: the order of the controls, and how they fit into the width."""

    search: SearchBox
    run: PickerButton

    def __init__(self, theme: Theme) -> None:
        super().__init__("Main")
        self._theme = theme
        self._dispensable: list[QAction] = []
        self._link_action: QAction | None = None
        self.setObjectName("toolbar")
        self.setMovable(False)
        # The size as drawn: at 24 px and 150 % scaling, Qt would take the pixmap of another scale.
        self.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        theme.changed.connect(self._show_overflow)
        self._show_overflow()

    @Slot()
    def _show_overflow(self) -> None:
        """Give the button for what has no room an icon of the theme: Qt's is black in the dark."""
        for button in self.findChildren(QToolButton, "qt_toolbar_ext_button"):
            button.setIcon(self._theme.icon("overflow", "text1"))
            button.setToolTip("More")
            button.setAccessibleName("More")

    def add_button(self, text: str = "") -> QToolButton:
        """Add a button, with a frame if it has a text."""
        button = QToolButton()
        if text:
            # A space, because Qt leaves only 4 px between icon and text.
            button.setText(f" {text}")
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setProperty("framed", True)
            button.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
            # The sheet of the window has another least width, in which the text would be cut.
            button.setStyleSheet(f"min-width: {self._theme.px(OPEN_WIDTH)}px;")
        return button

    def add_scheme(self) -> ComboBox:
        """Add the box for colors, with a caption and separators that give way to other controls."""
        lines = [self.addSeparator()]
        caption = QLabel("Color by")
        caption.setContentsMargins(8, 0, 6, 0)
        self._dispensable = [self.addWidget(caption)]
        scheme = ComboBox(self._theme)
        scheme.setAccessibleName("Color by")
        self.addWidget(scheme)
        lines.append(self.addSeparator())
        self._dispensable += lines
        return scheme

    def add_space(self) -> None:
        """Add what takes the rest of the width."""
        space = QWidget()
        space.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.addWidget(space)

    def fit_search(self, reserved: int) -> None:
        """Shorten the search field, and then hide a caption and separators, to fit into the width.

        reserved: px for the link state, whatever it shows.
        """
        for with_all in (True, False):
            self.show_dispensable(with_all)
            self.search.take_usual_width()
            self.search.shorten_by(self.wanted_width(reserved) - self.width())
            if self.wanted_width(reserved) <= self.width():
                break

    def show_dispensable(self, visible: bool) -> None:
        """Show or hide the caption and separators."""
        for action in self._dispensable:
            action.setVisible(visible)

    def wanted_width(self, reserved: int) -> int:
        """The width that all visible items need in px; the layout only updates later."""
        layout = self.layout()
        actions = [a for a in self.actions() if a.isVisible() and a is not self._link_action]
        assert layout is not None
        widths = [max(self.widgetForAction(a).sizeHint().width(), 0) for a in actions]
        widths.append(reserved)
        margins = layout.contentsMargins()
        return sum(widths) + layout.spacing() * (len(widths) - 1) + margins.left() + margins.right()


class FirstToolbar(BaseToolbar):
    """The toolbar until the real one exists; `open_requested`: the user wants to choose files."""

    open_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._buttons: list[tuple[QToolButton, str]] = []
        opener = self._add("open", "Open")
        opener.clicked.connect(self.open_requested)
        opener.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the page has the focus, and a button too
        self.addSeparator()
        for icon in ("back", "forward", "fit"):
            self._add(icon).setEnabled(False)
        self.addSeparator()
        self.search = SearchBox(theme)
        self.search.setEnabled(False)
        self.addWidget(self.search)
        scheme = self.add_scheme()
        scheme.addItems(SCHEME_TITLES)
        # It looks as it will, and does nothing yet.
        scheme.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        scheme.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._add("previous").setEnabled(False)
        self.run = PickerButton(theme)
        self.run.setText(NO_INFERENCES)
        self.run.setAccessibleName(NO_INFERENCES)
        self.run.setEnabled(False)
        self.addWidget(self.run)
        self._add("next").setEnabled(False)
        self.add_space()
        theme.changed.connect(self._retheme)
        self._retheme()

    def _add(self, icon: str, text: str = "") -> QToolButton:
        button = self.add_button(text)
        button.setAccessibleName(text or icon)
        self._buttons.append((button, icon))
        self.addWidget(button)
        return button

    def _retheme(self) -> None:
        for button, icon in self._buttons:
            token = "text1" if button.property("framed") else "text2"
            button.setIcon(self._theme.icon(icon, token))

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @guard
    def showEvent(self, event: QShowEvent) -> None:
        """Fit them again, now that they have their style."""
        super().showEvent(event)
        self._fit()

    def _fit(self) -> None:
        self.run.be_narrow(self.width() < self._theme.px(NARROW))
        self.fit_search(self._theme.px(LINK_STATE_WIDTH))
