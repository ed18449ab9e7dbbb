"""Paths in hostile files: devices, pipes and kernel files are not read, contents do not get out."""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from tests.reliability.campaign import Finding, Options, Outcome

_SECRET = "the_content_of_a_private_file"
_ANSWERS_WITHIN = 10.0  # seconds


def check(options: Options) -> Outcome:
    """Name special and private files in ETRecords and sessions."""
    findings: list[Finding] = []
    count = 0
    with tempfile.TemporaryDirectory(prefix="opscope-reliability-") as name:
        folder = Path(name)
        for path in _special(folder):
            count += 1
            findings += _source(path)
        count += 1
        findings += _contents(folder)
        for path in (*_special(folder), "/etc/passwd"):
            count += 1
            findings += _session(folder, path)
    return Outcome(count, tuple(findings))


def _special(folder: Path) -> list[str]:
    """Paths that must not be read, some behind symbolic links with plain names."""
    pipe = folder / "pipe.py"
    if not pipe.exists():
        os.mkfifo(pipe)
        for number, target in enumerate(
            ("/dev/zero", "/proc/self/environ", "/dev/stdin", str(pipe))
        ):
            (folder / f"link{number}.py").symlink_to(target)
        (folder / "loop.py").symlink_to("loop.py")
        (folder / "folder.py").mkdir()
    return [
        "/dev/zero",
        "/dev/tty",
        "/proc/self/environ",
        "/proc/self/mem",
        "/proc/kmsg",
        "/sys/kernel/notes",
        "//host/share/a.py",
        "\\\\host\\share\\a.py",
        f"{folder}/../{folder.name}/../../proc/self/environ",
        str(pipe),
        str(folder / "loop.py"),
        str(folder / "folder.py"),
        "a\0b",
        *(str(folder / f"link{number}.py") for number in range(4)),
    ]


def _source(path: str) -> list[Finding]:
    """Ask for a source as the Source panel does."""
    from viewer.program.sources.files import find_source

    done = _answered(lambda: find_source(path, ["/"]))
    if done is None:
        return [Finding(f"source {path}: no answer in {_ANSWERS_WITHIN:.0f} s")]
    return [Finding(f"source {path}: was read")] if done[0] is not None else []


def _answered(ask: Callable[[], object]) -> list[object] | None:
    """The answer in a list, None if there is none in time."""
    answer: list[object] = []
    thread = threading.Thread(target=lambda: answer.append(ask()), daemon=True)
    thread.start()
    thread.join(_ANSWERS_WITHIN)
    return answer or None


def _run(line: list[str]) -> str:
    from viewer.cli import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main(line)
        except SystemExit:
            pass
        except Exception as error:
            print("Traceback", repr(error))
    return out.getvalue()


def _contents(folder: Path) -> list[Finding]:
    """An ETRecord that names a private file: its content is in no output."""
    from tests.builders.etdump_writer import Run, write_dump
    from tests.builders.record_cases import made, node

    private = folder / "private.py"
    private.write_text(f"{_SECRET}\n" * 20)
    trace = f'  File "{private}", line 3, in forward\n    x = 1\n'
    record = made(folder, node(stack_trace=trace))
    events = [
        {"name": "Method::execute", "chain": -1, "instruction": 0, "start": 0, "end": 100},
        {"name": "OPERATOR_CALL", "chain": 0, "instruction": 0, "start": 10, "end": 90},
    ]
    dump = write_dump(folder / "a.etdp", [Run("forward", events)])
    files = [str(dump), str(record)]
    findings = []
    for suffix in ("pftrace", "csv", "tsv"):
        output = folder / f"out.{suffix}"
        said = _run(["export", *files, "-o", str(output)])
        if _SECRET in said or (output.exists() and _SECRET.encode() in output.read_bytes()):
            findings.append(
                Finding(f"export .{suffix} has the content of a file that a record names")
            )
    for command in (
        ["info"],
        ["info", "--json"],
        ["stats", "--by", "line"],
        ["findings", "--json"],
    ):
        if _SECRET in _run([command[0], *files, *command[1:]]):
            findings.append(Finding(f"{command} prints the content of a file that a record names"))
    return findings


def _session(folder: Path, path: str) -> list[Finding]:
    """A session file that names a file: one line of error, no wait and none of its content."""
    session = folder / "hostile.opscope"
    inputs = [{"path": path, "absolute": path, "size": 1, "sha256": "0" * 64}]
    session.write_text(json.dumps({"opscope_session": 1, "inputs": inputs, "tool": "x"}))
    done = _answered(lambda: _run(["info", str(session)]))
    if done is None:
        return [Finding(f"session with {path}: no answer in {_ANSWERS_WITHIN:.0f} s")]
    said = str(done[0])
    if "root:" in said or "PATH=" in said or "Traceback" in said or "internal error" in said:
        return [Finding(f"session with {path}: {said[-300:]}")]
    return []
