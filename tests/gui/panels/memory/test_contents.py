"""The rows and texts of the Memory panel."""

import pytest

from tests.builders.planned_methods import delegate, kernel, planned_method
from viewer.gui.panels.memory.answer import (
    AT_PEAK,
    MemoryMode,
    MemoryQuestion,
    beside_text,
    figures,
    holders_text,
    rows_of,
    tip_lines,
    work_out,
)
from viewer.model.times import plain_spaces
from viewer.program.executables import Dynamism, Executable
from viewer.render.palette import SLAB
from viewer.workspace.workspace import Workspace


def answer_of(*names, data=None, method=None):
    """The answer about the first method of the program among some files, or about a method."""
    space = Workspace()
    for name in names:
        space.open(str(data / "pte" / name))
    if method is not None:
        space.add(Executable("a.pte", "ExecuTorch program", "", (method,), (), 1))
    executable = space.executables[0]
    return work_out(MemoryQuestion(space, executable, executable.methods[0], None, None, False))


def texts(contents):
    return [plain_spaces(" | ".join((row.name, *row.texts[1:]))) for row in contents.rows]


@pytest.fixture
def chain():
    """24, 20 and 4 bytes in use, without an ETRecord."""
    return answer_of(
        method=planned_method([(0, 8), (8, 16), (24, 4)], kernel(0, 1), kernel(1, 2),
                              kernel(2, 2, name="aten::add.out"), inputs=[0], arena=32)
    )  # fmt: skip


def test_tensors_are_listed_from_the_largest(chain):
    assert texts(rows_of(chain, MemoryMode.TENSORS).contents) == [
        f"0 · relu | u8 16 | 16 B | 8 | 0 – 1 | {AT_PEAK}",
        f"input | u8 8 | 8 B | 0 | 0 | {AT_PEAK}",
        "1 · relu | u8 4 | 4 B | 24 | 1 – 2 | ",
    ]


def test_operators_have_what_they_hold_at_the_peak_and_at_most(chain):
    rows = rows_of(chain, MemoryMode.OPERATOR)
    assert texts(rows.contents) == [
        "relu | 16 B | 66.7 | 20 B | 2 | 0 – 2",
        "input | 8 B | 33.3 | 8 B | 1 | 0",
    ]
    assert rows.storages(0).tolist() == [1, 2]


def test_the_color_of_a_row_is_that_of_its_tensors(chain):
    colors = chain.colors(None)
    assert rows_of(chain, MemoryMode.TENSORS).colors(colors)[0] == colors[1]
    mixed = colors.copy()
    mixed[2] = 3
    assert rows_of(chain, MemoryMode.OPERATOR).colors(mixed)[0] == SLAB


def test_key_figures_and_who_holds_the_peak(chain):
    assert [plain_spaces(" ".join(pair)) for pair in figures(chain)] == [
        "24 B peak live", "32 B planned arena", "25.0 % unused at the peak",
    ]  # fmt: skip
    assert plain_spaces(holders_text(chain)) == (
        "Peak at instruction 0, aten::relu.out: relu 16 B (66.7 %), input 8 B (33.3 %)"
    )
    assert beside_text(chain) == "No delegates"


def test_what_is_below_the_mouse(chain):
    assert [plain_spaces(line) for line in tip_lines(chain, 1)] == [
        "0 · relu", "u8 16 · 16 B", "offset 8 · instructions 0 – 1",
        "in use at the peak, 66.7 %",
    ]  # fmt: skip


def test_what_delegates_allocate_is_not_in_the_plan():
    answer = answer_of(method=planned_method([(0, 8), (8, 8)], delegate(0, 1), inputs=[0]))
    assert beside_text(answer) == "Backend's own memory is not included"
    assert answer.writers[1].label == "Backend"


def test_a_damaged_plan_is_told():
    method = planned_method([(0, 8), (28, 8), (0, 8)], kernel(0, 1), inputs=[0], arena=32)
    method.tensors.dynamism[2] = Dynamism.UNBOUND
    answer = answer_of(method=method)
    assert beside_text(answer) == (
        "No delegates · 1 tensor beyond the end of their memory"
        " · 1 planned tensor unused, or of unknown size"
    )
    assert answer.size_of_band(0) == 36


def test_a_method_without_a_plan_has_no_rows():
    answer = answer_of(method=planned_method([], arena=0))
    for mode in MemoryMode:
        assert rows_of(answer, mode).contents.rows == ()
    assert holders_text(answer) == "No planned memory"
    assert [figure for figure, _ in figures(answer)][2] == "0 %"


def test_with_a_record_tensors_have_operators_and_modules(data):
    answer = answer_of("llama.pte", "llama.etrecord", data=data)
    assert {writer.label for writer in answer.writers} >= {"input", "q · linear", "k · linear"}
    modules = rows_of(answer, MemoryMode.MODULE).contents
    assert {row.name for row in modules.rows} >= {"q", "k", "input"}
    assert len(rows_of(answer, MemoryMode.OPERATOR).contents.rows) < len(answer.writers)


def test_several_memories_have_a_column():
    method = planned_method([(0, 8), (0, 16)], kernel(0, 1), inputs=[0], memories=[1, 3])
    answer = answer_of(method=method)
    contents = rows_of(answer, MemoryMode.TENSORS).contents
    assert [heading.title for heading in contents.headings][-2] == "Memory"
    assert texts(contents)[0].split(" | ")[-2] == "3"
    assert answer.bands == (1, 2, 3)  # memory 2 has bytes that no tensor uses
