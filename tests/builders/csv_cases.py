"""What the tests of all text formats share: a readable listing of a trace, and damaged files."""

import random
from collections.abc import Iterator
from pathlib import Path

from viewer.model.trace import KeyKind, Trace


def listing(trace: Trace) -> str:
    """A trace as text: one line a track, row and slice; times in ticks."""
    clock = trace.clock
    assumed = " assumed" if clock.assumed else ""
    out = [f"{trace.format} {trace.generation}, 1 {clock.unit} = {clock.ns_per_tick} ns{assumed}"]
    out += [f"problem: {p.kind} ({p.count}, first: {p.first})" for p in trace.problems]
    s = trace.slices
    last_track = -1
    for row in range(len(s.row_ptr) - 1):
        track = int(s.row_track[row])
        if track != last_track:
            out.append(f"{trace.tracks[track].process} > {trace.tracks[track].thread}")
            last_track = track
        out.append(f"  lane {s.row_lane[row]} depth {s.row_depth[row]}")
        for i in range(int(s.row_ptr[row]), int(s.row_ptr[row + 1])):
            key = int(s.key[i])
            kind = KeyKind(trace.keys.kind[key]).name
            cells = " ".join(f"{name}={column.value(i)}" for name, column in s.columns.items())
            out.append(
                f"    [{s.start[i]}, {s.end[i]}] {trace.name(i)} | row {s.source_row[i]} "
                f"| {kind} {trace.keys.location[key] or ''} | {cells}".rstrip()
            )
    return "\n".join(out) + "\n"


def expect_snapshot(trace: Trace, snapshot: Path) -> None:
    """Compare with the stored listing; delete that file to write it anew and look it over."""
    text = listing(trace)
    if not snapshot.exists():
        snapshot.write_text(text, encoding="utf-8")
        raise AssertionError(f"{snapshot.name} was missing and is written now: look it over")
    assert text == snapshot.read_text(encoding="utf-8")


def damaged(data: bytes, seed: int = 7) -> Iterator[bytes]:
    """Every truncation of a small file, and a few hundred mutations of it."""
    for end in range(len(data)):
        yield data[:end]
    chance = random.Random(seed)
    pieces = [
        b"\0", b'"', b"\n", b"\r", b",", b";", b"(", b")", b"loc(", b"\xff", b"\xc3", b"\\",
        b"-1", b"9" * 19, b"9" * 5000, b"1e9", b"nan", b"_", "٣".encode(), b"%", b"{", b"}", b"]",
    ]  # fmt: skip
    for _ in range(300):
        bent = bytearray(data)
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(bent) + 1)
            bent[at : at + chance.choice((0, 0, 1, 5))] = chance.choice(pieces)
        yield bytes(bent)
