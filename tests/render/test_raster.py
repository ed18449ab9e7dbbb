"""The raster against a reference that walks every slice in exact fractions."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind, Slices, Trace
from viewer.render.palette import INNER, ROUND_SIDE, SIDE
from viewer.render.raster import LABEL_WIDTH, RowRaster, draw_together
from viewer.render.time_axis import Axis, XMap

ANCHOR = 1_700_000_000_000_000_000


def trace_of(*rows: list[tuple[int, int]], name: str = "a") -> Trace:
    """One track per list of (start, end)."""
    builder = TraceBuilder("t.csv", "test", "", Clock())
    for number, row in enumerate(rows):
        times = np.array(row, np.int64).reshape(-1, 2)
        key = [builder.key(KeyKind.PLAIN, name + str(i % 12)) for i in range(len(times))]
        builder.add(
            track=builder.track("p", f"t{number}"),
            start=times[:, 0],
            end=times[:, 1],
            name=builder.intern(name),
            key=np.array(key, np.uint32),
        )
    return builder.build()


def colors(slices: Slices) -> np.ndarray:
    return (slices.key % 12).astype(np.uint8)


def raster_of(trace: Trace) -> RowRaster:
    return RowRaster.of(trace.slices, colors(trace.slices))


def reference_row(slices: Slices, row: int, xmap: XMap) -> list[list[int]]:
    """For every column the slices drawn in it, by the definition."""
    ratio, offset = xmap.axis.ns_per_tick, xmap.axis.offset_ns
    columns: list[list[int]] = [[] for _ in range(xmap.width)]

    def x(tick: int) -> int:
        ns = tick * ratio + offset
        return floor(Fraction(ns - xmap.t0) * xmap.width / (xmap.t1 - xmap.t0))

    for i in range(int(slices.row_ptr[row]), int(slices.row_ptr[row + 1])):
        start, end = int(slices.start[i]), int(slices.end[i])
        if end > start:
            first = x(start)
            for column in range(max(first, 0), min(max(x(end), first + 1), xmap.width)):
                columns[column].append(i)
    return columns


def check_against_reference(trace: Trace, xmap: XMap) -> None:
    slices, own = trace.slices, colors(trace.slices)
    rows = list(range(len(slices.row_ptr) - 1))
    raster = raster_of(trace)
    cells = raster.draw(rows, xmap)
    for row in rows:
        columns = reference_row(slices, row, xmap)
        for p, members in enumerate(columns):
            cell = int(cells[row, p])
            hit = raster.hit(row, p + 0.5, xmap)
            if not members:
                assert (cell, hit) == (0, -1)
                continue
            longest = max(int(slices.end[i] - slices.start[i]) for i in members)
            assert hit in members
            # Lengths are compared with 16 bits; see weights_of.
            assert int(slices.end[hit] - slices.start[hit]) >= longest * (1 - 2**-14)
            is_gap = p + 1 == xmap.width or hit not in columns[p + 1]
            if cell == 0:
                assert is_gap
                assert hit in columns[p - 3]
                continue
            assert cell & 0x3F == own[hit]
            if len(members) == 1:
                assert cell >> 8 == 255
            else:
                right = xmap.edges[p + 1]
                covered = sum(int(min(slices.end[i], right) - slices.start[i]) for i in members)
                share = min(1.0, covered / float(xmap.ticks_per_pixel))
                assert cell >> 8 == pytest.approx(1 + share * 254, abs=1.01)


def steps_to_row(steps: list[tuple[int, int]], origin: int) -> list[tuple[int, int]]:
    row, at = [], origin
    for gap, length in steps:
        row.append((at + gap, at + gap + length))
        at += gap + length
    return row


STEPS = st.lists(
    st.tuples(
        st.integers(0, 40) | st.just(0), st.integers(1, 3) | st.integers(0, 60) | st.just(900)
    ),
    max_size=40,
)
AXES = st.builds(
    Axis,
    st.sampled_from([Fraction(1), Fraction(5, 4), Fraction(1000), Fraction(1, 3)]),
    st.sampled_from([0, -7, ANCHOR]),
)


@pytest.mark.slow
@given(st.lists(STEPS, min_size=1, max_size=3), AXES, st.data())
def test_sparse_rows_are_drawn_exactly(rows, axis, data):
    trace = trace_of(*(steps_to_row(steps, 1000) for steps in rows))
    first, last = axis.to_ns(990), axis.to_ns(max(trace.end, 1000) + 10)
    t0 = data.draw(st.integers(first, last))
    t1 = data.draw(st.integers(t0 + 1, last + 5))
    check_against_reference(trace, XMap(t0, t1, data.draw(st.integers(41, 90)), axis))


def test_more_slices_than_columns_in_a_burst_are_drawn_exactly():
    """Few slices, so that there is no mipmap, on fewer columns."""
    rng = np.random.default_rng(1)
    steps = [(int(rng.integers(0, 3)), int(rng.integers(1, 9))) for _ in range(400)]
    steps[100] = (5, 400)
    trace = trace_of(steps_to_row(steps, ANCHOR))
    for t0, span, width in ((0, 2600, 300), (37, 1200, 101), (601, 500, 60), (-50, 3000, 390)):
        check_against_reference(trace, XMap(ANCHOR + t0, ANCHOR + t0 + span, width))


def test_a_slice_of_one_tick_in_an_hour_is_one_full_pixel():
    trace = trace_of([(1_800_000_000_000, 1_800_000_000_001)])
    (row,) = raster_of(trace).draw([0], XMap(0, 3_600_000_000_000, 1000))
    assert np.flatnonzero(row).tolist() == [500]
    assert row[500] >> 8 == 255


def test_wide_slices_have_sides_and_leave_a_gap():
    trace = trace_of([(0, 4), (4, 12), (12, 15), (15, 16)])
    (row,) = raster_of(trace).draw([0], XMap(0, 20, 20))
    part = (row >> 6 & 3).tolist()
    assert part[:3] == [SIDE, INNER, SIDE]
    assert row[3] == 0
    assert part[4:11] == [ROUND_SIDE] + [INNER] * 5 + [ROUND_SIDE]
    assert row[11] == 0
    assert part[12:16] == [0, 0, 0, 0]
    assert (row[12:16] > 0).all()
    assert not row[16:].any()


def test_a_slice_cut_by_the_view_has_no_side_and_no_gap_there():
    trace = trace_of([(0, 1000)])
    (row,) = raster_of(trace).draw([0], XMap(100, 120, 20))
    assert set((row >> 6 & 3).tolist()) == {INNER}


def crowded(n: int, seed: int = 3) -> Trace:
    rng = np.random.default_rng(seed)
    length = (rng.pareto(1.2, n) * 20 + 1).astype(np.int64)
    gap = (rng.pareto(1.5, n) * 10).astype(np.int64)
    start = np.cumsum(length + gap) - length
    return trace_of((np.column_stack([start, start + length]) + ANCHOR).tolist())


@pytest.mark.slow
@pytest.mark.parametrize("width", [97, 640, 1920])
def test_crowded_rows_miss_no_slice_by_more_than_a_pixel(width):
    trace = crowded(20_000)
    raster = raster_of(trace)
    span = trace.end - trace.start
    for zoom, at in ((1, 0.0), (1.7, 0.2), (3, 0.5), (0.3, -1.0)):
        t0 = trace.start + int(at * span)
        xmap = XMap(t0, t0 + int(span / zoom), width)
        assert raster.mips[0].fits(float(xmap.ticks_per_pixel))
        drawn = raster.draw([0], xmap)[0] > 0
        exact = np.array([bool(m) for m in reference_row(trace.slices, 0, xmap)])
        for one, other in ((exact, drawn), (drawn, exact)):
            near = np.convolve(other, [1, 1, 1], "same") > 0
            assert not (one & ~near).any()
        assert (drawn == exact).mean() > 0.95


def test_wide_slices_of_a_crowded_row_are_drawn_exactly():
    """As if the row held nothing else, but for columns that they share with their neighbors."""
    trace = crowded(20_000, seed=8)
    slices, own, raster = trace.slices, colors(trace.slices), raster_of(trace)
    span = trace.end - trace.start
    compared = 0
    for t0, t1 in ((0, span), (span // 7, span // 2), (-span // 3, span)):
        xmap = XMap(trace.start + t0, trace.start + t1, 800)
        wide = np.flatnonzero(xmap.pixel_of(slices.end) - xmap.pixel_of(slices.start) > 3)
        cells = raster.draw([0], xmap)[0]
        alone = RowRaster.subset(slices, own, wide).draw([0], xmap)[0]
        x0, x1 = xmap.pixel_of(slices.start[wide]), xmap.pixel_of(slices.end[wide])
        assert (cells[x1[slices.end[wide] < trace.start + t1] - 1] == 0).all()
        for i, left, right in zip(wide, x0, x1, strict=True):
            shared = i > 0 and slices.start[i - 1] >= xmap.edges[left]
            assert cells[left + shared : right].tolist() == alone[left + shared : right].tolist()
            assert not shared or cells[left] >> 6 & 3 == 0
            compared += 1
    assert compared > 30


def test_the_mipmap_weighs_time_not_count():
    """Half the time of every pixel is covered: by one slice on the left, by fifty on the right."""
    left = [(1000 * i, 1000 * i + 500) for i in range(400)]
    right = [(at, at + 10) for at in range(400_000, 800_000, 20)]
    trace = trace_of(left + right)
    (row,) = raster_of(trace).draw([0], XMap(0, 800_000, 200))
    shade = (row >> 8).astype(int)
    # A cell on the edge of a pixel can take an eighth of it along; the last column has a gap.
    assert abs(shade[:-1] - 128).max() <= 32


def test_the_longest_slice_of_a_pixel_gives_the_color_at_every_zoom():
    lengths = np.ones(4096, np.int64)
    lengths[::64] = 30
    start = np.cumsum(lengths + 1) - lengths
    trace = trace_of(np.column_stack([start, start + lengths]).tolist())
    color = np.where(lengths == 30, 7, 2).astype(np.uint8)
    raster = RowRaster.of(trace.slices, color)
    for width in (4, 8, 16):
        (row,) = raster.draw([0], XMap(0, trace.end + 1, width))
        assert set((row & 0x3F).tolist()) == {7}


def test_bursts_finer_than_the_mipmap_are_drawn_from_the_slices():
    """A thousand slices in a microsecond, then ten in an hour."""
    burst = [(2 * i, 2 * i + 1) for i in range(4000)]
    late = [(10**12 * i, 10**12 * i + 5) for i in range(1, 11)]
    trace = trace_of(burst + late)
    raster = raster_of(trace)
    xmap = XMap(100, 7100, 1000)
    assert not raster.mips[0].fits(float(xmap.ticks_per_pixel))
    check_against_reference(trace, xmap)


def test_a_burst_shows_the_slice_that_fills_most_of_a_column():
    """Forty slices of 1 ns and one of 59 in every column of 100, before a long silence."""
    row = []
    for column in range(60):
        row += [(100 * column + i, 100 * column + i + 1) for i in range(40)]
        row += [(100 * column + 40, 100 * column + 99)]
    trace = trace_of([*row, (10**12, 10**12 + 1)])
    lengths = trace.slices.end - trace.slices.start
    raster = RowRaster.of(trace.slices, np.where(lengths > 1, 7, 2).astype(np.uint8))
    (cells,) = raster.draw([0], XMap(0, 6000, 60))
    assert set((cells & 0x3F).tolist()) == {7}
    assert set((cells >> 8).tolist()) == {1 + int(0.99 * 254)}


def test_hits_are_drawn_from_a_subset_on_the_same_rows():
    trace = trace_of([(0, 10), (10, 20), (25, 25), (30, 40)], [(0, 40)])
    own = colors(trace.slices)
    hits = RowRaster.subset(trace.slices, own, np.array([1, 2]))
    xmap = XMap(0, 40, 40)
    first, second = hits.draw([0, 1], xmap)
    assert np.flatnonzero(first).tolist() == list(range(10, 19))
    assert not second.any()
    assert hits.hit(0, 12, xmap) == 1
    assert hits.zero_marks(0, xmap).first.tolist() == [2]


def test_extreme_times_are_drawn_without_a_fault():
    low, high = -(2**63), 2**63 - 1
    rows = [(low, low + 5), (-1, 1), (high - 4, high - 1)]
    many = [(low + i * 2**53, low + i * 2**53 + 2**52) for i in range(1024)]
    raster = raster_of(trace_of(rows, [*many, (high - 1, high)]))
    for xmap in (XMap(low, high, 800), XMap(2 * low, 2 * high, 700), XMap(high - 5, high + 9, 14)):
        cells = raster.draw([0, 1], xmap)
        assert cells.shape == (2, xmap.width)
    (row, _) = raster.draw([0, 1], XMap(low, high, 801))
    assert np.flatnonzero(row).tolist() == [0, 400, 800]
    (row, _) = raster.draw([0, 1], XMap(high - 5, high + 9, 14))
    assert np.flatnonzero(row).tolist() == [1, 2, 3]


def test_labels_are_the_slices_wide_enough_and_stick_to_the_left_edge():
    trace = trace_of([(0, 500), (500, 514), (514, 560), (560, 1000)], [])
    labels = raster_of(trace).labels([0], XMap(450, 600, 150))
    assert labels.slice.tolist() == [0, 2, 3]
    assert labels.x0.tolist() == [0, 64, 110]
    assert labels.x1.tolist() == [50, 110, 150]


@pytest.mark.slow
@given(STEPS, st.integers(0, 500), st.integers(40, 900))
def test_labels_agree_with_a_search_of_all_slices(steps, t0, width):
    trace = trace_of(steps_to_row(steps, 0), steps_to_row(steps, 5))
    slices, xmap = trace.slices, XMap(t0, t0 + 700, width)
    x0, x1 = xmap.pixel_of(slices.start), xmap.pixel_of(slices.end)
    rows = list(range(len(slices.row_ptr) - 1))
    found = raster_of(trace).labels(rows, xmap)
    assert sorted(found.slice.tolist()) == np.flatnonzero(x1 - x0 >= LABEL_WIDTH).tolist()
    assert (slices.rows()[found.slice] == found.position).all()


@pytest.mark.parametrize("n", [50, 5000])
def test_zero_length_slices_give_one_mark_per_pixel(n):
    rng = np.random.default_rng(n)
    times = np.sort(rng.integers(0, 1000, n))
    trace = trace_of([(int(t), int(t)) for t in times])
    raster = raster_of(trace)
    xmap = XMap(100, 900, 200)
    assert not raster.draw([0], xmap).any()
    marks = raster.zero_marks(0, xmap)
    seen = times[(times >= 100) & (times < 900)]
    assert marks.count.sum() == len(seen)
    assert marks.x.tolist() == sorted({int(t - 100) // 4 for t in seen})
    for x, count, first in zip(marks.x, marks.count, marks.first, strict=True):
        inside = np.flatnonzero((times - 100) // 4 == x)
        assert (count, trace.slices.start[first]) == (len(inside), times[inside[0]])


def test_an_empty_trace_draws_nothing():
    trace = trace_of()
    raster = raster_of(trace)
    xmap = XMap(0, 10, 10)
    assert raster.draw([], xmap).shape == (0, 10)
    assert len(raster.labels([], xmap).slice) == 0


@pytest.mark.slow
@given(data=st.data())
def test_rasters_that_are_drawn_together_have_the_same_cells_as_each_alone(data):
    trace = crowded(data.draw(st.integers(1, 3000)))
    own, n = colors(trace.slices), len(trace.slices)
    some = RowRaster.subset(trace.slices, own, np.arange(0, n, data.draw(st.integers(1, 50))))
    parts = [(raster_of(trace), [0]), (some, [0, 0]), (some, [])]
    t0 = data.draw(st.integers(trace.start, trace.end - 1))
    xmap = XMap(t0, data.draw(st.integers(t0 + 1, trace.end + 9)), data.draw(st.integers(1, 300)))
    together = draw_together(parts, xmap)
    assert len(together) == len(parts)
    for (raster, rows), cells in zip(parts, together, strict=True):
        assert (cells == raster.draw(rows, xmap)).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_labels_of_crowded_rows_agree_with_a_search_of_all_slices(seed):
    """Rows of thousands of narrow slices with some wide ones, from all of it to a few of them."""
    rng = np.random.default_rng(seed)
    rows = []
    for count in (300, 3_000, 20_000):
        length = rng.integers(1, 30, count) * np.where(rng.random(count) < 0.01, 5_000, 1)
        start = np.cumsum(length + rng.integers(0, 20, count)) - length + seed
        rows.append(list(zip(start.tolist(), (start + length).tolist(), strict=True)))
    slices = trace_of(*rows).slices
    raster, whole = raster_of(trace_of(*rows)), int(slices.end.max())
    for zoom in (1, 3, 20, 200, 5_000):
        t0 = int(rng.integers(0, max(whole - whole // zoom, 1)))
        for width, least in ((700, LABEL_WIDTH), (1400, 2 * LABEL_WIDTH), (700, 8), (300, 2)):
            xmap = XMap(t0, t0 + max(whole // zoom, 1), width)
            x0, x1 = xmap.pixel_of(slices.start), xmap.end_pixel_of(slices.end)
            labels = raster.labels([0, 1, 2], xmap, least)
            assert labels.slice.tolist() == np.flatnonzero(x1 - x0 >= least).tolist()
            assert (slices.rows()[labels.slice] == labels.position).all()
            assert (labels.x0 == x0[labels.slice]).all()
            assert (labels.x1 == x1[labels.slice]).all()


@pytest.mark.parametrize("per_column", [1.5, 1.9])
def test_a_burst_of_few_slices_per_column_has_the_color_of_the_longest(per_column):
    """Also where a column has more than a sample would look at."""
    count = int(per_column * 400)
    rng = np.random.default_rng(3)
    starts = np.sort(rng.choice(4_000 * 10, count, replace=False)) // 10 * 10
    starts = np.unique(np.append(starts, np.arange(1_000, 1_300, 10)))
    row = [
        (int(s), int(s) + int(n))
        for s, n in zip(starts, rng.integers(1, 10, len(starts)), strict=True)
    ]
    # Before it a long time without slices, so that the cells of the mipmap are wide.
    trace = trace_of([(-(10**9) + n * 20, -(10**9) + n * 20 + 3) for n in range(600)] + row)
    raster, xmap = raster_of(trace), XMap(0, 40_000, 400)
    assert 400 < np.subtract(*raster.in_view(0, xmap)[::-1]) <= 800
    assert not raster.mips[0].fits(float(xmap.ticks_per_pixel))
    cells, slices = raster.draw([0], xmap)[0], trace.slices
    for column, inside in enumerate(reference_row(slices, 0, xmap)):
        if len(inside) > 1:
            length = slices.end[inside] - slices.start[inside]
            longest = {
                int(slices.key[i] % 12)
                for i, n in zip(inside, length, strict=True)
                if n == length.max()
            }
            assert int(cells[column]) & 0x3F in longest
