"""The overview of Torq's perfetto_logger: how long each unit was busy, alone and with others.

Three generations of it are known, and each file gets the one of its time:

* `TWO_UNITS` (f63e303): DMA and SLICE, DMA alone, both at once, idle, overall.
* `EIGHT_UNITS` (8e135dc): as `ALL_UNITS`, without the slice units by number.
* `ALL_UNITS` (36d5652, 183cae4): DMA and CDMA together are "DMA", slice units and CSS together are
  "compute"; each part is also listed by itself.

Every number is the length of a set of time (`viewer.model.intervals`), so nothing is counted twice
and the cost is one sort: DMA = DMA_ONLY + overlap, and busy + IDLE = OVERALL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from viewer.arrays import Ints
from viewer.compat.torq_logger.names import duration_text, percent
from viewer.model.intervals import Intervals, intersect, length, subtract

NO_TIME: Intervals = (np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class OverviewForm:
    """One generation of the overview.

    rows: (key, thread that shows it, label of its slice). printed: the keys in print order. text:
    formats a time in ns for a slice's name.
    """

    rows: tuple[tuple[str, str, str], ...]
    printed: tuple[str, ...]
    text: Callable[[int], str]


TWO_UNITS = OverviewForm(
    (
        ("DMA", "00 OVERVIEW DMA", "DMA total"),
        ("SLICE", "01 OVERVIEW SLICE", "SLICE total"),
        ("DMA_ONLY", "02 OVERVIEW DMA ONLY", "DMA ONLY (exclusive)"),
        ("DMA_SLICE_OVERLAP", "03 OVERVIEW DMA+SLICE OVERLAP", "DMA & SLICE overlap"),
        ("IDLE", "04 OVERVIEW IDLE", "IDLE"),
        ("OVERALL", "05 OVERALL", "OVERALL"),
    ),
    ("DMA", "SLICE", "DMA_ONLY", "DMA_SLICE_OVERLAP", "IDLE", "OVERALL"),
    str,
)
EIGHT_UNITS = OverviewForm(
    (
        ("DMA_COMBINED", "00 OVERVIEW DMA COMBINED", "DMA+CDMA total"),
        ("COMPUTE_COMBINED", "01 OVERVIEW COMPUTE COMBINED", "SLICE+CSS total"),
        ("DMA", "02 OVERVIEW DMA", "DMA total"),
        ("CDMA", "03 OVERVIEW CDMA", "CDMA total"),
        ("SLICE", "04 OVERVIEW SLICE", "SLICE total"),
        ("CSS", "05 OVERVIEW CSS", "CSS total"),
        ("DMA_ONLY", "06 OVERVIEW DMA ONLY", "DMA ONLY (exclusive)"),
        ("COMPUTE_ONLY", "07 OVERVIEW COMPUTE ONLY", "COMPUTE ONLY (exclusive)"),
        ("IDLE", "08 OVERVIEW IDLE", "IDLE"),
        ("OVERALL", "09 OVERALL", "OVERALL"),
    ),
    (
        "DMA_COMBINED", "COMPUTE_COMBINED", "DMA_ONLY", "COMPUTE_ONLY", "IDLE", "OVERALL", "DMA",
        "SLICE", "CDMA", "CSS", "DMA_COMPUTE_OVERLAP",
    ),
    str,
)  # fmt: skip
ALL_UNITS = OverviewForm(
    (
        ("DMA_COMBINED", "00 OVERVIEW DMA COMBINED", "DMA+CDMA union"),
        ("COMPUTE_COMBINED", "01 OVERVIEW COMPUTE COMBINED", "SLICE+CSS union"),
        ("DMA", "02 OVERVIEW DMA", "DMA total"),
        ("CDMA", "03 OVERVIEW CDMA", "CDMA total"),
        ("SLICE", "04 OVERVIEW SLICE", "SLICE 0 + 1 union"),
        ("SLICE_0", "05 OVERVIEW SLICE 0", "SLICE 0 total"),
        ("SLICE_1", "06 OVERVIEW SLICE 1", "SLICE 1 total"),
        ("CSS", "07 OVERVIEW CSS", "CSS total"),
        ("DMA_ONLY", "08 OVERVIEW DMA ONLY", "DMA/CDMA ONLY (no compute)"),
        ("COMPUTE_ONLY", "09 OVERVIEW COMPUTE ONLY", "COMPUTE ONLY (no DMA/CDMA)"),
        (
            "DMA_COMPUTE_OVERLAP",
            "10 OVERVIEW DMA COMPUTE OVERLAP",
            "DMA/CDMA<->COMPUTE overlap",
        ),
        ("IDLE", "11 OVERVIEW IDLE", "IDLE"),
        ("OVERALL", "12 OVERALL", "OVERALL"),
    ),
    (
        "OVERALL", "DMA_COMPUTE_OVERLAP", "SLICE", "COMPUTE_COMBINED", "CSS", "COMPUTE_ONLY",
        "DMA_COMBINED", "DMA_ONLY", "DMA", "CDMA", "IDLE",
    ),
    duration_text,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TorqOverview:
    """The times of one file in its unit, and the start of its first slice.

    A key that is not in `times` is drawn with zero length and without a share, and is not printed.
    unit: what numbers in names count, where the form does not state it; the originals had none.
    """

    form: OverviewForm
    start: int
    times: Mapping[str, int]
    unit: str = ""

    def slices(self) -> list[tuple[str, str, int, bool]]:
        """Return (thread, name, length, whether its category is "overview") for each slice.

        All start at `start`.
        """
        slices = []
        for figure, thread, label in self.form.rows:
            time = self.times.get(figure, 0)
            name = f"{label}: {self.form.text(time)}"
            if self.unit and self.form.text is str:
                name += f" {self.unit}"
            if figure != "OVERALL" and figure in self.times:
                name += f" ({percent(time, self.times['OVERALL'])})"
            slices.append((thread, name, time, "OVERVIEW" in thread))
        return slices

    def printed(self, title: str) -> str:
        """Return the summary as it is printed: an empty line, a heading, a line per key."""
        lines = ["", f"=== Overview ({title}) ==="]
        for figure in self.form.printed:
            if figure not in self.times:
                continue
            share = percent(self.times[figure], self.times["OVERALL"])
            tail = "" if figure == "OVERALL" else f" ({share})"
            lines.append(f"{figure} time: {self.times[figure]}{tail}")
        return "\n".join(lines) + "\n"


def two_units(everything: Intervals, dma: Intervals, slices: Intervals) -> TorqOverview:
    """Return the overview of f63e303. everything: all rows of any unit."""
    start, overall = _extent(everything)
    times = {
        "DMA": length(*dma),
        "SLICE": length(*slices),
        "DMA_ONLY": _sum(subtract(dma, slices)),
        "DMA_SLICE_OVERLAP": _sum(intersect(dma, slices)),
        "IDLE": max(overall - length(*_both(dma, slices)), 0),
        "OVERALL": overall,
    }
    return TorqOverview(TWO_UNITS, start, times)


def runtime_overview(jobs: Intervals) -> TorqOverview:
    """Return the overview of f63e303 for NSS jobs, whose units are unknown."""
    torq_overview = two_units(jobs, NO_TIME, NO_TIME)
    return TorqOverview(
        TWO_UNITS,
        torq_overview.start,
        {**torq_overview.times, "IDLE": torq_overview.times["OVERALL"] - length(*jobs)},
    )


def as_8e135dc(overview: TorqOverview) -> TorqOverview:
    """Return the overview of 8e135dc from that of 36d5652."""
    return replace(overview, form=EIGHT_UNITS)


def runtime_overview_8e135dc(jobs: Intervals) -> TorqOverview:
    """Return the overview of 8e135dc for NSS jobs."""
    torq_overview = runtime_overview(jobs)
    nothing = dict.fromkeys(
        ("DMA", "SLICE", "DMA_ONLY", "COMPUTE_ONLY", "DMA_COMBINED", "COMPUTE_COMBINED",
         "DMA_COMPUTE_OVERLAP"), 0
    )  # fmt: skip
    times = {**nothing, **{name: torq_overview.times[name] for name in ("IDLE", "OVERALL")}}
    return TorqOverview(EIGHT_UNITS, torq_overview.start, times)


def all_units(
    everything: Intervals,
    dma: Intervals,
    cdma: Intervals,
    slices: Intervals,
    css: Intervals,
    of_slice: Mapping[int, Intervals] | None = None,
) -> TorqOverview:
    """Return the overview of 36d5652 and 183cae4.

    of_slice: the busy times of slice units 0 and 1, if known.
    """
    start, overall = _extent(everything)
    moves, computes = _both(dma, cdma), _both(slices, css)
    times = {
        "DMA_COMBINED": length(*moves),
        "COMPUTE_COMBINED": length(*computes),
        "DMA": length(*dma),
        "CDMA": length(*cdma),
        "SLICE": length(*slices),
        "CSS": length(*css),
        "DMA_ONLY": _sum(subtract(moves, computes)),
        "COMPUTE_ONLY": _sum(subtract(computes, moves)),
        "DMA_COMPUTE_OVERLAP": _sum(intersect(moves, computes)),
        "IDLE": max(overall - length(*_both(moves, computes)), 0),
        "OVERALL": overall,
    }
    times |= {f"SLICE_{unit}": length(*busy) for unit, busy in (of_slice or {}).items()}
    return TorqOverview(ALL_UNITS, start, times)


def _extent(everything: Intervals) -> tuple[int, int]:
    """Return the first start, and the time from there to the last end; 0 for no rows."""
    start, end = everything
    if not len(start):
        return 0, 0
    first = int(start.min())
    return first, int(end.max()) - first


def _both(a: Intervals, b: Intervals) -> Intervals:
    return np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]])


def _sum(parts: Intervals) -> int:
    lengths: Ints = parts[1] - parts[0]
    return int(lengths.sum())
