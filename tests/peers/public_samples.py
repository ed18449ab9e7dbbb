"""Compares traces of public repositories with trace_processor, and prints a table.

    .venv/bin/python -m tests.peers.public_samples FOLDER...

A folder is a checkout, or any folder with traces: Chrome JSON, Perfetto, and the text protos of
google/perfetto. Slices are compared by name, start and duration, rounded down to ns; one without an
end has none. `README.md` here has the table, with the reason for every difference.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from google.protobuf import text_format
from perfetto.common.exceptions import PerfettoException
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tests.peers.trace_processor import TraceProcessor
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.times import ticks_to_ns
from viewer.model.trace import Trace

SUFFIXES = (".json", ".json.gz", ".gz", ".pb", ".pftrace", ".perfetto-trace", ".textproto", ".zip")
LARGEST = 40 << 20
SLICES = "select coalesce(name, '(unnamed)'), ts, max(dur, 0) from slice"
_SHOWN = 3


@dataclass
class Outcome:
    """What became of the files of one folder."""

    tried: int = 0
    opened: int = 0
    equal: int = 0
    near: int = 0  # each start and duration is within 1 ns
    notes: list[str] = field(default_factory=list)


def ours(path: Path) -> Counter[tuple[str, int, int]] | str:
    """The slices as read, without those of the scheduler; or why the file is refused."""
    try:
        trace = open_file(str(path))
    except UnreadableFile as error:
        return f"refused: {error.reason}"
    if not isinstance(trace, Trace):
        return "no trace"
    s, rate = trace.slices, trace.clock.ns_per_tick
    start, end = ticks_to_ns(s.start, rate), ticks_to_ns(s.end, rate)
    found: Counter[tuple[str, int, int]] = Counter()
    for i, row in enumerate(s.rows().tolist()):
        track = trace.tracks[s.row_track[row]]
        if track.process != "CPUs" and not track.thread.endswith(" · state"):
            found[trace.name(i), int(start[i]), int(end[i] - start[i])] += 1
    return found


def theirs(path: Path) -> Counter[tuple[str, int, int]] | str:
    """The slices of trace_processor, or why it reads none."""
    try:
        with TraceProcessor(path) as peer:
            return Counter((str(n), int(t), int(d)) for n, t, d in peer.rows(SLICES))
    except (PerfettoException, ConnectionError) as error:
        return f"trace_processor: {str(error).strip().splitlines()[-1][:100]}"


def are_near(some: Counter[tuple[str, int, int]], others: Counter[tuple[str, int, int]]) -> bool:
    """Whether slices are the same but for 1 ns of each start and duration."""
    pairs = zip(sorted(some.elements()), sorted(others.elements()), strict=False)
    return some.total() == others.total() and all(
        a == x and abs(b - y) <= 1 and abs(c - z) <= 1 for (a, b, c), (x, y, z) in pairs
    )


def binary(path: Path, folder: Path) -> Path | None:
    """A text proto as the file that it describes, None if it is none for these protos."""
    try:
        trace = text_format.Parse(path.read_text(encoding="utf-8"), pb.Trace())
    except (text_format.ParseError, UnicodeDecodeError):
        return None
    found = folder / f"{path.stem}.pftrace"
    found.write_bytes(trace.SerializeToString())
    return found


def files(folder: Path) -> Iterator[Path]:
    """The files to try, by name."""
    for path in sorted(folder.rglob("*")):
        if path.name.endswith(SUFFIXES) and path.is_file() and path.stat().st_size < LARGEST:
            yield path


def compared(folder: Path) -> Outcome:
    """Try all files of a folder."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as place:
        for path in files(folder):
            name = path.relative_to(folder)
            made = path
            if path.name.endswith(".textproto"):
                converted = binary(path, Path(place))
                if converted is None:
                    continue
                made = converted
            outcome.tried += 1
            print(f"{folder}: {outcome.tried}", file=sys.stderr)  # how far it is
            mine, other = ours(made), theirs(made)
            if isinstance(mine, str):
                if not isinstance(other, str) and other:
                    outcome.notes.append(f"{name}: {mine}; trace_processor has {other.total()}")
                else:
                    outcome.notes.append(f"{name}: {mine}; trace_processor has no slice either")
                continue
            outcome.opened += 1
            if isinstance(other, str):
                outcome.notes.append(f"{name}: {mine.total()} slices; {other}")
            elif mine == other:
                outcome.equal += 1
            else:
                more, less = mine - other, other - mine
                if are_near(more, less):
                    outcome.near += 1
                    continue
                same = (mine & other).total()
                outcome.notes.append(
                    f"{name}: {same} equal, {more.total()} only here {list(more)[:_SHOWN]}, "
                    f"{less.total()} only there {list(less)[:_SHOWN]}"
                )
    return outcome


def main() -> None:
    """Print a row for each folder, and what is not equal."""
    for name in sys.argv[1:]:
        outcome = compared(Path(name))
        figures = (outcome.tried, outcome.opened, outcome.equal, outcome.near)
        print(f"| {name} | {' | '.join(map(str, figures))} |")
        for note in outcome.notes:
            print(f"    {note[:600]}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
