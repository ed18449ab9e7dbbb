"""Random traces of inferences on one thread with workers, and their means by plain loops.

Slices nest at random, inside inferences, between them, before the first and after the last one, on
the thread of the inferences and on others. Names repeat, also inside one another.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, Column, KeyKind, RunKind, Trace

NAMES = ("conv", "relu", "add", "copy")
CATEGORIES = ("kernel", "", "host")  # one in three has none
BATCHES = ("1", "8", "", "32")


@dataclass
class Piece:
    """A slice of a generated trace, with those directly inside it, and its group by each key."""

    name: str
    start: int
    end: int
    thread: int
    inside: list[Piece] = field(default_factory=list)
    facts: dict[str, str | None] = field(default_factory=dict)


@dataclass
class Stepped:
    """A generated trace, and its slices that are inside no other."""

    trace: Trace
    pieces: list[Piece]


@dataclass
class Means:
    """What is true of a name: ticks of all counted inferences, and the median of each one's."""

    self_ticks: int = 0
    total: int = 0
    count: int = 0
    of_each: list[int] = field(default_factory=list)

    def mean(self, inferences: int) -> Fraction:
        """The mean self time."""
        return Fraction(self.self_ticks, inferences)

    @property
    def median(self) -> float:
        """The median self time per inference."""
        return statistics.median(self.of_each)


def stepped(seed: int, *, phases: int = 1, threads: int = 1, all_tracks: bool = False) -> Stepped:
    """Return a trace of 2 to 9 inferences of some phases, on some threads.

    all_tracks: whether an inference is one of all threads, not of the first one.
    """
    chance = random.Random(seed)
    builder = TraceBuilder(f"stepped_{seed}.json", "test", "", Clock())
    tracks = [builder.track(f"process {i % 2}", f"thread {i}") for i in range(threads)]
    scope = builder.scope("forward")
    at = chance.randrange(50)
    pieces: list[Piece] = []
    count = chance.randint(2, 9)
    if chance.random() < 0.5:
        builder.run(RunKind.LOAD, "load", tracks[0], scope, at, at + 30)
        pieces += _grown(chance, at, at + 30, 0, 2)
        at += 30
    for number in range(count):
        at += chance.randrange(40)
        pieces += _grown(chance, at, at + chance.randrange(1, 30), 0, 1)  # before it
        at = max([at, *(one.end for one in pieces)]) + chance.randrange(5)
        end = at + chance.randrange(20, 400)
        phase = f"phase {number % phases}" if phases > 1 else ""
        builder.run(
            RunKind.INFERENCE, "step", tracks[0], scope, at, end, phase=phase,
            all_tracks=all_tracks,
        )  # fmt: skip
        pieces += _grown(chance, at, end, 0, 3)
        at = end
    pieces += _grown(chance, at, at + 50, 0, 2)
    for thread in range(1, threads):
        pieces += _grown(chance, 0, at + 60, thread, 3, parts=3 * count)
    for piece in _each(pieces):
        piece.facts = {
            "name": piece.name,
            "thread": f"process {piece.thread % 2} > thread {piece.thread}",
            "process": f"process {piece.thread % 2}",
            "category": CATEGORIES[piece.start % len(CATEGORIES)],
            "arg:batch": BATCHES[piece.end % len(BATCHES)],
        }
        columns = {
            "category": Column.of_texts([piece.facts["category"]]),
            "batch": Column.of_texts([piece.facts["arg:batch"]]),
        }
        builder.add(
            track=tracks[piece.thread], start=np.array([piece.start]), end=np.array([piece.end]),
            name=builder.intern(piece.name), key=builder.key(KeyKind.PLAIN, piece.name),
            columns=columns,
        )  # fmt: skip
    return Stepped(builder.build(), pieces)


def counted_spans(trace: Trace) -> dict[str, list[tuple[int, int]]]:
    """Return start and end of the inferences after the warm-up, by phase."""
    found: dict[str, list[tuple[int, int]]] = {}
    for run in trace.inferences():
        if not run.warms_up:
            found.setdefault(run.phase, []).append((run.start, run.end))
    return found


def _grown(
    chance: random.Random, start: int, end: int, thread: int, depth: int, parts: int = 3
) -> list[Piece]:
    """Return slices next to one another in a range, with others inside."""
    cuts = sorted(chance.sample(range(start, end + 1), min(2 * parts, (end - start) // 2 * 2)))
    found = []
    for first, last in zip(cuts[::2], cuts[1::2], strict=True):
        piece = Piece(chance.choice(NAMES), first, last, thread)
        if depth > 1 and last - first > 8:
            piece.inside = _grown(chance, first + 1, last - 1, thread, depth - 1)
        found.append(piece)
    return found


def _each(pieces: list[Piece]) -> list[Piece]:
    return [one for piece in pieces for one in (piece, *_each(piece.inside))]


def self_times(pieces: list[Piece], spans: list[tuple[int, int]], key: str) -> dict[str, list[int]]:
    """Return the self ticks of every group of a key in each inference, slice by slice.

    A slice without a group is a part of the slice around it that has one, if all between them start
    in an inference, too. By thread, the outermost slices have all of the time inside them.
    """
    of_groups: dict[str, list[int]] = {}

    def step_of(piece: Piece) -> int:
        return next((i for i, (a, b) in enumerate(spans) if a <= piece.start < b), -1)

    def walk(piece: Piece, group: str, step: int) -> None:
        if piece.facts[key]:
            group, step = piece.facts[key] or "", step_of(piece)
        elif step_of(piece) < 0:
            group = ""
        left = piece.end - piece.start
        if key != "thread":
            left -= sum(part.end - part.start for part in piece.inside)
        if group and step >= 0:
            of_groups.setdefault(group, [0] * len(spans))[step] += left
        for part in piece.inside if key != "thread" else ():
            walk(part, group, step)

    for piece in pieces:
        walk(piece, "", -1)
    return of_groups


def means(pieces: list[Piece], spans: list[tuple[int, int]]) -> dict[str, Means]:
    """Return the figures of every name in some inferences, slice by slice."""
    found: dict[str, Means] = {}

    def step_of(piece: Piece) -> int:
        return next((i for i, (a, b) in enumerate(spans) if a <= piece.start < b), -1)

    def walk(piece: Piece, around: frozenset[str]) -> None:
        step = step_of(piece)
        if step >= 0:
            own = found.setdefault(piece.name, Means(of_each=[0] * len(spans)))
            length = piece.end - piece.start
            left = length - sum(part.end - part.start for part in piece.inside)
            own.count += 1
            own.self_ticks += left
            own.of_each[step] += left
            own.total += 0 if piece.name in around else length
        for part in piece.inside:
            walk(part, around | {piece.name} if step >= 0 else around)

    for piece in pieces:
        walk(piece, frozenset())
    return found
