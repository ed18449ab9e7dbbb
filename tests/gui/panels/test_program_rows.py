"""Rows of program files: made when they are looked at, and not without bound."""

from viewer.gui.panels import program as panel
from viewer.gui.panels.program import NAME, ProgramRow, ProgramRows


def rows_of(row):
    """The rows of a panel whose only root is a given one."""
    made = ProgramRows(())
    made.items_below = lambda node: [row] if node < 0 else ProgramRows.items_below(made, node)
    assert made.below(-1) == range(1)
    return made


def test_rows_are_made_once_when_they_are_asked_for():
    calls = []

    def make():
        calls.append(1)
        return [ProgramRow("a", ""), ProgramRow("b", "")]

    made = rows_of(ProgramRow("top", "", make=make))
    assert (made.has_below(0), calls) == (True, [])
    placed = [(made.cell(n, NAME), made.place_of(n), made.parent_of(n)) for n in made.below(0)]
    assert placed == [("a", 0, 0), ("b", 1, 0)]
    assert made.below(0) is made.below(0)
    assert calls == [1]


def test_very_many_rows_are_counted(monkeypatch):
    monkeypatch.setattr(panel, "MOST_INSIDE", 3)
    made = rows_of(ProgramRow("top", "", make=lambda: (ProgramRow(str(i), "") for i in range(10))))
    assert [made.cell(n, NAME) for n in made.below(0)] == ["0", "1", "2", "and 7 more"]
