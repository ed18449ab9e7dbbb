"""The module tree widget: column layout, open rows, highlighted rows, copying and painting.

Open rows are remembered by what they show, so that they stay open with another inference, filter or
order. Many rows are expanded before the view lays them out: one by one, a thousand modules take
seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import QModelIndex, QObject, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QFontMetrics,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QHeaderView, QMenu, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.base.swatches import (
    SWATCH,
    colors_of,
    paint_share,
    paint_swatch,
    share_color,
    slice_color,
)
from viewer.gui.panels.model.compared_rows import ComparedRows
from viewer.gui.panels.model.table import ModelColumn, ModelRow, RowKind
from viewer.gui.panels.model.tree_model import RELATED_ROLE, ROW_ROLE, ModuleModel
from viewer.gui.qt.clipboard import CopyFormat
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.change_cells import paint_difference, paint_ratio
from viewer.gui.qt.widgets.elided_text import elided_text
from viewer.gui.qt.widgets.table_model import LEFT, RIGHT, Index
from viewer.gui.qt.widgets.tables import (
    ROW_HEIGHT,
    QuietTree,
    add_copying,
    copy_tsv,
    offer_markdown,
    paint_faint,
    pop_up,
    select_row,
    set_up_sorting,
)
from viewer.gui.qt.widgets.time_cells import paint_time
from viewer.model.times import counted
from viewer.render.palette import Palette

MOST_COPIED = 2000  # rows; writing that many takes 50 ms
_LEAST_NAME = 180  # px; the minimum width of the name column
_INDENT = 16  # px per level
_MOST_FOUND = 500  # the maximum number of modules that a filter opens
# Columns that are hidden if room is short, in this order.
_DISPENSABLE = (
    ModelColumn.MEAN,
    ModelColumn.SHARED,
    ModelColumn.P50,
    ModelColumn.SLICES,
    ModelColumn.SELF,
    ModelColumn.SHARE,
    ModelColumn.OUTPUT,
    ModelColumn.CHANGE,
)
Key = tuple[RowKind, int, int]  # what a row shows: kind, number, and the module of a shared set


class ModuleDelegate(QStyledItemDelegate):
    """Paints a cell on its row's background: swatch, name and hint, share with its bar, or text."""

    def __init__(self, model: ModuleModel, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._model = model
        self._theme = theme
        self.colors: Palette | None = None  # palette index per operator; None: its own

    @guard(QSize())
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(self._theme.px(60), self._theme.px(ROW_HEIGHT))

    @guard
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme, rect = self._theme, option.rect
        row: ModelRow = index.data(ROW_ROLE)
        cell = self._model.cell(index.column())
        painter.save()
        painter.setClipRect(rect)
        selected = option.state & QStyle.StateFlag.State_Selected
        if option.state & QStyle.StateFlag.State_MouseOver and not selected:
            painter.fillRect(rect, theme.color("hover"))
        rows = self._model.rows
        if cell is ModelColumn.NAME:
            self._name(painter, rect, row)
        elif isinstance(rows, ComparedRows) and cell in (ModelColumn.CHANGE, ModelColumn.RATIO):
            self._change(painter, rect, rows, row, cell)
        else:
            text = str(index.data())
            if cell is ModelColumn.SHARE:
                self._bar(painter, rect, row)
            faint = text == MISSING or cell is ModelColumn.LINE
            painter.setFont(theme.font("code" if cell is ModelColumn.OUTPUT else "cell"))
            painter.setPen(theme.color("text2" if faint else "text1"))
            inside = rect.adjusted(theme.px(6), 0, -theme.px(6), 0)
            if cell.is_time:
                costed = self._model.rows.costed if self._model.rows is not None else None
                fractions = costed is not None and cell in costed.fractions
                paint_time(painter, inside, text, fractions=fractions)
                painter.restore()
                return
            shown = elided_text(
                painter.fontMetrics(), text, Qt.TextElideMode.ElideRight, inside.width()
            )
            painter.drawText(inside, int(LEFT if cell is ModelColumn.OUTPUT else RIGHT), shown)
        painter.restore()

    def _change(
        self, painter: QPainter, rect: QRect, rows: ComparedRows, row: ModelRow, cell: ModelColumn
    ) -> None:
        one, text = rows.change(row), rows.text(row, cell)
        verdict = "" if one is None else one.verdict.value
        if cell is ModelColumn.RATIO:
            paint_ratio(painter, rect, text, verdict, self._theme)
            return
        share = None if text == MISSING else rows.bar(row)
        paint_difference(painter, rect, text, share, verdict, self._theme)

    def _bar(self, painter: QPainter, rect: QRect, row: ModelRow) -> None:
        theme, rows = self._theme, self._model.rows
        assert rows is not None
        color = theme.color("slab")
        if row.kind is RowKind.OPERATOR:
            own = slice_color(colors_of((row.number,), self.colors)[0], theme)
            color = share_color(own, theme)
        paint_share(painter, rect, rows.share(row) or 0.0, color, theme)

    def _name(self, painter: QPainter, rect: QRect, row: ModelRow) -> None:
        theme, rows = self._theme, self._model.rows
        assert rows is not None
        left, right = rect.left() + theme.px(2), rect.right() - theme.px(8)
        if row.kind in (RowKind.OPERATOR, RowKind.SET):
            side = theme.px(SWATCH)
            top = rect.center().y() - side / 2 + 1
            palette_indices = colors_of(rows.operators(row), self.colors)
            paint_swatch(painter, left, top, palette_indices, theme)
            left += side + theme.px(8)
        font = theme.font("cell")
        name, hint = rows.name(row), rows.hint(row)
        hint_font = theme.font("caption")
        hint_width = QFontMetrics(hint_font).horizontalAdvance(hint) if hint else 0
        room = max(right - left, 0)
        painter.setFont(font)
        metrics = painter.fontMetrics()
        full = metrics.horizontalAdvance(name)
        # The name has priority; the hint gets the remaining width.
        shown = elided_text(metrics, name, Qt.TextElideMode.ElideRight, room)
        quiet = row.kind in (RowKind.SLICE, RowKind.REST)
        painter.setPen(theme.color("text2" if quiet else "text1"))
        at = QRect(left, rect.top(), room, rect.height())
        painter.drawText(at, int(LEFT), shown)
        at.setLeft(left + min(full, room) + theme.px(10))
        if hint and at.width() > min(hint_width, theme.px(30)):
            painter.setFont(hint_font)
            painter.setPen(theme.color("text2"))
            text = elided_text(painter.fontMetrics(), hint, Qt.TextElideMode.ElideRight, at.width())
            painter.drawText(at, int(LEFT), text)


class ModuleView(QuietTree):
    """The tree widget.

    `chosen(row)`: a click, Enter or an arrow key. `entered_row(row)`: a double click or Enter.
    """

    chosen = Signal(object)
    entered_row = Signal(object)

    def __init__(self, model: ModuleModel, theme: Theme) -> None:
        super().__init__("Model")
        self._model = model
        self._theme = theme
        self._open: list[Key] = []
        self._instead: Sequence[Key] | None = None
        self._current: Key | None = None
        self._at = 0  # position of the scroll bar
        self._by_itself: list[Key] = []  # rows opened for a selection on the timeline
        self._cells: tuple[ModelColumn, ...] = ()
        self.opacity = 1.0
        self.setModel(model)
        self._delegate = ModuleDelegate(model, theme, self)
        self.setItemDelegate(self._delegate)
        self.setIndentation(theme.px(_INDENT))
        self.setUniformRowHeights(True)
        self.setMouseTracking(True)
        set_up_sorting(self, theme)
        self.clicked.connect(self.choose)
        self.doubleClicked.connect(self._enter)
        model.modelAboutToBeReset.connect(self._keep)
        model.modelReset.connect(self._restore)
        add_copying(self, self.copy, self._menu)

    # -- columns ---------------------------------------------------------------------------------

    def fit_columns(self) -> None:
        """Show the columns that have values, as far as there is room."""
        rows = self._model.rows
        if rows is None:
            return
        header, theme, mode = self.header(), self._theme, QHeaderView.ResizeMode
        if self._cells != rows.cells:
            self._cells = rows.cells
            for i, cell in enumerate(rows.cells):
                stretch = cell is ModelColumn.NAME
                header.setSectionResizeMode(i, mode.Stretch if stretch else mode.Interactive)
                if cell.width:
                    header.resizeSection(i, theme.px(cell.width))
        # The root has the greatest counts: ten million slices need more digits than usual.
        if ModelColumn.SLICES in rows.cells and rows.top:
            widest = rows.text(rows.made[rows.top[0]], ModelColumn.SLICES)
            room = QFontMetrics(theme.font("cell")).horizontalAdvance(widest) + theme.px(14)
            header.resizeSection(
                rows.cells.index(ModelColumn.SLICES), max(theme.px(ModelColumn.SLICES.width), room)
            )
        hidden = set(rows.unused)
        width = _LEAST_NAME + sum(cell.width for cell in rows.cells if cell not in hidden)
        for cell in _DISPENSABLE:
            if cell in rows.cells and cell not in hidden and theme.px(width) > self._room:
                hidden.add(cell)
                width -= cell.width
        for i, cell in enumerate(rows.cells):
            self.setColumnHidden(i, cell in hidden)

    @property
    def _room(self) -> int:
        return self.viewport().width()

    @property
    def shown_cells(self) -> list[ModelColumn]:
        """The visible columns."""
        return [cell for i, cell in enumerate(self._cells) if not self.isColumnHidden(i)]

    @guard
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_columns()

    # -- open rows -------------------------------------------------------------------------------

    def _key(self, row: ModelRow) -> Key:
        rows = self._model.rows
        assert rows is not None
        around = rows.made[row.parent].number if row.kind is RowKind.SET else -1
        return row.kind, row.number, around

    def _row_of(self, key: Key) -> int | None:
        """Return the id of the row that a key names; creates the row if needed."""
        rows = self._model.rows
        if rows is None or not rows.top:
            return None
        kind, number, around = key
        if kind is RowKind.MODULE:
            return rows.row_of_module(number) if number < len(rows.tree.modules) else None
        if kind is RowKind.OPERATOR:
            return rows.find((number,)) if number < len(rows.program.operators) else None
        if kind is RowKind.SET and around < len(rows.tree.modules):
            module_row = rows.row_of_module(around)
            inside = () if module_row is None else rows.inside(rows.made[module_row])
            return next(
                (n for n in inside if rows.made[n].kind is kind and rows.made[n].number == number),
                None,
            )
        return None

    @Slot()
    def _keep(self) -> None:
        rows = self._model.rows
        if rows is None:
            return
        if self._instead is not None:
            self._open = list(self._instead)
        else:
            self._open = self.open_keys()
        self._at = self.verticalScrollBar().value()
        current = self._model.row(self.currentIndex())
        self._current = None if current is None else self._key(current)

    def open_keys(self) -> list[Key]:
        """Return the keys of the open rows, to open them again later."""
        rows = self._model.rows
        all_rows = [] if rows is None else rows.made
        return [
            self._key(row)
            for row in all_rows
            if row.inside is not None and self.isExpanded(self._model.index_of(row.id))
        ]

    @Slot()
    def _restore(self) -> None:
        if self._model.rows is None:
            self._cells = ()  # without columns the header loses their widths
            return
        self.fit_columns()
        self.open_again(self._open)
        if self._current is not None:
            self.mark(self._row_of(self._current), scroll=False)
        self.verticalScrollBar().setValue(self._at)

    def forget(self) -> None:
        """Forget the open rows, because another model is shown."""
        self._open, self._by_itself, self._current, self._at = [], [], None, 0

    def open_rows(self, numbers: Iterable[int]) -> None:
        """Open rows, given by their ids, before the view is laid out."""
        self.scheduleDelayedItemsLayout()
        for number in numbers:
            self.expand(self._model.index_of(number))
        self.executeDelayedItemsLayout()

    @contextmanager
    def opening(self, keys: Sequence[Key]) -> Iterator[None]:
        """Open these rows after the rows are replaced in this context, not those open before."""
        self._instead = keys
        try:
            yield
        finally:
            self._instead = None

    def open_again(self, keys: Iterable[Key]) -> None:
        """Open the rows that these keys name, if they exist."""
        found = [self._row_of(key) for key in keys]
        self.open_rows([number for number in found if number is not None])

    def open_found(self) -> None:
        """Open modules from the outside in, to show what a filter found."""
        rows = self._model.rows
        if rows is None:
            return
        todo = list(rows.top)
        for number in todo:  # the loop appends to it
            if len(todo) > _MOST_FOUND:
                break
            inside = rows.inside(rows.made[number])
            todo += [n for n in inside if rows.made[n].kind is RowKind.MODULE]
        self.open_rows(todo)

    def open_first(self) -> None:
        """Open the root and its only child, down to the first module with several children."""
        rows = self._model.rows
        number = rows.top[0] if rows is not None and rows.top else None
        while rows is not None and number is not None:
            self.expand(self._model.index_of(number))
            inside = rows.inside(rows.made[number])
            is_only_child = len(inside) == 1 and rows.made[inside[0]].kind is RowKind.MODULE
            number = inside[0] if is_only_child else None

    def open_modules(self, index: QModelIndex) -> None:
        """Open a module and all modules in it, but not their operators."""
        rows, row = self._model.rows, self._model.row(index)
        if rows is None or row is None:
            return
        todo, found = [row.id], list[int]()
        while todo:
            current = rows.made[todo.pop()]
            if current.kind is RowKind.MODULE or current is row:
                found.append(current.id)
            if current.kind is RowKind.MODULE:
                todo += [n for n in rows.inside(current) if rows.made[n].kind is RowKind.MODULE]
        self.open_rows(found)

    def mark(self, number: int | None, *, scroll: bool = True) -> None:
        """Highlight one row, given by its id, and scroll to it; None clears the highlight."""
        if number is None:
            self.selectionModel().clear()
            return
        index = self._model.index_of(number)
        select_row(self, index)
        if scroll:
            self.scrollTo(index)

    def show_row(self, number: int) -> None:
        """Highlight a row that was selected elsewhere, and open the rows around it.

        Rows that an earlier call opened are closed, all in one layout.
        """
        rows = self._model.rows
        assert rows is not None
        around = list[int]()
        above = rows.made[number].parent
        while above >= 0:
            around.append(above)
            above = rows.made[above].parent
        needed = [n for n in around if not self.isExpanded(self._model.index_of(n))]
        around_keys = {self._key(rows.made[n]) for n in around}
        obsolete = [self._row_of(key) for key in self._by_itself if key not in around_keys]
        if needed or obsolete:
            self.scheduleDelayedItemsLayout()
            for row_id in obsolete:
                if row_id is not None:
                    self.collapse(self._model.index_of(row_id))
            self._by_itself = [key for key in self._by_itself if key in around_keys]
            self._by_itself += [self._key(rows.made[n]) for n in needed]
            self.open_rows(needed)
        self.mark(number)

    # -- mouse and keys --------------------------------------------------------------------------

    @Slot(QModelIndex)
    def choose(self, index: QModelIndex) -> None:
        """Emit `chosen` for a row, unless several rows are selected."""
        row = self._model.row(index)
        if row is not None and len(self.selectionModel().selectedRows()) <= 1:
            self._touched(row)
            self.chosen.emit(row)

    @Slot(QModelIndex)
    def _enter(self, index: QModelIndex) -> None:
        row = self._model.row(index)
        if row is not None:
            self.entered_row.emit(row)

    def _touched(self, row: ModelRow) -> None:
        """Keep the row that the user works in open, and the rows around it."""
        rows = self._model.rows
        assert rows is not None
        around = {self._key(row)}
        while row.parent >= 0:
            row = rows.made[row.parent]
            around.add(self._key(row))
        self._by_itself = [key for key in self._by_itself if key not in around]

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self._model.row(self.currentIndex())
        if row is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._touched(row)
            self.chosen.emit(row)
            self.entered_row.emit(row)
            return
        if row is not None and event.key() == Qt.Key.Key_Asterisk:
            self.open_modules(self.currentIndex().siblingAtColumn(0))
            return
        super().keyPressEvent(event)
        now = self._model.row(self.currentIndex())
        if now is not None and now is not row:
            self._touched(now)
            self.chosen.emit(now)

    # -- copying ---------------------------------------------------------------------------------

    def listed_rows(self) -> list[ModelRow]:
        """Return the listed rows from top to bottom, including children of open rows."""
        rows = self._model.rows
        if rows is None:
            return []
        listed, todo = list[ModelRow](), list(reversed(rows.top))
        while todo:
            row = rows.made[todo.pop()]
            listed.append(row)
            if self.isExpanded(self._model.index_of(row.id)):
                todo += reversed(rows.inside(row))
        return listed

    def copy(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy the selected rows, or all open rows if none is selected."""
        marked = {index.internalId() for index in self.selectionModel().selectedRows()}
        listed = self.listed_rows()
        self._put([row for row in listed if row.id in marked] or listed, form)

    def copy_all(self, form: CopyFormat = CopyFormat.TEXT) -> None:
        """Copy all open rows, in the order shown."""
        self._put(self.listed_rows(), form)

    def _put(self, listed: list[ModelRow], form: CopyFormat) -> None:
        if self._model.rows is None:
            return
        text = self._model.rows.tsv(listed[:MOST_COPIED], self.shown_cells)
        if len(listed) > MOST_COPIED:
            text += f"{counted(len(listed) - MOST_COPIED, 'more row')} not copied\n"
        copy_tsv(self, text, form)

    @Slot(QPoint)
    def _menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        count = len(self.selectionModel().selectedRows())
        rows = menu.addAction(
            "Copy row" if count < 2 else f"Copy {count} rows", lambda: self.copy()
        )
        rows.setEnabled(count > 0)
        menu.addAction("Copy open rows as TSV", lambda: self.copy_all())
        offer_markdown(menu, "Copy open rows as TSV", self.copy_all)
        menu.addSeparator()
        index = self.currentIndex().siblingAtColumn(0)
        below = menu.addAction("Expand all", lambda: self.open_modules(index))
        below.setEnabled(index.isValid())
        menu.addAction("Collapse all", self.collapseAll)
        pop_up(menu, self, at)

    # -- painting --------------------------------------------------------------------------------

    def color_operators(self, colors: Palette | None) -> None:
        """Set the palette index of every operator's swatch and bar; None: each its own color."""
        self._delegate.colors = colors
        self.viewport().update()

    @guard
    def drawRow(self, painter: QPainter, options: QStyleOptionViewItem, index: Index) -> None:
        ground = ""
        if self.selectionModel().isRowSelected(index.row(), index.parent()):
            ground = "selection"
        elif index.data(RELATED_ROLE):
            ground = "related"
        if ground:
            painter.fillRect(options.rect, self._theme.color(ground))
        super().drawRow(painter, options, index)

    @guard
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        paint_faint(self, event, self.opacity, self._theme)
