"""`opscope export` of a session file whose clocks are aligned."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.builders.command_line import run
from tests.paths import DATA
from viewer.cli.session_alignment import alignment_of
from viewer.codecs.file_stamps import stamp_of
from viewer.formats import open_file
from viewer.gui.session.files.export_scope import shifts
from viewer.view.sessions.saved_view import kept_view
from viewer.view.sessions.session_file import (
    SavedClock,
    SavedSession,
    SavedTie,
    SavedView,
    encoded,
    input_of,
)
from viewer.view.ties import Tie

HOST, COMPILE = DATA / "torq/host_h4_latest.csv", DATA / "torq/compile_c3_taskid.csv"


@pytest.fixture
def session_of(tmp_path):
    """Writes a session of the host's and the compiler's clock with these anchors."""

    def write(*clocks: SavedClock, files: tuple[Path, ...] = (HOST, COMPILE)) -> str:
        inputs = tuple(input_of(str(path), stamp_of(str(path)), str(tmp_path)) for path in files)
        path = tmp_path / "work.opscope"
        path.write_bytes(encoded(SavedSession(1, inputs, view=SavedView(clocks=clocks))))
        return str(path)

    return write


def tied(number: int, anchor: int | None, reason: str = "") -> SavedClock:
    return SavedClock(number, 0, 1, SavedTie(anchor_ns=anchor, reason=reason))


def exported(capsys, tmp_path, *arguments: str) -> tuple[dict[str, int | str], str]:
    """The metadata of an exported trace, and what the command complained about."""
    to = tmp_path / "out.pftrace"
    code, _, err = run(capsys, "export", *arguments, "-o", str(to))
    assert code == 0, err
    trace = open_file(str(to))
    assert int(trace.slices.start.min()) == 0
    return dict(trace.provenance), err


def test_it_takes_the_alignment_of_the_session(capsys, tmp_path, session_of):
    path = session_of(tied(0, 1_000_000, "start of run 1"), tied(1, 250, "start"))
    aligned, err = exported(capsys, tmp_path, path)
    assert "align" not in err
    plain, _ = exported(capsys, tmp_path, str(HOST), str(COMPILE))
    assert aligned["source1.alignment"] == "start of run 1"
    assert aligned["source2.alignment"] == "start"
    assert (aligned["source1.alignment_shift_ns"], aligned["source2.alignment_shift_ns"]) == (
        0, 999_750,
    )  # fmt: skip
    assert aligned["source2.offset_ns"] == plain["source2.offset_ns"] + 999_750
    assert aligned["source1.offset_ns"] == plain["source1.offset_ns"]
    assert "source1.alignment" not in plain


def test_a_lone_anchor_aligns_nothing_and_odd_inputs_are_skipped(capsys, tmp_path, session_of):
    path = session_of(tied(0, 5), tied(1, None), tied(99, 5), tied(-1, 5), tied(2**70, 5))
    stated, err = exported(capsys, tmp_path, path)
    assert "source1.alignment" not in stated
    assert "align" not in err


def test_a_profile_at_another_rate_is_not_aligned_and_it_is_said(capsys, tmp_path, session_of):
    path = session_of(tied(0, 5), tied(1, 250))
    stated, err = exported(capsys, tmp_path, path, "--clock", "400MHz")
    assert "source1.alignment" not in stated
    assert f"{COMPILE}: not aligned, since its clock rate differs in {path}" in err


def test_the_window_and_the_command_line_shift_alike(opened, tmp_path):
    session = opened(HOST, COMPILE)
    host, compiled = (group.key for group in session.groups)
    ties = {host: Tie(anchor=123_456, reason="a"), compiled: Tie(Fraction(2), 789, "b")}
    session.change(replace(session.state, ties=ties))
    paths = session.workspace.paths
    view = kept_view(session.state, session.traces, paths)
    inputs = tuple(input_of(path, stamp_of(path), str(tmp_path)) for path in paths)
    path = tmp_path / "window.opscope"
    path.write_bytes(encoded(SavedSession(1, inputs, view=view)))
    assert shifts(session) == {0: (0, "a"), 1: (123_456 - 789, "b")}
    assert alignment_of([str(path)], session.workspace) == (shifts(session), [])
