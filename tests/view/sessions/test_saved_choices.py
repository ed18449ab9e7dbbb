"""Rates of delegates' clocks in a session file: by input, and apart from the file's own clock."""

from __future__ import annotations

from fractions import Fraction

import msgspec

from tests.paths import DATA
from viewer.view.sessions.saved_choices import ClockChoice, SavedChoices, choices_of, kept_choices
from viewer.workspace.link_choices import apply
from viewer.workspace.workspace import Workspace

QNN = str(DATA / "etdump/SYN_qnn_like.etdp")


def test_the_rate_of_a_delegates_clock_comes_back_with_its_file():
    space = Workspace()
    space.open(QNN)
    space.set_clock(QNN, Fraction(2))
    space.set_delegate_clock(QNN, "cycles", Fraction(5, 4))
    kept = kept_choices(space, space.paths)
    assert kept.clocks == (ClockChoice(0, "2"), ClockChoice(0, "5/4", "cycles"))
    again = msgspec.json.decode(msgspec.json.encode(kept), type=SavedChoices)
    other = Workspace()
    other.open(QNN)
    assert apply(choices_of(again, [QNN]), other) == []
    assert other.choices.delegate_clocks == {(QNN, "cycles"): Fraction(5, 4)}
    assert other.choices.clocks == {QNN: Fraction(2)}
    assert choices_of(again, [None]).delegate_clocks == ()


def test_a_clock_of_a_file_is_written_as_before():
    assert msgspec.json.encode(ClockChoice(0, "2")) == b'{"profile":0,"ns_per_tick":"2"}'
