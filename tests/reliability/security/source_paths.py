"""Paths in hostile files: devices, pipes, kernel files and private files are not even opened."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
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
        for path in _private(folder):
            count += 1
            findings += _source(path)
        count += 1
        findings += _contents(folder)
        for title, names, files in _naming(folder):
            count += 1
            findings += _not_opened(title, names, files)
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
    from viewer.program.source_files import find_source

    done = _answered(lambda: find_source(path, ["/"]))
    if done is None:
        return [Finding(f"source {path}: no answer in {_ANSWERS_WITHIN:.0f} s")]
    return [Finding(f"source {path}: was read")] if done[0] is not None else []


def _private(folder: Path) -> list[str]:
    """Private files by their own names, and behind links with the names of sources."""
    key = folder / "home" / ".ssh" / "id_rsa"
    key.parent.mkdir(parents=True)
    key.write_text(f"{_SECRET}\n" * 20)
    links = (folder / "key.py", folder / "key.mlir", folder / "passwd.py")
    for link, target in zip(links, (key, key, "/etc/passwd"), strict=True):
        link.symlink_to(target)
    return [str(key), "/etc/passwd", *map(str, links)]


def _naming(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Files of each kind that name private files: a title, the names, and the paths to open."""
    from tests.builders.record_cases import made, node

    key = folder / "home" / ".ssh" / "id_rsa"
    names = [str(key), "/etc/passwd", *(str(folder / f"{n}") for n in ("key.py", "key.mlir"))]
    for number, name in enumerate(names):
        place = folder / f"named{number}"
        place.mkdir()
        trace = f'  File "{name}", line 3, in forward\n    x = 1\n'
        yield "ETRecord", [name], [str(made(place, node(stack_trace=trace)))]
        text = place / "a.mlir"
        text.write_text(f'module {{\n}} loc("{name}":3:1)\n')
        table = place / "torq.csv"
        table.write_text(f'DI0,0,128,loc("{name}":2:3),DMA_IN,1024\n' * 3)
        yield "MLIR text", [name], [str(text)]
        yield "Torq profile", [name], [str(table)]
        chrome = place / "trace.json"
        frame = f"{name}(3): forward"
        arguments = {"file": name, "location": f"{name}:3", "Call stack": f"{frame};{frame}"}
        event = {"ph": "X", "cat": "python_function", "name": frame, "ts": 1, "dur": 5, "pid": 1,
                 "tid": 1, "args": arguments}  # fmt: skip
        chrome.write_text(json.dumps({"traceEvents": [event, event | {"ts": 10}]}))
        yield "Chrome trace", [name], [str(chrome)]
        session = place / "hostile.opscope"
        session.write_text(
            json.dumps(
                {
                    "opscope_session": 1,
                    "tool": "x",
                    "inputs": [],
                    "choices": {"source_paths": [[name, name], ["/build", str(key.parent)]]},
                    "source_paths": [[name, name], ["/build", str(key.parent)]],
                }
            )
        )
        yield "session", [name], [str(session), str(place / "made.etrecord")]


def _not_opened(title: str, names: list[str], files: list[str]) -> list[Finding]:
    """Open files as all commands do and ask for all named sources; no private file is opened."""
    from viewer.workspace.workspace import Workspace

    private = {os.path.realpath(name) for name in names}

    def read() -> str:
        said = ""
        for command in (["info"], ["stats", "--by", "line"], ["findings", "--json"]):
            said += _run([command[0], *files, *command[1:]])
        workspace = Workspace()
        for path in files:
            with contextlib.suppress(Exception):  # sessions are opened by the commands above
                workspace.open(path)
        said += "\n".join(workspace.open_companions())
        found = [workspace.source(name) for name in names]
        return said + "".join("".join(one.lines) for one in found if one is not None)

    with _opened() as opened:
        done = _answered(read)
    if done is None:
        return [Finding(f"{title}, {names}: no answer in {_ANSWERS_WITHIN:.0f} s")]
    read_ones = private & {os.path.realpath(path) for path in opened}
    found = [Finding(f"{title} that names {names}: {path} was opened") for path in read_ones]
    said = str(done[0])
    if _SECRET in said or "Traceback" in said:
        found.append(Finding(f"{title} that names {names}: {said[-300:]}"))
    return found


_heard: list[list[str]] = []


@contextlib.contextmanager
def _opened() -> Iterator[list[str]]:
    """Collect the paths of all files that this process opens."""
    if not _heard:
        sys.addaudithook(_hear)  # cannot be removed
    paths: list[str] = []
    _heard.append(paths)
    yield paths
    _heard[-1] = []


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str | bytes):
        _heard[-1].append(os.fsdecode(arguments[0]))


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
