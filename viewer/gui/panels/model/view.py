"""The module tree widget: rows that a selection elsewhere opens are closed by the next one."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable

from PySide6.QtGui import QFontMetrics, QKeyEvent

from viewer.gui.panels.base.tree_cells import TreeCells
from viewer.gui.panels.model.rows import Key, ModelRows
from viewer.gui.panels.model.table import ModelColumn, RowKind
from viewer.gui.qt.crash_report import guard
from viewer.gui.qt.theme.theme import Theme
from viewer.gui.qt.widgets.tables import select_row
from viewer.gui.qt.widgets.tree_model import TreeColumn, TreeModel
from viewer.gui.qt.widgets.tree_view import ENTER, TreeView

_LEAST_NAME = 180  # px; the minimum width of the name column
_INDENT = 16  # px per level


class ModuleView(TreeView[ModelRows]):
    """The tree widget; open rows and the current one stay when rows are replaced."""

    def __init__(self, model: TreeModel[ModelRows], theme: Theme) -> None:
        super().__init__(model, "Model", theme, _INDENT, _LEAST_NAME)
        self._by_itself: list[Key] = []  # rows that `mark` opened
        self._current: Key | None = None
        self._related: frozenset[int] = frozenset()  # operators
        self.setItemDelegate(TreeCells(model, theme))
        self.chosen.connect(self._keep_open)

    # -- columns ---------------------------------------------------------------------------------

    def fit_columns(self) -> None:
        super().fit_columns()
        rows, column = self._model.rows, ModelColumn.SLICES
        if rows is None or column not in rows.columns or not rows.below(-1):
            return
        # The root has the greatest counts: ten million slices need more digits than usual.
        width = QFontMetrics(self._theme.font("cell")).horizontalAdvance(rows.cell(0, column))
        width = max(self.width_of(column), width + self._theme.px(14))
        self.header().resizeSection(rows.columns.index(column), width)

    def hidden(self) -> Collection[TreeColumn]:
        return () if self._model.rows is None else self._model.rows.unused

    # -- open rows -------------------------------------------------------------------------------

    def show_rows(self, rows: ModelRows | None, opened: Iterable[Hashable] | None = None) -> None:
        """Replace the rows. opened: the keys of the rows to open; None: those open now."""
        before = self._model.rows
        if before is not None:
            node = self._model.node(self.currentIndex())
            self._current = before.key(node) if node >= 0 else None
        super().show_rows(rows, self.open_keys if opened is None else opened)
        now = self._model.rows
        if now is not None and self._current is not None:
            index = self._model.index_of(now.node_of(self._current))
            if index.isValid():
                select_row(self, index)
                self.verticalScrollBar().setValue(self._top)

    def forget(self) -> None:
        """Show no rows and forget the open ones, because another model is shown."""
        self.show_rows(None)
        self._open, self._by_itself, self._current, self._top = {}, [], None, 0

    def mark(self, node: int) -> None:
        """Highlight a row that was selected elsewhere, and open the rows around it.

        Rows that an earlier call opened are closed, all in one layout.
        """
        rows = self._model.rows
        if rows is None or node < 0:
            self.selectionModel().clear()
            return
        around = {rows.key(n): n for n in self.around(node)}
        index_of = self._model.index_of
        needed = [key for key, n in around.items() if not self.isExpanded(index_of(n))]
        obsolete = [rows.node_of(key) for key in self._by_itself if key not in around]
        if obsolete:
            self.scheduleDelayedItemsLayout()
            for n in obsolete:
                self.collapse(index_of(n))
        self._by_itself = [key for key in self._by_itself if key in around] + needed
        super().mark(node)

    def _keep_open(self, node: int) -> None:
        """Keep the row that the user works in open, and the rows around it."""
        rows = self._model.rows
        assert rows is not None
        around = {rows.key(n) for n in (node, *self.around(node))}
        self._by_itself = [key for key in self._by_itself if key not in around]

    @guard
    def keyPressEvent(self, event: QKeyEvent) -> None:
        node = self._model.node(self.currentIndex())
        if event.key() in ENTER and node >= 0:
            self.chosen.emit(node)
        super().keyPressEvent(event)

    # -- painting --------------------------------------------------------------------------------

    def relate(self, operators: Iterable[int]) -> None:
        """Tint the rows of some operators."""
        self._related = frozenset(operators)
        self.viewport().update()

    def is_related(self, node: int) -> bool:
        rows = self._model.rows
        if rows is None or not self._related or node < 0:
            return False
        row = rows.items[node]
        has_operators = row.kind in (RowKind.OPERATOR, RowKind.SET)
        return has_operators and not self._related.isdisjoint(rows.operators(row))
