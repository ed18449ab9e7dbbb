"""The help window: a list of pages next to the current page.

It is not modal. Links lead to other pages only, and nothing is fetched from a network. Pictures are
scaled down smoothly for the screen's resolution, which a text document would do without smoothing.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSize, Qt, QUrl, Slot
from PySide6.QtGui import (
    QFont,
    QImage,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextTable,
)
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from viewer.gui.qt.accessibility import FramedDialog
from viewer.gui.qt.command_table import CommandTable, shown_key
from viewer.gui.qt.theme.theme import FontRole, Theme
from viewer.gui.qt.widgets.controls import laid_out
from viewer.gui.window.help.pages import PAGES, filled, headings_of, link_target, slug, title_of
from viewer.resources import resource

_SIZE = QSize(920, 720)  # design px
_LIST_WIDTH = 200
_HEADINGS: dict[int, FontRole] = {1: "title", 2: "operator", 3: "tab_active"}
_MARGIN = 24
PagePlace = tuple[str, str]  # page and slug of a heading; "" for the top

PICTURE_WIDTH = 640  # design px; wider pictures are scaled down


class PageText(QTextBrowser):
    """Shows the Markdown of a help page; loads only the pictures of the help."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setOpenLinks(False)

    def loadResource(self, kind: int, url: QUrl | str) -> Any:
        """Load a picture of the help at the size shown; None for everything else."""
        name = QUrl(url).toString()
        if kind != QTextDocument.ResourceType.ImageResource.value or not name.startswith(
            "pictures/"
        ):
            return None
        image = QImage(str(resource("help", *name.split("/"))))
        if image.isNull():
            return None
        ratio = self.devicePixelRatioF()
        width = min(image.width(), round(self._theme.px(PICTURE_WIDTH) * ratio))
        scaled = image.convertToFormat(QImage.Format.Format_RGB32).scaledToWidth(
            width, Qt.TransformationMode.SmoothTransformation
        )
        scaled.setDevicePixelRatio(ratio)
        return scaled


