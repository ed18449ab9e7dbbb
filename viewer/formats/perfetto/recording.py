"""State shared while reading a Perfetto file: sequences, clocks, tracks, attributes, problems."""

from __future__ import annotations

import numpy as np

from viewer.arrays import Ints, groups_of
from viewer.formats.perfetto.relative_times import RelativeTimes
from viewer.formats.perfetto.sequences import ClockSnapshots, Sequences, TextTable
from viewer.formats.perfetto.tracks import Tracks
from viewer.model.trace_attributes import PREFIX


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
