"""Rates of delegates' clocks in a session file: by input, and apart from the file's own clock."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.view.sessions.opened_files import opened_files
from viewer.view.sessions.session_file import (
    ClockChoice,
    SavedChoices,
    TableColumns,
    choices_of,
    kept_choices,
)
from viewer.workspace.link_choices import Choices, apply

QNN = str(DATA / "etdump/SYN_qnn_like.etdp")


def test_the_rate_of_a_delegates_clock_comes_back_with_its_file():
    space = workspace_of(QNN)
    space.set_clock(QNN, Fraction(2))
    space.set_delegate_clock(QNN, "cycles", Fraction(5, 4))
    kept = kept_choices(space, space.paths)
    assert kept.clocks == (ClockChoice(0, "2"), ClockChoice(0, "5/4", "cycles"))
    again = msgspec.json.decode(msgspec.json.encode(kept), type=SavedChoices)
    other = workspace_of(QNN)
    assert apply(choices_of(again, [QNN]), other) == []
    assert other.choices.delegate_clocks == {(QNN, "cycles"): Fraction(5, 4)}
    assert other.choices.clocks == {QNN: Fraction(2)}
    assert choices_of(again, [None]).delegate_clocks == ()


def test_a_clock_of_a_file_is_written_as_before():
    assert msgspec.json.encode(ClockChoice(0, "2")) == b'{"profile":0,"ns_per_tick":"2"}'


def test_what_the_columns_of_a_table_are_comes_back_with_it(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("Op,Begin,Took\nconv,1,2\n")
    columns = "dur=Took,unit=us"
    space = opened_files([str(path)], Choices(table_columns=(("", columns),))).workspace
    kept = kept_choices(space, space.paths)
    again = msgspec.json.decode(msgspec.json.encode(kept), type=SavedChoices)
    choices = choices_of(again, [str(path)])
    assert choices.table_columns == ((str(path), columns),)
    assert not opened_files([str(path)], choices).failures
    damaged = SavedChoices(table_columns=(TableColumns(0, "foo"), TableColumns(7, columns)))
    assert choices_of(damaged, [str(path)]).table_columns == ()


def test_the_columns_of_no_table_are_refused():
    opened = opened_files([QNN], Choices(table_columns=(("", "unit=us"),)))
    assert opened.refused == ("--columns unit=us: no open file is a plain CSV",)
    opened = opened_files([QNN], Choices(table_columns=((QNN, "unit=us"),)))
    assert opened.refused == (f"--columns unit=us: {QNN} is no plain CSV",)
