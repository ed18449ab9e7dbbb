"""The words for figures: the title and the meaning of Total, Self, Count and the like.

Every table and report takes them from here, so that a title means the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.model.figure_base import FigureBase
from viewer.model.names.executorch import EXECUTE
from viewer.model.names.profilers import MODEL_RUN


@dataclass(frozen=True, slots=True)
class FigureTerm:
    """The title of a figure, and one sentence that defines it."""

    title: str
    definition: str

    def explained(self, more: str = "") -> str:
        """Return the definition, and what is special about the figure in one table."""
        return f"{self.definition} {more}" if more else self.definition


TOTAL = FigureTerm(
    "Total", "Inclusive time: from start to end, with all that runs inside, nothing counted twice."
)
SELF = FigureTerm("Self", "Exclusive time: from start to end, without slices of other rows inside.")
WALL = FigureTerm(
    "Wall",
    "Each instant of a thread counts once: for the innermost slice, and where slices overlap, for "
    "the one that started last.",
)
SHARED = FigureTerm(
    "Shared",
    "Time that several operators or modules have in common: it is charged to all of them together, "
    "and never divided.",
)
COUNT = FigureTerm("Count", "How many slices are counted.")
SAMPLES = FigureTerm("Samples", "In how many samples the profiler saw it.")
MEAN = FigureTerm("Mean", "Average of the counted durations.")
MEDIAN = FigureTerm("Median", "Half of the counted durations are shorter.")
P10 = FigureTerm("p10", "One in ten of the counted durations is shorter.")
P90 = FigureTerm("p90", "Nine in ten of the counted durations are shorter.")
MIN = FigureTerm("Min", "The shortest of the counted durations.")
MAX = FigureTerm("Max", "The longest of the counted durations.")
SUM = FigureTerm("Sum", "All counted durations added up, also those inside one another.")
PER_INFERENCE = FigureTerm(
    "Per inference",
    "Median per inference: half of the counted inferences have less, and some may have 0.",
)
TERMS = (TOTAL, SELF, WALL, SHARED, COUNT, MEAN, MEDIAN, P10, P90, MIN, MAX, SUM, PER_INFERENCE)

BUSY_TIME, SELF_TIME = "busy time", "self time"
# What shares are of, as `GroupTable.share_of` has it: its short name, and what it is exactly.
_BASES = {
    EXECUTE: ("inference time", f"the time of {EXECUTE}"),
    MODEL_RUN: ("inference time", f"the time of {MODEL_RUN}"),
    "inferences": ("inference time", "the time of all inferences that are counted"),
    BUSY_TIME: (BUSY_TIME, "the time in which each thread was busy, added up"),
    SELF_TIME: (SELF_TIME, "the self time of all slices, added up"),
    "range": ("range", "the time from the earliest start to the latest end"),
}


def share(base: str, what: str = f"{WALL.title} time", of: FigureBase | None = None) -> FigureTerm:
    """Return the term for the percentage of a whole: "% of inference time", "% of step time".

    base: "Method::execute", "model_run", "inferences", "busy time", "self time" or "range". what:
    what is compared with it. of: the base of the figures, which says what they are of.
    """
    title, whole = _BASES[base]
    if of is not None:
        title, whole = of.unit.worded(title), of.unit.worded(whole)
    return FigureTerm(f"% of {title}", f"{what} as a percentage of {whole}.")
