"""Commands that get SIGINT, SIGTERM or SIGHUP at a random moment: one line, and nothing is left.

Before a command catches signals, the interpreter starts, which takes a hundredth of a second: then
Python ends in its own way, and there is nothing to leave. So the moment is random from there on. A
terminal sends SIGINT and SIGHUP to all processes of a command, so half of them go to all.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.builders.workbooks import annotated_workbook
from tests.reliability.campaign import Finding, Job, Options, Outcome
from tests.reliability.programs import DUMP, OPSCOPE, RECORD, ROOT, environment

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONG, _SHORT = 300, 10
_ROWS = 8000  # a workbook that takes half a second to unpack and read
# Seconds from the moment that a command catches signals; most have ended after that.
_UNTIL = 1.5
_ENDS_WITHIN = 60.0


def jobs(options: Options) -> list[Job]:
    """Return the job of signals."""
    return [Job("faults", "signals", check, (_LONG if options.is_long else _SHORT,), 3600.0)]


def check(options: Options, count: int) -> Outcome:
    """Send `count` signals to commands of all kinds."""
    chosen = random.Random(options.seed)
    findings: list[Finding] = []
    codes: Counter[int] = Counter()
    workbook = annotated_workbook(_ROWS)
    for _ in range(count):
        with tempfile.TemporaryDirectory(prefix="opscope-reliability-") as name:
            folder = Path(name)
            given = environment(folder)
            (folder / "in").mkdir()
            (folder / "in" / "big.xlsx").write_bytes(workbook)
            (folder / "in" / DUMP.name).write_bytes(DUMP.read_bytes())
            command = chosen.choice(_commands(folder))
            how, to_all = chosen.choice(_SIGNALS), chosen.random() < 0.5
            code, err = _signaled(command, given, how, to_all, chosen.random() * _UNTIL)
            codes[code] += 1
            lines = [line for line in err.splitlines() if "This plugin does not" not in line]
            left = [path.name for path in (folder / "tmp").iterdir()]
            left += [path.name for path in folder.rglob(".*.part")]
            # After the last line of Python, a signal has the system's effect: all is done then.
            is_in_order = code in (0, 1, 128 + how) or (code == -how and not lines)
            if left or len(lines) > 1 or "Error" in err or not is_in_order:
                what = f"{how.name}{' to all' * to_all}: code {code}, left {left}, {err[-800:]!r}"
                findings.append(Finding(what, " ".join(command)))
    return Outcome(count, tuple(findings), f"codes {dict(sorted(codes.items()))}")


def _commands(folder: Path) -> list[list[str]]:
    workbook, dump, record = str(folder / "in" / "big.xlsx"), str(DUMP), str(RECORD)
    return [
        [],
        [dump, record],
        ["info", workbook],
        ["stats", workbook, "--by", "operator"],
        ["export", workbook, "-o", str(folder / "out.pftrace")],
        ["export", dump, record, "-o", str(folder / "out.parquet")],
        ["export", str(folder / "in"), "--jobs", "2", "-o", str(folder / "out")],
        ["report", dump, record, "-o", str(folder / "out.html")],
        ["screenshot", dump, "-o", str(folder / "out.png")],
        ["compare", dump, "--with", dump],
        ["mcp", workbook],
        ["fleet", "build", str(folder / "in"), "-o", str(folder / "lake")],
    ]


def _signaled(
    command: list[str], given: dict[str, str], how: signal.Signals, to_all: bool, wait: float
) -> tuple[int, str]:
    """The exit code and stderr of a command that gets a signal."""
    process = subprocess.Popen(
        (*OPSCOPE, *command),
        env=given,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while process.poll() is None and not _catches(process.pid):
        time.sleep(0.001)
    time.sleep(wait)
    with contextlib.suppress(ProcessLookupError):
        (os.killpg if to_all else os.kill)(process.pid, how)
    try:
        err = process.communicate(timeout=_ENDS_WITHIN)[1].decode("utf-8", "replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        err = "no end"
        process.communicate(timeout=_ENDS_WITHIN)
    return process.returncode, err


def _catches(pid: int) -> bool:
    """Whether a process has a handler for the last of the signals."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return True
    mask = status.partition("SigCgt:")[2].split()[0]
    return bool(int(mask, 16) >> (_SIGNALS[-1] - 1) & 1)
