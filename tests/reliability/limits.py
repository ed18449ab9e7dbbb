"""Area limits of the campaign: large and unusual files within a limit of memory and time.

Each file is read by `opscope info` in a process of its own. A file that is refused with one clear
line passes as well as one that is read.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.builders.workbooks import sheet_of
from tests.paths import DATA, ROOT
from tests.reliability.campaign import Finding, Job, Options, Outcome

_MB = 1 << 20
# Memory may be 4 x the size of the file, and this.
_BESIDE = 300 * _MB
_REGRESS = DATA / "regress"
# Bytes in the temporary folder may be 4 x the size of the file, and this.
_TEMPORARY = 64 * _MB
# Above every limit: a reader that ignores them must not stop the machine.
_STOP_AT = 3 << 30


@dataclass(frozen=True, slots=True)
class Shape:
    """An unusual file: its suffix, and what writes it, given a size in MB."""

    suffix: str
    write: Callable[[int], bytes]
    seconds: float = 30.0


def _csv(rows: Callable[[int], Iterator[str]]) -> Callable[[int], bytes]:
    def written(size: int) -> bytes:
        out, length = ["process,thread,name,start_ns,dur_ns\n"], 0
        for row in rows(size):
            out.append(row)
            length += len(row)
            if length > size * _MB:
                break
        return "".join(out).encode()

    return written


def _counting() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _many_rows(size: int) -> Iterator[str]:
    return (f"p,t,op {i % 50},{10 * i},8\n" for i in _counting())


def _many_tracks(size: int) -> Iterator[str]:
    return (f"p{i % 100},thread {i},x,{i},5\n" for i in _counting())


def _many_names(size: int) -> Iterator[str]:
    return (f"p,t,name number {i},{10 * i},8\n" for i in _counting())


def _deep(size: int) -> Iterator[str]:
    return (f"p,t,level,{i},{2 * (10_000_000 - i)}\n" for i in _counting())


def _long_names(size: int) -> Iterator[str]:
    return (f"p,t,{'x' * 100_000}{i},{10 * i},8\n" for i in _counting())


def _overlaps(size: int) -> Iterator[str]:
    return (f"p,t,x,{i},1000\n" for i in _counting())


def _wide(size: int) -> bytes:
    columns = ["process", "thread", "name", "start_ns", "dur_ns", *(f"c{i}" for i in range(240))]
    row = ",".join(("p", "t", "n", "5", "5", *("1.5" for _ in range(240))))
    return "\n".join((",".join(columns), *[row] * (size * _MB // len(row)))).encode()


def _one_line(size: int) -> bytes:
    return b"process,thread,name,start_ns,dur_ns\np,t," + b"x" * (size * _MB) + b",1,1\n"


def _chrome_events(size: int, event: Callable[[int], dict[str, object]]) -> bytes:
    events, length = [], 0
    for i in _counting():
        events.append(json.dumps(event(i)))
        length += len(events[-1])
        if length > size * _MB:
            break
    return ('{"traceEvents": [' + ",".join(events) + "]}").encode()


def _chrome_rows(size: int) -> bytes:
    return _chrome_events(
        size, lambda i: {"ph": "X", "name": f"op {i % 9}", "ts": i, "dur": 1, "pid": 1, "tid": 1}
    )


def _chrome_tracks(size: int) -> bytes:
    return _chrome_events(
        size, lambda i: {"ph": "X", "name": "x", "ts": i, "dur": 1, "pid": i % 99, "tid": i}
    )


def _chrome_arguments(size: int) -> bytes:
    return _chrome_events(
        size, lambda i: {"ph": "X", "name": "x", "ts": i, "dur": 1, "pid": 1, "tid": 1,
                         "args": {f"argument {i}": i}}
    )  # fmt: skip


def _chrome_nested(size: int) -> bytes:
    depth = size * _MB // 2
    return (
        b'{"traceEvents": [{"ph": "X", "name": "x", "ts": 1, "args": '
        + b"[" * depth
        + b"]" * depth
        + b"}]}"
    )


def _chrome_open(size: int) -> bytes:
    return _chrome_events(size, lambda i: {"ph": "B", "name": "x", "ts": i, "pid": 1, "tid": 1})


def _chrome_bomb(size: int) -> bytes:
    """Spaces between events: every MB packs to 1 kB."""
    plain = b'{"traceEvents": [' + b" " * (600 * size * _MB) + b"]}"
    return gzip.compress(plain, 9, mtime=0)


def _perfetto(size: int, several: bool) -> bytes:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

    out, length = [], 0
    for i in _counting():
        trace = pb.Trace()
        uuid = i + 1 if several else 1
        if several or i == 0:
            packet = trace.packet.add(trusted_packet_sequence_id=1)
            packet.track_descriptor.uuid, packet.track_descriptor.name = uuid, f"track {uuid}"
        for kind in (1, 2):
            packet = trace.packet.add(trusted_packet_sequence_id=1, timestamp=10 * i + kind)
            event = packet.track_event
            event.type, event.track_uuid = kind, uuid
            if kind == 1:
                event.name = f"name {i}"
        out.append(trace.SerializeToString())
        length += len(out[-1])
        if length > size * _MB:
            break
    return b"".join(out)


def _perfetto_bomb(size: int) -> bytes:
    return gzip.compress(b"\x0a\x02\x58\x00" * (150 * size * _MB), 9, mtime=0)


def _dump(size: int) -> bytes:
    from tests.builders.etdump_writer import Run, operator, write_dump

    events = [
        operator("native_call_add.out", i % 99, 10 * i, 10 * i + 5) for i in range(9000 * size)
    ]
    with tempfile.TemporaryDirectory() as folder:
        return write_dump(Path(folder) / "x", [Run("Execute", events)]).read_bytes()


def _record_bomb(size: int) -> bytes:
    """A graph of which 1 MB in the archive is 1 GB."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ETRECORD_V0", "")
        with archive.open("edge_dialect_exported_program/forward", "w", force_zip64=True) as member:
            member.write(b'{"graph_module": {"graph": {"nodes": [')
            for _ in range(900 * size):
                member.write(b" " * _MB)
            member.write(b"]}}}")
    return out.getvalue()


