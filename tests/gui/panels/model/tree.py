"""What tests of the model panel ask of its tree: rows by name, what is open, clicks on rows."""

from PySide6.QtCore import Qt

LINEAR = 1  # blocks.0.qkv · linear
ATTENTION_0 = 9  # blocks.0 · scaled_dot_product_attention
THIN = "\u202f"


def row_at(panel, *names):
    """The row that one gets to by opening rows of these names, one in the other."""
    rows = panel.model.rows
    inside, found = rows.below(-1), None
    for name in names:
        found = next(rows.items[n] for n in inside if rows.name(rows.items[n]) == name)
        inside = rows.below(found.id)
    return found


def texts(panel, row):
    return {cell: panel.model.rows.text(row, cell) for cell in panel.model.rows.columns}


def index(panel, row):
    return panel.model.index_of(row.id)


def open_to(panel, row):
    """Open all that a row lies in, as one who looks for it would."""
    at = index(panel, row).parent()
    while at.isValid():
        panel.view.expand(at)
        at = at.parent()


def click(qtbot, panel, row, *, twice=False):
    open_to(panel, row)
    panel.view.scrollTo(index(panel, row))
    at = panel.view.visualRect(index(panel, row)).center()
    qtbot.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    if twice:
        qtbot.mouseDClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=at)


def marked(panel):
    """The names of the marked rows."""
    chosen = panel.view.selectionModel().selectedRows()
    rows = panel.model.rows
    return [rows.full_name(rows.items[panel.model.node(i)]) for i in chosen]


def opened_rows(panel):
    rows = panel.model.rows
    return [rows.full_name(r) for r in rows.items if panel.view.isExpanded(index(panel, r))]
