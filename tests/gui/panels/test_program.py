"""The Program panel: what it shows of program files, and when it shows anew."""

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester

from viewer.formats import open_file
from viewer.gui.panels.program import NOTHING, ProgramPanel

NAME, KIND, CONTENTS, BYTES = range(4)


@pytest.fixture
def part(show_files):
    """The panel over a program of five kernels and four delegates."""
    return show_files(ProgramPanel, "pte/part_x.pte")


def inside(panel, *names):
    """The texts of the rows inside a row, which is found by the names that lead to it."""
    model, at = panel.model, QModelIndex()
    for name in names:
        rows = [model.index(i, 0, at) for i in range(model.rowCount(at))]
        at = next(row for row in rows if row.data() == name)
    return [
        [model.index(i, c, at).data().replace("\u202f", " ") for c in (NAME, KIND, CONTENTS, BYTES)]
        for i in range(model.rowCount(at))
    ]


def test_a_file_has_its_methods_and_sizes(part):
    assert inside(part) == [["part_x.pte", "program file", "1 method · ExecuTorch 1.0+", "11 kB"]]
    assert [row[0] for row in inside(part, "part_x.pte")] == ["forward", "Sizes"]
    assert [row[0] for row in inside(part, "part_x.pte", "forward")] == [
        "Instructions", "Delegates", "Tensors", "Planned memory",
    ]  # fmt: skip


def test_instructions_have_the_numbers_of_a_dump(part):
    rows = inside(part, "part_x.pte", "forward", "Instructions")
    assert [row[:2] for row in rows[:3]] == [
        ["0 · dim_order_ops::_to_dim_order_copy.out", "kernel call"],
        ["1 · XnnpackBackend 0", "delegate call"],
        ["2 · aten::cumsum.out", "kernel call"],
    ]


def test_delegates_have_their_nodes(part):
    place = "part_x.pte", "forward", "Delegates"
    assert inside(part, *place)[0] == ["XnnpackBackend 0", "delegate", "3 nodes", "1.1 kB"]
    assert [row[:3] for row in inside(part, *place, "XnnpackBackend 0")] == [
        ["XNNStaticTranspose", "XNNPACK node", "inserted by XNNPACK"],
        ["XNNConv2d", "XNNPACK node", "debug handle 1"],
        ["XNNStaticTranspose", "XNNPACK node", "inserted by XNNPACK"],
    ]


def test_control_flow_and_tensors(show_files):
    panel = show_files(ProgramPanel, "pte/cond.pte")
    instructions = inside(panel, "cond.pte", "forward", "Instructions")
    assert instructions[2] == ["2", "jump", "to 7, if value 4 is false", ""]
    assert instructions[5] == ["5", "move", "value 15 to value 13", ""]
    tensors = inside(panel, "cond.pte", "forward", "Tensors")
    assert tensors[0] == ["value 0", "constant", "f32 4 × 4", "64 B"]
    assert tensors[4] == ["value 4", "input", "bool scalar · memory 1 at byte 192", "1 B"]


def test_sizes_by_kind_and_part(part):
    kinds = inside(part, "part_x.pte", "Sizes")
    assert [row[0] for row in kinds] == [
        "program", "constants", "delegates", "named data", "padding",
    ]  # fmt: skip
    assert kinds[2] == ["delegates", "bytes", "4 parts", "4.0 kB"]
    assert len(inside(part, "part_x.pte", "Sizes", "delegates")) == 4


def test_the_rows_are_a_tree_for_qt(part):
    tester = QAbstractItemModelTester(
        part.model, QAbstractItemModelTester.FailureReportingMode.Fatal
    )
    part.tree.expandAll()
    tester.deleteLater()


def test_nothing_open_says_what_to_open(show_files):
    panel = show_files(ProgramPanel, "etdump/demo_str_x4.etdp")
    assert panel.sentence == NOTHING


def test_what_is_expanded_stays_while_the_files_do(part, data):
    session, model = part.session, part.model
    method = model.index(0, 0, model.index(0, 0))
    instructions = model.index(0, 0, method)
    part.tree.expand(instructions)
    session.add([open_file(str(data / "etdump" / "demo_str_x4.etdp"))])
    assert part.tree.isExpanded(instructions)
    session.add([open_file(str(data / "pte" / "cond.pte"))])
    assert [row[0] for row in inside(part)] == ["part_x.pte", "cond.pte"]
    session.close_all()
    assert (part.sentence, model.rows) == (NOTHING, None)


def test_rows_are_copied_as_text(part):
    part.tree.selectRow(0)
    part.tree.copy()
    assert QGuiApplication.clipboard().text() == (
        "Name\tKind\tContents\tBytes\npart_x.pte\tprogram file\t1 method · ExecuTorch 1.0+\t10640\n"
    )


def test_a_narrow_panel_leaves_out_the_kinds(show_files):
    panel = show_files(ProgramPanel, "pte/cond.pte", width=400)
    assert panel.tree.isColumnHidden(KIND)
    assert panel.tree.header().orientation() == Qt.Orientation.Horizontal
