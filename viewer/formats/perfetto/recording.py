"""What a Perfetto file says beside its events: sequences, clocks, tracks, attributes, oddities."""

from __future__ import annotations

from viewer.formats.perfetto.sequences import ClockSnapshots, Sequences, TextTable, Tracks
from viewer.model.provenance import PREFIX


class Recording:
    """What was read of a file so far that its events refer to.

    attributes: of the trace, by name; of our own exports also what was said of its sources.
    clock_numbers: (sequence, clock) -> the small number that stands for it in columns.
    problems: odd data by kind, how often and where first.
    """

    def __init__(self, path: str, format: str) -> None:
        self.path, self.format = path, format
        self.problems: dict[str, tuple[int, str]] = {}
        self.texts = TextTable()
        self.sequences = Sequences(self.texts, self.problem)
        self.clocks = ClockSnapshots()
        self.tracks = Tracks(self.problem)
        self.attributes: dict[str, int | str] = {}
        self.clock_numbers: dict[tuple[int, int], int] = {(0, 0): 0}

    def problem(self, kind: str, count: int = 1, first: str = "") -> None:
        """Count odd data; the first place stays."""
        if count:
            had, where = self.problems.get(kind, (0, first))
            self.problems[kind] = (had + count, where)

    @property
    def is_own(self) -> bool:
        """Whether Opscope wrote the file."""
        return f"{PREFIX}tool" in self.attributes

    def provenance(self) -> dict[str, int | str]:
        """What our own export says of itself; nothing of a file of another tool."""
        if not self.is_own:
            return {}
        return {name.removeprefix(PREFIX): value for name, value in self.attributes.items()}
