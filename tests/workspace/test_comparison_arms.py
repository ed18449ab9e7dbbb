"""Whether one arm was recorded before the other, as far as files state it."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.builders.compare_sessions import arm, write_sessions
from tests.paths import DATA
from viewer.recording.run_file import SCHEMA
from viewer.workspace.comparison_arms import order_note

HOST = (DATA / "torq/host_h4_latest.csv").read_text()
LATER = 60_000_000_000  # ns between two recordings


@pytest.fixture
def recorded(tmp_path):
    """Writes two sessions per arm, modified at some times in ns: those of A, then those of B."""

    def write(*times: int):
        base = {"add.out": 20_000}
        paths = [
            *write_sessions(tmp_path / "a", "a", base, base),
            *write_sessions(tmp_path / "b", "b", base, base),
        ]
        for path, time in zip(paths, times, strict=True):
            os.utime(path, ns=(time, time))
        return arm(*paths[:2]), arm(*paths[2:])

    return write


def at(*places: int) -> list[int]:
    return [LATER * place for place in places]


def test_times_of_files_are_a_hint(recorded):
    note = order_note(*recorded(*at(1, 2, 3, 4)))
    assert note.startswith("All sessions of A were recorded before those of B, ")
    assert note.endswith("This is only a hint, from the modification times of the files.")
    assert "All sessions of B were recorded before those of A" in order_note(
        *recorded(*at(3, 4, 1, 2))
    )


def test_sessions_in_turn_are_fine(recorded):
    assert order_note(*recorded(*at(1, 3, 2, 4))) == ""


def test_copies_made_faster_than_they_could_be_recorded_say_nothing(recorded):
    assert order_note(*recorded(1000, 2000, 3000, 4000)) == ""


def test_files_that_are_gone_say_nothing(recorded):
    a, b = recorded(*at(1, 2, 3, 4))
    os.remove(a.sessions[0].table.trace.path)
    assert order_note(a, b) == ""


def test_one_session_and_one_file_have_no_order(recorded, tmp_path):
    a, b = recorded(*at(1, 2, 3, 4))
    assert order_note(a, a) == ""
    assert order_note(arm(tmp_path / "a/a0.etdp"), b) == ""


@pytest.mark.parametrize(("shifts", "is_apart"), [((0, 1, 2, 3), True), ((0, 2, 1, 3), False)])
def test_files_on_one_clock_state_their_order(tmp_path, shifts, is_apart):
    paths = []
    for number, shift in enumerate(shifts):
        paths.append(tmp_path / f"host{number}.csv")
        paths[-1].write_text(
            re.sub(r"\d{10}", lambda m, by=shift: str(int(m[0]) + by * 10_000_000), HOST)
        )
    note = order_note(arm(*paths[:2]), arm(*paths[2:]))
    assert bool(note) == is_apart
    assert "hint" not in note


def test_files_that_state_the_time_of_day_state_their_order(tmp_path):
    """Whatever the modification times are."""

    def ranks(*hours: int):
        paths = []
        for hour in hours:
            text = (DATA / "clocks/m0.pt.trace.json").read_text()
            base = 1_700_000_000_000_000_000 + hour * 3600 * 10**9
            path = tmp_path / f"{hour}.json"
            path.write_text(text.replace("1700000000000000000", str(base)))
            os.utime(path, ns=(LATER, LATER))
            paths.append(path)
        return arm(*paths)

    note = order_note(ranks(3, 4), ranks(1, 2))
    assert note.startswith("All sessions of B were recorded before those of A, ")
    assert "hint" not in note
    assert order_note(ranks(1, 4), ranks(2, 3)) == ""


def state(side, **facts):
    """Write how each session of an arm ran. facts: a list of values per name."""
    for i, session in enumerate(side.sessions):
        path = Path(session.table.trace.path).with_suffix(".run.json")
        own = {name: values[i] for name, values in facts.items()}
        path.write_text(json.dumps({"schema": SCHEMA, **own}))


def again(side):
    return arm(*(session.table.trace.path for session in side.sessions))


def test_a_recording_states_its_order_whatever_the_times_of_files(recorded):
    a, b = recorded(*at(1, 2, 3, 4))
    state(a, recording=["r", "r"], order=[1, 3])
    state(b, recording=["r", "r"], order=[2, 4])
    assert order_note(again(a), again(b)) == ""
    state(b, recording=["r", "r"], order=[4, 5])
    assert order_note(again(a), again(b)).endswith("Record A and B in turn.")


def test_of_two_recordings_the_times_of_day_count(recorded):
    a, b = recorded(*at(1, 3, 2, 4))
    state(a, recording=["r", "r"], order=[1, 2], started=["2026-01-01T10:00Z", "2026-01-01T11:00Z"])
    state(b, recording=["q", "q"], order=[1, 2], started=["2026-01-01T12:00Z", "2026-01-01T13:00Z"])
    assert order_note(again(a), again(b)).startswith("All sessions of A were recorded before")