def _record_members(size: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("ETRECORD_V0", "")
        for i in range(9000 * size):
            archive.writestr(zipfile.ZipInfo(f"edge_dialect_exported_program/m{i}"), "{}")
    return out.getvalue()


def _zip_bomb(size: int) -> bytes:
    """A table of equal rows; every MB is 1 GB."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open("a.csv", "w", force_zip64=True) as member,
    ):
        member.write(b"process,thread,name,start_ns,dur_ns\n")
        for _ in range(600 * size):
            member.write(b"p,t,n,1,2\n" * (_MB // 10))
    return out.getvalue()


def _workbook_texts(size: int) -> bytes:
    """Cells that refer to one text: every MB would be a TB on the disk."""

    def rows(text: int) -> Iterator[str]:
        cell = f'<c t="s"><v>{text}</v></c>'
        return (f"<row>{cell * 9}</row>" for _ in range(100_000 * size))

    return sheet_of(rows, "x" * 64_000)


def _workbook_rows(size: int) -> bytes:
    return sheet_of(lambda _: ("<row/>" * 1000 for _ in range(10_000 * size)))


def _handle_map(size: int) -> bytes:
    entries = [[f"identifier {i}", [i, i + 1]] for i in range(30_000 * size)]
    return json.dumps({"opscope_debug_handle_map": 1, "methods": {
        "forward": {"*": {"delegate": "D", "entries": entries}}}}).encode()  # fmt: skip


def _torq_host(size: int) -> bytes:
    lines = ["dispatch_name,invocation_id,action_id,timestamp_us,event"]
    for i in range(10_000 * size):
        lines += (
            f"d_{i % 9},{i},-1,{9 * i},DISPATCH_BEGIN",
            f"d_{i % 9},{i},-1,{9 * i + 5},DISPATCH_END",
        )
    return "\n".join(lines).encode()


def _torq_compile(size: int) -> bytes:
    lines = ["taskId, elapsed_time(us), timestamp(us), event, location, bytes"]
    lines += (f'{i},5,{9 * i},DMA In,loc("m.mlir":{i}:1),64' for i in range(25_000 * size))
    return "\n".join(lines).encode()


def _mlir(size: int) -> bytes:
    lines = ["module {", "func.func @main() {"]
    lines += (
        f'%{i} = "tosa.add"(%{i - 1}) : (tensor<8xi8>) -> tensor<8xi8>'
        for i in range(15_000 * size)
    )
    return "\n".join((*lines, "}", "}")).encode()


def _mlir_nested(size: int) -> bytes:
    depth = 10_000 * size
    return b"module {\n" + b'"scf.if"(%0) ({\n' * depth + b"}) : (i1) -> ()\n" * depth + b"}\n"


def _session(size: int) -> bytes:
    rows = list(range(100_000 * size))
    return json.dumps({"opscope_session": 1, "inputs": [], "view": {
        "slice": {"input": 0, "rows": rows}}}).encode()  # fmt: skip


SHAPES = {
    "table_rows": Shape(".csv", _csv(_many_rows)),
    "table_tracks": Shape(".csv", _csv(_many_tracks)),
    "table_names": Shape(".csv", _csv(_many_names)),
    "table_deep": Shape(".csv", _csv(_deep)),
    "table_long_names": Shape(".csv", _csv(_long_names)),
    "table_overlaps": Shape(".csv", _csv(_overlaps)),
    "table_wide": Shape(".csv", _wide),
    "table_one_line": Shape(".csv", _one_line),
    "chrome_rows": Shape(".json", _chrome_rows),
    "chrome_tracks": Shape(".json", _chrome_tracks),
    "chrome_arguments": Shape(".json", _chrome_arguments),
    "chrome_nested": Shape(".json", _chrome_nested),
    "chrome_open": Shape(".json", _chrome_open),
    "chrome_bomb": Shape(".json.gz", _chrome_bomb),
    "perfetto_rows": Shape(".pftrace", lambda size: _perfetto(size, several=False)),
    "perfetto_tracks": Shape(".pftrace", lambda size: _perfetto(size, several=True)),
    "perfetto_bomb": Shape(".pftrace.gz", _perfetto_bomb),
    "etdump_events": Shape(".etdp", _dump),
    "etrecord_bomb": Shape(".etrecord", _record_bomb),
    "etrecord_members": Shape(".etrecord", _record_members),
    "zip_bomb": Shape(".zip", _zip_bomb),
    "workbook_texts": Shape(".xlsx", _workbook_texts),
    "workbook_rows": Shape(".xlsx", _workbook_rows),
    "handle_map_entries": Shape(".json", _handle_map),
    "torq_host_rows": Shape(".csv", _torq_host),
    "torq_compile_rows": Shape(".csv", _torq_compile),
    "mlir_operations": Shape(".mlir", _mlir),
    "mlir_nested": Shape(".mlir", _mlir_nested),
    "session_rows": Shape(".opscope", _session),
}
# Those of a short run: the ones that need little time and once went wrong.
_SHORT = (
    "table_tracks", "table_deep", "chrome_nested", "chrome_bomb", "etrecord_bomb", "zip_bomb",
    "workbook_texts", "workbook_rows",
)  # fmt: skip


def jobs(options: Options) -> list[Job]:
    """Return one job for each shape, and one for the files of tests/data/regress."""
    sizes = (1, 5, 20, 50) if options.is_long else (1,)
    names = SHAPES if options.is_long else _SHORT
    found = [Job("limits", name, _read_shape, (name, sizes), 1800.0) for name in names]
    return (
        [*found, Job("limits", "regress", _read_regress, (), 1800.0)] if options.is_long else found
    )


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading a file took: seconds, the most memory in bytes, and what was printed.

    temporary: the most bytes in the temporary folder.
    """

    seconds: float
    memory: int
    code: int
    text: str
    temporary: int = 0

    def complaint(self, seconds: float, memory: int, temporary: int = _TEMPORARY) -> str:
        """Return what exceeds a limit or went wrong, "" for nothing."""
        if self.seconds > seconds:
            return f"more than {seconds:.0f} s"
        if "Traceback" in self.text or self.code not in (0, 1):
            return f"exit code {self.code}: {self.text[-600:]}"
        if self.memory > memory:
            return f"{self.memory / 1e6:.0f} MB of memory, at most {memory / 1e6:.0f} MB"
        if self.temporary > temporary:
            return f"{self.temporary / 1e6:.0f} MB in the temporary folder"
        return ""


def info_of(path: Path, seconds: float, *more: str) -> Reading:
    """Run `opscope info` on a file; a process that takes too long is ended. more: arguments."""
    began, memory, temporary = time.monotonic(), 0, 0
    with tempfile.TemporaryFile() as out, tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen(
            [sys.executable, "-m", "viewer", "info", str(path), *more],
            cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "TMPDIR": folder},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_STOP_AT, _STOP_AT)),
        )  # fmt: skip
        while True:
            memory = max(memory, _peak_of(child.pid))
            temporary = max(temporary, _bytes_in(Path(folder)))
            took = time.monotonic() - began
            if child.poll() is not None:
                break
            if took > seconds + 1:
                child.kill()
                child.wait(timeout=60)
                break
            time.sleep(0.01)
        out.seek(0)
        text = out.read(100_000).decode(errors="replace")
    return Reading(took, memory, child.returncode, text, temporary)


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total


