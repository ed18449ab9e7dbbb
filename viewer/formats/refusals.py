"""What is refused, with the way out: files of other tools, and profiles without contents.

Files of other tools are recognized before any format is: some look like a table. Each signature is
of what only these files have. A profile that has nothing to show is refused after it was read, with
what is missing and how to record it.
"""

from __future__ import annotations

import re

from viewer.codecs.reading import UnreadableFile
from viewer.codecs.unpacking import MAGIC, inflated_head
from viewer.model.text import one_line
from viewer.model.trace import Trace

_Signatures = tuple[tuple[re.Pattern[bytes], str, str], ...]
_BYTES: _Signatures = (
    (re.compile(rb"SQLite format 3\0"), "an SQLite database, such as nsys exports",
     "Run nsys stats --format csv on it, and open the CSV"),
    (re.compile(rb"tlZ\x04|tZst|tracy[\x00-\x1f]"), "a capture of Tracy",
     "Run tracy-csvexport -u on it, and open the CSV"),
    (re.compile(rb"PERFILE2"), "a recording of perf (perf.data)",
     "Record the run with Perfetto, which samples stacks too"),
    (re.compile(rb".{257}ustar", re.DOTALL), "a tar archive", "Unpack it, and open the folder"),
    (re.compile(rb"\n[\x01-\xff].{0,4}?(?:\x08.{1,9}?)?\x12.(?:/host:|/device:|Task Environment)",
                re.DOTALL), "an XSpace of JAX or TensorFlow (.xplane.pb)",
     "Record with create_perfetto_trace=True in JAX, or save its Trace Viewer as JSON in XProf"),
    (re.compile(rb"\n\x04\x08[\x01-\x7f]\x10[\x01-\x7f][\n\x12]"), "a profile of pprof",
     "It has samples without times: look at it with go tool pprof"),
)  # fmt: skip
_FTRACE = (
    "a text of ftrace, as atrace and systrace write it",
    "Record it with Perfetto, which writes the same events as a .pftrace",
)
_MARK = re.compile(rb"(?:[^\n]*\n){0,40}?[^\n]* [0-9]+\.[0-9]{6}: tracing_mark_write: ")
_TEXTS: _Signatures = (
    (re.compile(rb"\s*(?:<\?xml[^>]*>)?\s*<trace-query-result"), "a table of xctrace as XML",
     "Write its rows as a CSV with columns for name, start and duration"),
    (re.compile(rb"# tracer: "), *_FTRACE),
    (re.compile(rb"(?:#[^\n]*\n|\s)*\S[^\n]{0,80}? +[0-9]+(?:/[0-9]+)? +(?:\[[0-9]+\] +)?"
                rb"[0-9]+\.[0-9]{6,9}: +(?:[0-9]+ +)?[\w:./-]+: *\n\s+[0-9a-f]{4,16} [^\n]* \("),
     "the output of perf script", "Record the run with Perfetto, which samples stacks too"),
    (re.compile(rb"(?:[^\n]{0,200}\n){0,30}?#? *(?:Children +)?(?:Overhead|Self) +[^\n]{0,80}"
                rb"(?:Shared Object|Symbol)"),
     "the report of simpleperf or perf, which has shares without times",
     "Write its samples for the Firefox Profiler (gecko_profile_generator.py), and open those"),
)  # fmt: skip
_OF_NSYS = (".nsys-rep", ".qdrep", ".qdstrm")


def foreign_file(head: bytes, path: str) -> tuple[str, str] | None:
    """What a file is by its first bytes, and the way out; None if it is not known here."""
    data = (inflated_head(head) or head) if head.startswith(MAGIC) else head
    for signature, what, remedy in (*_BYTES, *_TEXTS) if b"\0" not in data[:64] else _BYTES:
        if signature.match(data):
            return what, remedy
    if b": tracing_mark_write: " in data and _MARK.match(data):
        return _FTRACE
    if path.endswith(_OF_NSYS):
        return "a report of Nsight Systems", "Run nsys stats --format csv on it, and open the CSV"
    return None


_NO_ROWS = "a header and no rows", "Record it again with profiling on"
_MISSING = {
    "ETDump": (
        "no events",
        "Record it again: build the runtime with its event tracer, run the model, then write the "
        "ETDump",
    ),
    "Perfetto trace": (
        "no slices, instants or counters",
        "Record it again with track events enabled, while the model runs",
    ),
    "Chrome trace": (
        "no event with a time",
        "Record it again, with the profiler active while the model runs",
    ),
}


def require_contents(trace: Trace) -> None:
    """Raise UnreadableFile for a profile that has nothing to show, with its most frequent problem.

    Instants are slices. Values and allocations without a time are contents too.
    """
    if len(trace.slices) or len(trace.untimed) or any(len(c.tick) for c in trace.counters):
        return
    missing, remedy = _MISSING.get(trace.format, _NO_ROWS)
    if not trace.problems:
        raise UnreadableFile(trace.path, f"this {trace.format} has {missing}", remedy=remedy)
    worst = max(trace.problems, key=lambda problem: problem.count)
    first = f", first: {one_line(worst.first)}" if worst.first else ""
    raise UnreadableFile(
        trace.path,
        f"nothing in this {trace.format} can be shown: {worst.count} x {worst.kind}{first}",
        remedy="Correct the file, or record it again",
    )
