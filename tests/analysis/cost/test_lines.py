"""Costs of source lines: own, shared, and that nothing is lost."""

from viewer.analysis.cost.costs import CostRow, CostTable
from viewer.analysis.cost.source_costs import (
    first_lines,
    line_costs,
    lines_text,
    most_expensive_lines,
)
from viewer.program.frames import Frame
from viewer.program.program import GraphNode, Method, Operator, Program


def program(*places):
    """A program with one operator per (path, line)."""
    operators = tuple(
        Operator(i, "forward", i, (GraphNode(f"n{i}", "aten.add", i, (frame,)),))
        for i, frame in enumerate(Frame(*place, "forward", "") for place in places)
    )
    return Program("p", "ETRecord", "", (Method("forward", operators),))


ROWS = (
    CostRow((0,), 50, 50, 0, 1, (0,)),
    CostRow((0, 1), 30, 30, 0, 1, (0, 1)),  # both on line 4
    CostRow((1, 2), 20, 20, 0, 1, (1, 2)),  # lines 4 and 7
    CostRow((2, 3), 10, 10, 0, 1, (2, 3)),  # line 7 and another file
    CostRow((3,), 5, 5, 0, 1, (3,)),  # another file alone
)
TABLE = CostTable(ROWS, 115, ROWS)
PROGRAM = program(("a.py", 4), ("a.py", 4), ("a.py", 7), ("b.py", 1))


def test_a_line_owns_the_sets_that_stand_on_it_alone():
    costs = line_costs(PROGRAM, TABLE, "a.py")
    assert {line: own.ticks for line, own in costs.self_costs.items()} == {4: 80}
    assert costs.self_costs[4].sets == ((0,), (0, 1))


def test_every_file_has_its_most_expensive_line_and_self_time_comes_first():
    assert most_expensive_lines(PROGRAM, TABLE) == (("a.py", 4), ("b.py", 1))
    without_own = CostTable(ROWS[2:4], 30, ROWS[2:4])
    assert most_expensive_lines(PROGRAM, without_own) == (("a.py", 4), ("b.py", 1))
    assert most_expensive_lines(PROGRAM, CostTable((), 0)) == ()


def test_without_costs_every_file_has_the_line_of_its_first_operator():
    assert first_lines(PROGRAM) == (("a.py", 4), ("b.py", 1))
    assert first_lines(program()) == ()


def test_time_on_several_lines_is_shared_and_not_divided():
    costs = line_costs(PROGRAM, TABLE, "a.py")
    assert [(s.lines, s.ticks, s.elsewhere) for s in costs.shared] == [
        ((4, 7), 20, False),
        ((7,), 10, True),
    ]


def test_another_file_has_costs_of_its_own():
    costs = line_costs(PROGRAM, TABLE, "b.py")
    assert costs.self_costs[1].ticks == 5
    assert [(s.lines, s.elsewhere) for s in costs.shared] == [((1,), True)]


def test_neighboring_lines_are_joined():
    assert lines_text([52, 49, 50, 50]) == "49–50, 52"
    assert lines_text([3]) == "3"
