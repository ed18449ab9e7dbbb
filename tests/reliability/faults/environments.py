"""Odd environments: no home, no locale, closed streams, few descriptors, odd paths, no fonts.

In each, the commands and the window succeed, or say in one line why not. `--long` runs every
command in every environment; `--short` one command in a few of them, chosen by the seed.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.reliability.campaign import Finding, Job, Options, Outcome
from tests.reliability.programs import DUMP, OPSCOPE, Ended, environment, run

COMMANDS = ("info", "export", "screenshot", "window")
_WINDOW = (sys.executable, "-m", "tests.reliability.faults.short_window")
_FEW, _FEWER = 64, 16  # open files
_KB = 1024
_GROUPS = 3
_QUICK = 6  # environments of a short run: a start takes two seconds


@dataclass(frozen=True)
class Environment:
    """How an environment differs from a plain one.

    Attributes:
        variables: what is set, with {} for the folder of the job; None is unset.
        arrange: changes the folder of the job before the start.
        before: runs in the new process.
        name: of the input file.
        may_fail: the commands that may end with one line of error.
    """

    title: str
    variables: dict[str, str | None] = field(default_factory=dict)
    arrange: Callable[[Path], None] | None = None
    before: Callable[[], None] | None = None
    name: bytes = b"demo.etdp"
    may_fail: tuple[str, ...] = ()


def _locked(*names: str) -> Callable[[Path], None]:
    """Make folders read-only."""

    def lock(folder: Path) -> None:
        for name in names:
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name).chmod(0o500)

    return lock


def _closed(*numbers: int) -> Callable[[], None]:
    def close() -> None:
        for number in numbers:
            os.close(number)

    return close


def _limited(what: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(what, (most, most))


def _no_fonts(folder: Path) -> None:
    (folder / "fonts.conf").write_text("<fontconfig></fontconfig>")


def _in_removed_folder() -> None:
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)


def _full_streams(*numbers: int) -> Callable[[], None]:
    def fill() -> None:
        for number in numbers:
            os.dup2(os.open("/dev/full", os.O_WRONLY), number)

    return fill


XDG = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
ENVIRONMENTS = (
    Environment("plain"),
    Environment("HOME unset", {"HOME": None}),
    Environment("HOME missing", {"HOME": "{}/missing"}),
    Environment("HOME empty", {"HOME": ""}),
    Environment("HOME read-only", arrange=_locked("home")),
    Environment("HOME is a file", {"HOME": "{}/demo.etdp"}),
    Environment("XDG unset", dict.fromkeys((*XDG, "XDG_RUNTIME_DIR"))),
    Environment("XDG missing", dict.fromkeys((*XDG, "XDG_RUNTIME_DIR"), "{}/missing/one")),
    Environment(
        "XDG read-only",
        dict.fromkeys((*XDG, "XDG_RUNTIME_DIR"), "{}/locked"),
        _locked("locked"),
    ),
    Environment("XDG relative", dict.fromkeys((*XDG, "XDG_RUNTIME_DIR"), "relative/path")),
    Environment(
        "settings folder read-only",
        {"XDG_CONFIG_HOME": "{}/config"},
        _locked("config/io.github.opscope", "config"),
    ),
    Environment("TMPDIR unset", {"TMPDIR": None}),
    Environment("TMPDIR missing", {"TMPDIR": "{}/missing"}),
    Environment("TMPDIR read-only", {"TMPDIR": "{}/locked"}, _locked("locked")),
    Environment("LANG unset", {"LANG": None}),
    Environment("LANG C", {"LANG": "C", "LC_ALL": "C"}),
    Environment(
        "LANG C, UTF-8 off", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ),
    Environment("LANG C.UTF-8", {"LC_ALL": "C.UTF-8"}),
    Environment("LANG tr_TR", {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}),
    Environment("LANG ja_JP", {"LC_ALL": "ja_JP.eucJP", "LANG": "ja_JP.eucJP"}),
    Environment("LANG nonsense", {"LC_ALL": "xx_YY.nothing", "LANGUAGE": "xx"}),
    Environment("stdin closed", before=_closed(0)),
    Environment("stdout closed", before=_closed(1), may_fail=("info",)),
    Environment("stderr closed", before=_closed(2)),
    Environment("all streams closed", before=_closed(0, 1, 2), may_fail=("info",)),
    Environment("stdout full", before=_full_streams(1), may_fail=("info",)),
    Environment("stdout and stderr full", before=_full_streams(1, 2), may_fail=("info",)),
    Environment("folder removed", before=_in_removed_folder),
    Environment("umask 777", before=lambda: os.umask(0o777) and None),
    Environment("few descriptors", before=_limited(resource.RLIMIT_NOFILE, _FEW)),
    Environment(
        "very few descriptors",
        before=_limited(resource.RLIMIT_NOFILE, _FEWER),
        may_fail=COMMANDS,
    ),
    Environment(
        "files of at most 1 kB",
        before=_limited(resource.RLIMIT_FSIZE, _KB),
        may_fail=("export", "screenshot"),
    ),
    Environment(
        "no files", before=_limited(resource.RLIMIT_FSIZE, 0), may_fail=("export", "screenshot")
    ),
    Environment("no DBUS", {"DBUS_SESSION_BUS_ADDRESS": "unix:path={}/missing"}),
    Environment("spaces in the path", name=b"a b  c .etdp"),
    Environment("newline in the path", name=b"a\nb\x1b[31m.etdp"),
    Environment("path not UTF-8", name=b"\xff\xfe caf\xe9.etdp"),
    Environment("path not UTF-8, LANG C", {"LC_ALL": "C"}, name=b"\xff\xfe caf\xe9.etdp"),
    Environment("longest name", name=b"n" * 250 + b".etdp"),
    Environment("COLUMNS 1", {"COLUMNS": "1", "LINES": "1"}),
    Environment("COLUMNS nonsense", {"COLUMNS": "wide"}),
    Environment("QT_SCALE_FACTOR 3", {"QT_SCALE_FACTOR": "3"}),
    Environment("QT_SCALE_FACTOR nonsense", {"QT_SCALE_FACTOR": "big"}),
    Environment("no fonts", {"FONTCONFIG_FILE": "{}/fonts.conf"}, _no_fonts),
    Environment("style and theme unknown", {"QT_STYLE_OVERRIDE": "x", "QT_QPA_PLATFORMTHEME": "x"}),
)


def jobs(options: Options) -> list[Job]:
    """Return the jobs of odd environments, which run in three groups."""
    titles = [one.title for one in ENVIRONMENTS]
    if not options.is_long:
        titles = random.Random(options.seed).sample(titles, _QUICK)
        return [Job("faults", "environment", check, (tuple(titles),))]
    groups = [titles[number::_GROUPS] for number in range(_GROUPS)]
    return [
        Job("faults", f"environment {number}", check, (tuple(group),), 1800.0)
        for number, group in enumerate(groups, 1)
    ]


def check(options: Options, titles: tuple[str, ...]) -> Outcome:
    """Run the commands in environments."""
    findings: list[Finding] = []
    count, failures = 0, 0
    chosen = random.Random(f"{options.seed} {titles[0]}")
    for one in ENVIRONMENTS:
        if one.title not in titles:
            continue
        commands = COMMANDS if options.is_long else (chosen.choice(COMMANDS),)
        for command in commands:
            ended, fault = check_one(one, command)
            count += 1
            failures += ended.code != 0
            if fault:
                findings.append(
                    Finding(f"{one.title}: {command}: {fault}", _shortened(ended.err or ended.out))
                )
    return Outcome(count, tuple(findings), f"{failures} refused with one line")


def check_one(one: Environment, command: str) -> tuple[Ended, str]:
    """Run a command in an environment; returns its end, and what is wrong about it or ""."""
    folder = Path(tempfile.mkdtemp(prefix="opscope-reliability-"))
    try:
        given: dict[str, str] = environment(folder)
        path = os.path.join(os.fsencode(folder), one.name)
        shutil.copyfile(DUMP, path)
        if one.arrange is not None:
            one.arrange(folder)
        for name, value in one.variables.items():
            given.pop(name, None)
            if value is not None:
                given[name] = value.format(folder)
        output = folder / ("out.csv" if command == "export" else "out.png")
        reading, writing = os.pipe()
        start: tuple[str | bytes, ...] = {
            "info": (*OPSCOPE, "info", path),
            "export": (*OPSCOPE, "export", path, "-o", str(output)),
            "screenshot": (*OPSCOPE, "screenshot", path, "-o", str(output), "--size", "640x480"),
            "window": (*_WINDOW, str(writing), path),
        }[command]
        ended = run(start, given, before=one.before, pass_fds=(writing,))
        os.close(writing)
        told = os.read(reading, 100)
        os.close(reading)
        unheard = ("stderr" in one.title or "all streams" in one.title) and ended.code == 1
        fault = "" if unheard else ended.fault  # the one line is not seen
        return ended, fault or _wrong(one, command, ended, output, told)
    finally:
        for path_, folders, _ in os.walk(folder):
            for name in folders:
                os.chmod(os.path.join(path_, name), 0o700)
        shutil.rmtree(folder)


def _wrong(one: Environment, command: str, ended: Ended, output: Path, told: bytes) -> str:
    silent = "stdout" in one.title or "streams" in one.title
    if ended.code:
        return "" if command in one.may_fail else f"refused: {ended.err.strip()}"
    if command == "info" and not silent and "slices" not in ended.out:
        return f"wrong answer: {ended.out[:200]!r}"
    if command in ("info", "export") and ended.err:
        return f"wrote on stderr: {ended.err[:200]!r}"
    if command == "window":
        return "" if told == b"1" else f"the window opened {told!r} profiles"
    if command == "info":
        return ""
    output.chmod(0o600)  # after umask 777
    head = output.read_bytes()[:8]
    right = head == b"\x89PNG\r\n\x1a\n" if command == "screenshot" else head.isascii()
    return "" if right and output.stat().st_size > _KB else f"wrong output: {head!r}"


def _shortened(text: str) -> str:
    return "\n    ".join(text.strip().splitlines()[-12:])
