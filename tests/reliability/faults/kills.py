"""Processes killed at a random moment: their files are the old or the new ones, whole and readable.

Writers of exports and sessions fork from a process that has read the inputs, so that a kill takes
milliseconds and hits the write instead of the start. Windows are killed as real programs.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.reliability.campaign import Finding, Job, Options, Outcome
from tests.reliability.programs import (
    DUMP,
    OPSCOPE,
    RECORD,
    ROOT,
    environment,
    parts_in,
    run,
)

_SUFFIXES = (".pftrace", ".pb.gz", ".csv", ".tsv", ".parquet", ".svg", ".opscope")
# Of each suffix; of windows.
_LONG, _SHORT = (58, 100), (2, 1)
_QUICK = 3  # suffixes of a short run: after each, Opscope starts once
_SIGNALS = (signal.SIGKILL, signal.SIGTERM)
_SHARE_IN_WRITE = 1.2
_BOOKMARKS = 200
_ENDS_WITHIN = 30.0  # seconds
_WORKS_SECONDS = 5.0  # at most
# Bookmarks are saved at most once a second. What is older than this must be in a file.
_SAVED_WITHIN = 3.0
# SIGTERM, as a shell tells it, or a program without a handler.
_TERMINATED = (0, 128 + signal.SIGTERM, -signal.SIGTERM)
Write = Callable[[str], object]


def jobs(options: Options) -> list[Job]:
    """Return the jobs that kill processes."""
    return [
        Job("faults", "killed windows", kill_windows, (), 3600.0),
        Job("faults", "killed writes", kill_writes, (), 3600.0),
    ]


# -- exports and sessions --------------------------------------------------------------------------


def kill_writes(options: Options) -> Outcome:
    """Kill processes that write files again and again, old and new content in turn."""
    count = _LONG[0] if options.is_long else _SHORT[0]
    chosen = random.Random(options.seed)
    findings: list[Finding] = []
    kept, changed, left = 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="opscope-reliability-") as name:
        folder = Path(name)
        suffixes = _SUFFIXES if options.is_long else chosen.sample(_SUFFIXES, _QUICK)
        for suffix in suffixes:
            old, new = _writers(suffix)
            target = folder / f"out{suffix}"
            contents = []
            began = time.monotonic()
            for write in (new, old):
                write(str(target))
                contents.append(target.read_bytes())
            took = time.monotonic() - began
            if contents[0] == contents[1]:
                findings.append(Finding(f"{suffix}: both contents are the same: nothing is tested"))
            for _ in range(count):
                before = target.read_bytes()
                how = chosen.choice(_SIGNALS)
                wait = chosen.random() * took * _SHARE_IN_WRITE
                _kill_a_writer((new, old), target, how, wait)
                after = target.read_bytes() if target.exists() else b""
                kept, changed = kept + (after == before), changed + (after != before)
                if after not in contents:
                    findings.append(
                        Finding(
                            f"{suffix}: {how.name} after {1000 * wait:.1f} ms left neither the old "
                            f"nor the new file, but {len(after)} bytes"
                        )
                    )
                    target.write_bytes(contents[0])
            left += len(parts_in(folder))
            findings += _remaining(folder, suffix)
    figures = f"{kept} old, {changed} new; {left} .part files before the next start"
    return Outcome(kept + changed, tuple(findings), figures)


def _remaining(folder: Path, suffix: str) -> list[Finding]:
    """What the next start of Opscope, which writes to the same folder, leaves there."""
    given = environment(folder / "user")
    end = run((*OPSCOPE, "export", str(DUMP), "-o", str(folder / "next.csv")), given)
    parts = parts_in(folder)
    for part in parts:
        (folder / part).unlink()
    found = [Finding(f"next start: {end.fault or end.err}")] if end.code else []
    if parts:
        found.append(
            Finding(f"{suffix}: after the next start, {len(parts)} .part files remain", parts[0])
        )
    return found


def _kill_a_writer(writers: tuple[Write, Write], target: Path, how: int, wait: float) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.write(writing, b"!")
            while True:
                for write in writers:
                    write(str(target))
        finally:
            os._exit(1)
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    time.sleep(wait)
    os.kill(child, how)
    os.waitpid(child, 0)


def _writers(suffix: str) -> tuple[Write, Write]:
    """Two functions that write files of a kind with different contents."""
    from tests.builders.workspaces import export
    from viewer.codecs.reading import never_cancelled, no_progress
    from viewer.render.flame_graph.svg import write_svg
    from viewer.reports.calls import CallOptions, flame_graphs
    from viewer.view.sessions.session_file import (
        VERSION,
        SavedBookmark,
        SavedSession,
        SavedView,
        input_of,
    )
    from viewer.view.sessions.session_file import write as write_session
    from viewer.workspace.workspace import Workspace

    old, new = Workspace(), Workspace()
    old.open(str(DUMP))
    for path in (DUMP, RECORD):
        new.open(str(path))
    if suffix == ".svg":
        options = [CallOptions("name", up, None, None, None, 0.0, None) for up in (False, True)]
        graphs = [flame_graphs(old, one)[0] for one in options]
        return lambda p: write_svg(p, graphs[0]), lambda p: write_svg(p, graphs[1])
    if suffix == ".opscope":
        stamps = [old.stamp(str(DUMP))]
        inputs = (input_of(str(DUMP), stamps[0], "/"),)
        marks = tuple(SavedBookmark(n, n + 1, f"bookmark {n}") for n in range(_BOOKMARKS))
        saved = [SavedSession(VERSION, inputs, view=SavedView(bookmarks=m)) for m in ((), marks)]

        def session(number: int) -> Write:
            return lambda path: write_session(
                path, saved[number], stamps, no_progress, never_cancelled
            )

        return session(0), session(1)
    return lambda path: export(old, path), lambda path: export(new, path)


# -- windows ---------------------------------------------------------------------------------------


def kill_windows(options: Options) -> Outcome:
    """Kill windows whose user sets bookmarks and saves; then start the next one."""
    count = _LONG[1] if options.is_long else _SHORT[1]
    chosen = random.Random(options.seed)
    findings: list[Finding] = []
    offered = 0
    for number in range(count):
        how = _SIGNALS[(options.seed + number) % len(_SIGNALS)]
        with tempfile.TemporaryDirectory(prefix="opscope-reliability-") as name:
            told, found = _kill_a_window(Path(name), how, chosen.random())
            offered += told
            findings += found
    return Outcome(count, tuple(findings), f"{offered} restored at the next start")


def _kill_a_window(folder: Path, how: signal.Signals, wait: float) -> tuple[bool, list[Finding]]:
    from viewer.codecs.reading import UnreadableFile
    from viewer.view.sessions.session_file import read

    given = environment(folder)
    session = folder / "work.opscope"
    with start_busy_window(given, session) as process:
        assert process.stdout is not None
        lines = process.stdout.readline()
        time.sleep(wait * _WORKS_SECONDS)
        killed = time.monotonic()
        process.send_signal(how)
        try:
            process.wait(_ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            return False, [Finding(f"{how.name}: the window did not end")]
        lines += process.stdout.read()
        assert process.stderr is not None
        err = process.stderr.read().decode()
    # SIGTERM saves everything.
    made = bookmarks_made(lines, killed - (how is not signal.SIGTERM) * _SAVED_WITHIN)
    found: list[Finding] = []
    if not lines:
        found.append(Finding("the window did not start", err))
    if "Traceback" in err:
        found.append(Finding(f"{how.name}: traceback", err[-1000:]))
    if how is signal.SIGTERM and process.returncode not in _TERMINATED:
        found.append(Finding(f"SIGTERM: exit code {process.returncode}", err[-500:]))
    for path in _sessions(folder):
        try:
            read(str(path))
        except UnreadableFile as error:
            found.append(Finding(f"{how.name}: {error}"))
    is_saved = any(path.name.startswith("autosave-") for path in _sessions(folder))
    best = saved_bookmarks(folder)
    if best < made:
        found.append(Finding(f"{how.name}: {best} of {made} bookmarks are in a file"))
    # After SIGTERM, the session is the last one in the menu instead. One that was killed before its
    # first save has nothing to offer; how many bookmarks were lost is checked above.
    expected = ["offered", "nothing"] if how is signal.SIGKILL and is_saved else ["nothing"]
    offered, others = next_starts(folder, given, how.name, expected)
    return offered, [*found, *others]


def _sessions(folder: Path) -> list[Path]:
    """The session files below a folder; the settings folder ends like them."""
    return [path for path in folder.rglob("*.opscope") if path.is_file()]


def saved_bookmarks(folder: Path) -> int:
    """The most bookmarks in any session file below a folder."""
    from viewer.view.sessions.session_file import read

    views = [read(str(path)).view for path in _sessions(folder)]
    return max((len(view.bookmarks) for view in views if view is not None), default=0)


def bookmarks_made(lines: bytes, until: float) -> int:
    """How many bookmarks a busy window had at a time, by what it printed."""
    pairs = [line.split() for line in lines.splitlines()]
    return max(
        (int(pair[0]) for pair in pairs if len(pair) == 2 and float(pair[1]) < until), default=0
    )


def next_starts(
    folder: Path, given: dict[str, str], what: str, expected: list[str]
) -> tuple[bool, list[Finding]]:
    """Start again after `what`, as often as `expected` says: "offered" to restore, or "nothing".

    Returns whether the first one offered, and the findings.
    """
    found: list[Finding] = []
    offers = []
    for _ in expected:
        end = run((sys.executable, "-m", "tests.reliability.faults.next_window"), given)
        offers.append(end.out.strip())
        if end.fault:
            found.append(Finding(f"start after {what}: {end.fault}", end.err[-1000:]))
    if offers != expected:
        found.append(Finding(f"{what}: the next starts: {offers}"))
    parts = parts_in(folder)
    if parts:
        found.append(Finding(f"{what}: .part files remain after the next start: {parts}"))
    folders = [path.name for path in (folder / "tmp").iterdir()]
    if folders:
        found.append(Finding(f"{what}: temporary folders remain: {folders}"))
    return offers[:1] == ["offered"], found


def start_busy_window(given: dict[str, str], session: Path) -> subprocess.Popen[bytes]:
    """Start a window whose user sets bookmarks and saves; it prints their number, line by line."""
    return subprocess.Popen(
        (sys.executable, "-m", "tests.reliability.faults.busy_window", str(session)),
        env=given,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
