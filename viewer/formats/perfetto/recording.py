"""State shared while reading a Perfetto file: sequences, clocks, tracks, attributes, problems."""

from __future__ import annotations

import numpy as np

from viewer.arrays import Bools, Ints, groups_of
from viewer.codecs.protobuf.fields import Words
from viewer.dataclasses import dataclass, field
from viewer.formats.perfetto.sequences import ClockSnapshots, Sequences, TextTable
from viewer.formats.perfetto.tracks import Tracks
from viewer.model.trace_attributes import PREFIX

TIME, THREAD_TIME, INSTRUCTIONS = range(3)
_LIMIT = 2.0**62


@dataclass(slots=True)
class _Sequence:
    """The references of a sequence, and what the differences so far have reached.

    since: the packets from which on they apply. reference: None where there is none.
    """

    since: list[int] = field(default_factory=list)
    reference: list[tuple[int, int, int] | None] = field(default_factory=list)
    reached: dict[int, tuple[int, int]] = field(default_factory=dict)


class RelativeTimes:
    """Times of track events as differences, as Chrome wrote them from 2019 to 2021.

    A ThreadDescriptor states a reference for its packet sequence: a time, a thread time and a
    number of instructions. From then on, an event states how much later than the event before it it
    was (µs), or how many instructions. Lost packets and cleared state end this until the next one.
    """

    def __init__(self) -> None:
        self._of: dict[int, _Sequence] = {}

    def start(self, sequence: int, packet: int, reference: tuple[int, int, int]) -> None:
        """Take a reference: time and thread time in ns, and instructions."""
        self._add(sequence, packet, reference)

    def stop(self, sequence: int, packet: int) -> None:
        """Forget the reference of a sequence, if it has one."""
        state = self._of.get(sequence)
        if state is not None and state.reference[-1] is not None:
            self._add(sequence, packet, None)

    def _add(self, sequence: int, packet: int, reference: tuple[int, int, int] | None) -> None:
        state = self._of.setdefault(sequence, _Sequence())
        state.since.append(packet)
        state.reference.append(reference)

    def resolved(self, which: int, sequence: Words, packet: Ints, step: Ints) -> tuple[Ints, Bools]:
        """Return what differences reach, and where they have a reference.

        which: of the three. sequence, packet, step: of events in the order of the file; the steps
        in the unit of the reference.
        """
        reached, has_reference = np.zeros(len(step), np.int64), np.zeros(len(step), np.bool_)
        for number, of_sequence in groups_of(sequence):
            state = self._of.get(number)
            if state is None:
                continue
            part = np.searchsorted(state.since, packet[of_sequence], side="right") - 1
            for last_reference, places in groups_of(part):
                reference = state.reference[last_reference] if last_reference >= 0 else None
                if reference is None:
                    continue
                rows = of_sequence[places]
                before, base = state.reached.get(which, (-1, 0))
                if before != last_reference:
                    base = reference[which]
                fits = np.abs(base + np.cumsum(step[rows].astype(np.float64))) < _LIMIT
                rows = rows[np.logical_and.accumulate(fits)]
                reached[rows] = base + np.cumsum(step[rows])
                has_reference[rows] = True
                end = int(reached[rows[-1]]) if len(rows) else base
                state.reached[which] = last_reference, end
        return reached, has_reference


class Recording:
    """Everything read from a file so far that its events refer to.

    attributes: those of the trace, by name; for Opscope exports also the facts about sources.
    clock_numbers: (sequence, clock) -> the small number used in columns. problems: kind -> count
    and first place. here: the place of the packet that is read, if it states more than events.
    """

    def __init__(self, path: str, format: str) -> None:
        self.path, self.format = path, format
        self.problems: dict[str, tuple[int, str]] = {}
        self.texts = TextTable()
        self.here = ""
        self.sequences = Sequences(self.texts, self.problem_here)
        self.clocks = ClockSnapshots()
        self.relative_times = RelativeTimes()
        self.tracks = Tracks(self.problem_here)
        self.attributes: dict[str, int | str] = {}
        self.clock_numbers: dict[tuple[int, int], int] = {(0, 0): 0}

    def problem(self, kind: str, count: int = 1, first: str = "") -> None:
        """Count unexpected data; only the first place is stored."""
        if count:
            had, where = self.problems.get(kind, (0, first))
            self.problems[kind] = (had + count, where)

    def problem_here(self, kind: str, count: int = 1, first: str = "") -> None:
        """Count unexpected data of the packet that is read."""
        self.problem(kind, count, first or self.here)

    def to_trace_clock(self, time: Ints, clock: Ints) -> Ints:
        """Convert times to the clock of the trace, in place, and return the rows that stay.

        clock: of `clock_numbers`. No snapshot relates the clocks of the rows that stay.
        """
        lost = [np.empty(0, np.int64)]
        names = list(self.clock_numbers)
        for number, rows in groups_of(clock):
            converted = self.clocks.converted(names[number], time[rows])
            if converted is None:
                lost.append(rows)
            else:
                time[rows] = converted
        return np.concatenate(lost)

    @property
    def is_own(self) -> bool:
        """Whether Opscope wrote the file."""
        return f"{PREFIX}tool" in self.attributes

    def provenance(self) -> dict[str, int | str]:
        """The metadata of an Opscope export; empty for a file from another tool."""
        if not self.is_own:
            return {}
        return {name.removeprefix(PREFIX): value for name, value in self.attributes.items()}
