"""Rows of program files: made when they are looked at, and not without bound."""

from viewer.gui.panels.program import rows
from viewer.gui.panels.program.rows import ProgramRow


def test_rows_are_made_once_when_they_are_asked_for():
    made = []

    def make():
        made.append(1)
        return [ProgramRow("a", ""), ProgramRow("b", "")]

    row = ProgramRow("top", "", make=make)
    assert (row.has_inside, made) == (True, [])
    assert [(r.name, r.place, r.parent) for r in row.inside] == [("a", 0, row), ("b", 1, row)]
    assert row.inside is row.inside
    assert made == [1]


def test_very_many_rows_are_counted(monkeypatch):
    monkeypatch.setattr(rows, "MOST_INSIDE", 3)
    row = ProgramRow("top", "", make=lambda: (ProgramRow(str(i), "") for i in range(10)))
    assert [r.name for r in row.inside] == ["0", "1", "2", "and 7 more"]