class HelpWindow(FramedDialog):
    """Shows help pages; `page` is the current one."""

    def __init__(self, commands: CommandTable, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._commands, self._theme = commands, theme
        self._before: list[PagePlace] = []
        self._after: list[PagePlace] = []
        self._place: PagePlace = ("", "")
        self.resize(theme.px(_SIZE.width()), theme.px(_SIZE.height()))
        self.list = QListWidget()
        self.list.setAccessibleName("Help pages")
        self.list.setFixedWidth(theme.px(_LIST_WIDTH))
        for page in PAGES:
            item = QListWidgetItem(title_of(page))
            item.setData(Qt.ItemDataRole.UserRole, page)
            self.list.addItem(item)
        self.list.currentItemChanged.connect(self._listed)
        self.text = PageText(theme)
        self.text.anchorClicked.connect(self._follow)
        self.text.document().setDocumentMargin(theme.px(_MARGIN))
        self.back = self._button("back", "Back", self.go_back)
        self.forward = self._button("forward", "Forward", self.go_forward)
        buttons = QHBoxLayout()
        buttons.setContentsMargins(theme.px(8), theme.px(6), theme.px(8), theme.px(6))
        buttons.addWidget(self.back)
        buttons.addWidget(self.forward)
        buttons.addStretch(1)
        left = laid_out(QVBoxLayout(), buttons, (self.list, 1), gap=0)
        laid_out(QHBoxLayout(self), left, (self.text, 1), gap=0, margins=(0, 0, 0, 0))
        commands.keys_changed.connect(self._show)
        theme.changed.connect(self._retheme)
        self._retheme()

    def _button(self, icon: str, name: str, run: object) -> QToolButton:
        button = QToolButton()
        button.setObjectName(icon)
        button.setAccessibleName(name)
        button.setToolTip(name)
        button.clicked.connect(run)
        return button

    @property
    def page(self) -> str:
        """The current page."""
        return self._place[0]

    def open_page(self, page: str, heading: str = "") -> None:
        """Open a page at its top, or at the heading with a slug."""
        if (page, heading) != self._place:
            if self.page:
                self._before.append(self._place)
            self._after.clear()
            self._place = page, heading
        self._show()

    @Slot()
    def go_back(self) -> None:
        """Return to the previously visited page."""
        if self._before:
            self._after.append(self._place)
            self._place = self._before.pop()
            self._show()

    @Slot()
    def go_forward(self) -> None:
        """Return to the page that `go_back` came from."""
        if self._after:
            self._before.append(self._place)
            self._place = self._after.pop()
            self._show()

    # -- showing -------------------------------------------------------------------------------

    @Slot()
    def _retheme(self) -> None:
        for button in (self.back, self.forward):
            button.setIcon(self._theme.icon(button.objectName()))
        inset = self._theme.px(8)
        self.list.setStyleSheet(
            f"QListView {{ background: {self._theme.tokens.chrome}; }}"
            f"QListView::item {{ padding-left: {inset}px; }}"
        )
        self._show()

    @Slot()
    def _show(self) -> None:
        page, heading = self._place
        self.back.setEnabled(bool(self._before))
        self.forward.setEnabled(bool(self._after))
        if not page:
            return
        self.list.blockSignals(True)
        self.list.setCurrentRow(PAGES.index(page))
        self.list.blockSignals(False)
        self.setWindowTitle(f"{title_of(page)} – Help")
        self.text.setAccessibleName(f"Help: {title_of(page)}")
        self.text.setMarkdown(filled(page, self._command_text))
        _style(self.text, self._theme)
        self._scroll_to(heading)

    def _command_text(self, id: str) -> str:
        """Markdown for a command: its title and current shortcuts."""
        keys = ", ".join(f"`{shown_key(key)}`" for key in self._commands.keys(id))
        title = f"**{self._commands.commands[id].plain_title}**"
        return f"{title} ({keys})" if keys else title

    def _scroll_to(self, heading: str) -> None:
        matching = [text for text in headings_of(self.page) if slug(text) == heading]
        block = self.text.document().begin()
        while matching and block.isValid() and not _is_heading(block, matching[0]):
            block = block.next()
        cursor = QTextCursor(
            block if matching and block.isValid() else self.text.document().begin()
        )
        self.text.setTextCursor(cursor)
        top = self.text.document().documentLayout().blockBoundingRect(cursor.block()).top()
        self.text.verticalScrollBar().setValue(round(top - self._theme.px(8)) if matching else 0)

    def _listed(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.open_page(item.data(Qt.ItemDataRole.UserRole))

    @Slot(QUrl)
    def _follow(self, url: QUrl) -> None:
        """Follow a link to a help page; ignore any other link."""
        link = url.toString()
        target = link_target(f"{self.page}.md{link}" if link.startswith("#") else link)
        if target is not None:
            self.open_page(*target)


def _is_heading(block: QTextBlock, text: str) -> bool:
    return block.blockFormat().headingLevel() > 0 and block.text() == text


def _style(browser: QTextBrowser, theme: Theme) -> None:
    """Apply the application's fonts, colors and spacing to a rendered Markdown page."""
    document = browser.document()
    document.setDefaultFont(theme.font("body"))
    document.setDocumentMargin(theme.px(_MARGIN))
    together = QTextCursor(document)
    together.beginEditBlock()  # or each change of a table lays out the page again
    block = document.begin()
    while block.isValid():
        _style_block(block, theme)
        block = block.next()
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            _style_table(frame, theme)
    together.endEditBlock()


def _style_block(block: QTextBlock, theme: Theme) -> None:
    shape = QTextBlockFormat(block.blockFormat())
    cursor = QTextCursor(block)
    cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
    level = shape.headingLevel()
    is_code = shape.hasProperty(QTextFormat.Property.BlockCodeFence)
    letters = QTextCharFormat()
    if level:
        letters.setFont(theme.font(_HEADINGS.get(level, "tab_active")))
        shape.setTopMargin(theme.px(0 if level == 1 else 20))
        shape.setBottomMargin(theme.px(10 if level == 1 else 6))
    elif is_code:
        letters.setFont(theme.font("code"))
        shape.setBackground(theme.color("chrome"))
        shape.setLeftMargin(theme.px(8))
        shape.setTopMargin(0)
        shape.setBottomMargin(0)
        shape.setNonBreakableLines(False)
    elif block.textList() is not None:
        shape.setBottomMargin(theme.px(4))
        shape.setTopMargin(0)
    elif QTextCursor(block).currentTable() is None:
        shape.setTopMargin(theme.px(8))
        shape.setBottomMargin(theme.px(8))
    if not is_code and not _has_picture(block) and QTextCursor(block).currentTable() is None:
        shape.setLineHeight(125, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    QTextCursor(block).setBlockFormat(shape)
    if level or is_code:
        cursor.mergeCharFormat(letters)
        return
    _style_words(block, theme)


def _has_picture(block: QTextBlock) -> bool:
    """Whether a block shows a picture, which a proportional line height would leave a gap below."""
    start = block.begin()
    return not start.atEnd() and start.fragment().charFormat().isImageFormat()


def _style_words(block: QTextBlock, theme: Theme) -> None:
    """Style inline code with the code font, and links with the link color, not underlined."""
    pieces = []
    it = block.begin()
    while not it.atEnd():
        piece = it.fragment()
        pieces.append((piece.position(), piece.length(), piece.charFormat()))
        it += 1
    for start, length, old in pieces:
        new = QTextCharFormat()
        if old.fontFixedPitch():
            new.setFont(theme.font("code"))
            new.setBackground(theme.color("chrome"))
        elif old.isAnchor():
            new.setForeground(theme.color("accent"))
            new.setFontUnderline(False)
        elif old.fontWeight() > QFont.Weight.Normal:
            new.setFontWeight(QFont.Weight.DemiBold)
        else:
            continue
        cursor = QTextCursor(block)
        cursor.setPosition(start)
        cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
        cursor.mergeCharFormat(new)


def _style_table(table: QTextTable, theme: Theme) -> None:
    shape = table.format()
    shape.setBorder(1)
    shape.setBorderCollapse(True)
    shape.setBorderBrush(theme.color("hairline"))
    shape.setCellPadding(theme.px(6))
    shape.setCellSpacing(0)
    shape.setTopMargin(theme.px(4))
    shape.setBottomMargin(theme.px(12))
    table.setFormat(shape)
