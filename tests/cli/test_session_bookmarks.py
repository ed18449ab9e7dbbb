"""`opscope compare --split-at`: the inferences before and after a bookmark, or inside a span."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from tests.builders.command_line import run
from tests.builders.compare_sessions import write_session
from tests.paths import DATA
from viewer.cli.session_files import alignment_of
from viewer.codecs.file_bytes import stamp_of
from viewer.formats import open_file
from viewer.gui.session.export_scope import shifts
from viewer.view.clock_groups import Tie
from viewer.view.sessions.saved_view import kept_view
from viewer.view.sessions.session_file import (
    SavedBookmark,
    SavedClock,
    SavedSession,
    SavedTie,
    SavedView,
    encoded,
    input_of,
)

OTHER = DATA / "torq/host_h4_latest.csv"
KERNELS = {"add.out": [1000] * 6 + [1500] * 6, "mul.out": [2000] * 12}


@pytest.fixture
def dump(tmp_path):
    return write_session(tmp_path / "run.etdp", KERNELS)


@pytest.fixture
def session_of(tmp_path, dump):
    """Writes a session file of the dump and another profile, with bookmarks."""

    def write(*marks: SavedBookmark, name: str = "work.opscope") -> str:
        inputs = tuple(
            input_of(str(path), stamp_of(str(path)), str(tmp_path)) for path in (dump, OTHER)
        )
        path = tmp_path / name
        path.write_bytes(encoded(SavedSession(1, inputs, view=SavedView(bookmarks=marks))))
        return str(path)

    return write


def bounds(dump, number: int) -> tuple[int, int]:
    """The start and end of an inference, in ns from the start of the profile."""
    trace = open_file(str(dump))
    own = next(one for one in trace.inferences() if one.number == number)
    return own.start - trace.start, own.end - trace.start


def split(capsys, session: str, name: str):
    code, out, err = run(capsys, "compare", session, "--split-at", name, "--json")
    assert code == 0, err
    return json.loads(out)


def test_a_moment_divides_what_ends_before_it_from_what_starts_after_it(capsys, dump, session_of):
    start, _ = bounds(dump, 7)
    facts = split(
        capsys, session_of(SavedBookmark(start, start, "throttled", clock=0)), "throttled"
    )
    # Of 12 inferences, 3 warm up.
    assert (facts["arms"]["a"]["runs"], facts["arms"]["b"]["runs"]) == ([3], [6])
    assert facts["arms"]["a"]["choice"] == 'before "throttled"'
    add = next(row for row in facts["rows"] if row["label"] == "add.out")
    assert (add["a"]["ns"], add["b"]["ns"], add["reason"]) == (1000, 1500, "one session")
    assert "host_h4_latest.csv is on another clock than the bookmark" in facts["problems"][0]
    middle = session_of(SavedBookmark(start + 1, start + 1, "inside of it"))
    facts = split(capsys, middle, "inside of it")
    assert (facts["arms"]["a"]["runs"], facts["arms"]["b"]["runs"]) == ([3], [5])


def test_a_span_divides_what_is_inside_from_what_is_outside(capsys, dump, session_of):
    span = SavedBookmark(bounds(dump, 5)[0], bounds(dump, 8)[1], "hot")
    facts = split(capsys, session_of(span), "hot")
    assert (facts["arms"]["a"]["runs"], facts["arms"]["b"]["runs"]) == ([4], [5])
    assert facts["arms"]["b"]["choice"] == 'outside "hot"'


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ((), "no session file among the inputs has a bookmark with a name"),
        ((SavedBookmark(5, 5),), "no session file among the inputs has a bookmark with a name"),
        (
            (SavedBookmark(2000, 2000, "x"),),
            'no bookmark has this name; there are: "x" (at 2.000 µs of run.etdp)',
        ),
        (
            (SavedBookmark(0, 9, "hot"), SavedBookmark(7, 7, "hot", clock=1)),
            '2 bookmarks have this name: "hot" (9 ns from 0 of run.etdp), '
            '"hot" (at 7 ns of host_h4_latest.csv)',
        ),
    ],
)
def test_unknown_and_ambiguous_names_are_wrong_usage(capsys, session_of, marks, said):
    code, _, err = run(capsys, "compare", session_of(*marks), "--split-at", "hot")
    assert code == 2
    assert f"--split-at hot: {said}" in err


def test_a_side_without_an_inference_is_one_line(capsys, session_of):
    path = session_of(SavedBookmark(0, 0, "start"))
    code, _, err = run(capsys, "compare", path, "--split-at", "start")
    assert (code, err) == (
        1, 'opscope: arm A (before "start"): there is no inference to compare\n'
    )  # fmt: skip


def test_another_clock_rate_than_in_the_session_is_wrong_usage(capsys, session_of):
    path = session_of(SavedBookmark(5000, 5000, "warm"))
    rate = ["--clock", "run.etdp=500MHz"]
    code, _, err = run(capsys, "compare", path, "--split-at", "warm", *rate)
    assert code == 2
    assert "the clock rate of run.etdp differs in" in err


def test_a_damaged_session_beside_a_good_one_fails_alone(capsys, tmp_path, dump, session_of):
    bad = tmp_path / "bad.opscope"
    bad.write_text('{"opscope_session": 1, "inputs": 3}')
    code, _, err = run(capsys, "compare", str(dump), str(bad), "--split-at", "warm")
    assert code == 1
    assert err.count("\n") >= 2
    assert "--split-at warm: no session file" in err


HOST, COMPILE = DATA / "torq/host_h4_latest.csv", DATA / "torq/compile_c3_taskid.csv"


@pytest.fixture
def tied_session(tmp_path):
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


def test_it_takes_the_alignment_of_the_session(capsys, tmp_path, tied_session):
    path = tied_session(tied(0, 1_000_000, "start of run 1"), tied(1, 250, "start"))
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


def test_a_lone_anchor_aligns_nothing_and_odd_inputs_are_skipped(capsys, tmp_path, tied_session):
    path = tied_session(tied(0, 5), tied(1, None), tied(99, 5), tied(-1, 5), tied(2**70, 5))
    stated, err = exported(capsys, tmp_path, path)
    assert "source1.alignment" not in stated
    assert "align" not in err


def test_a_profile_at_another_rate_is_not_aligned_and_it_is_said(capsys, tmp_path, tied_session):
    path = tied_session(tied(0, 5), tied(1, 250))
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