def _peak_of(pid: int) -> int:
    """The most memory that a process has used, in bytes; 0 once it has ended.

    Not `ru_maxrss`, which starts with that of the process that forked it.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    _, found, rest = status.partition("VmHWM:")
    return int(rest.split()[0]) * 1024 if found else 0


def _read_shape(options: Options, name: str, sizes: tuple[int, ...]) -> Outcome:
    shape, findings, figures = SHAPES[name], [], ""
    with tempfile.TemporaryDirectory(prefix="opscope-limits-") as folder:
        for size in sizes:
            path = Path(folder) / f"{name}{shape.suffix}"
            path.write_bytes(shape.write(size))
            length = path.stat().st_size
            found = info_of(path, shape.seconds)
            figures = (
                f"{length / 1e6:.1f} MB: {found.seconds:.1f} s, {found.memory / 1e6:.0f} MB of "
                f"memory{', refused' if found.code else ''}"
            )
            if complaint := found.complaint(
                shape.seconds, 4 * length + _BESIDE, 4 * length + _TEMPORARY
            ):
                repeat = f"packaging/reliability --only limits/{name}"
                findings.append(Finding(f"{length / 1e6:.1f} MB: {complaint}", repeat))
                break
    return Outcome(len(sizes), tuple(findings), figures)


def _read_regress(options: Options) -> Outcome:
    findings, most = [], Reading(0.0, 0, 0, "")
    paths = [path for path in sorted(_REGRESS.rglob("*")) if path.is_file()]
    for path in paths:
        if path.suffix in (".md", ".ini"):
            continue
        found = info_of(path, 20.0)
        if complaint := found.complaint(20.0, 600 * _MB):
            findings.append(Finding(f"{path.name}: {complaint}", f"opscope info {path}"))
        most = max(most, found, key=lambda one: one.seconds)
    return Outcome(len(paths), tuple(findings), f"at most {most.seconds:.1f} s")
