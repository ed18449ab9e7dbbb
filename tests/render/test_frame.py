"""Frames: rows, hits, marks and grid lines where the layout says."""

import gc
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from weakref import ref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.stocks import stacked
from tests.render.test_raster import colors, crowded, raster_of, trace_of
from viewer.render import frame as frames
from viewer.render import layout as lay
from viewer.render.frame import Backdrop, KeptRows, PlacedRows, RasterSource, draw_frame, expand
from viewer.render.palette import Emphasis, cell_colors
from viewer.render.raster import RowRaster
from viewer.render.time_axis import Axis, Gaps, XMap


def placed(ground, rows, *spans):
    """Rows of two columns that fill some lines, each with a body and an edge of one color."""
    bodies, edges = zip(*rows, strict=True)
    pixels = np.repeat(np.array([*bodies, *edges, ground], np.uint32)[:, None], 2, axis=1)
    tops, bottoms = np.array(spans).T
    return PlacedRows(pixels, tops, bottoms)


def test_rows_get_their_height_and_are_cut_at_the_frame():
    image = np.zeros((6, 2), np.uint32)
    rows = [(1, 5), (2, 6), (3, 7)]
    expand(image, [placed(9, rows, (-2, 2), (4, 9), (6, 8))])
    assert image[:, 0].tolist() == [1, 5, 9, 9, 6, 2]
    assert (image[:, 0] == image[:, 1]).all()


def test_rows_of_several_traces_share_a_frame():
    image = np.zeros((9, 2), np.uint32)
    first = placed(9, [(1, 5), (2, 6)], (0, 3), (6, 7))
    expand(image, [first, placed(9, [(3, 7)], (3, 6))])
    assert image[:, 0].tolist() == [5, 1, 5, 7, 3, 7, 6, 9, 9]


def test_a_frame_has_rows_hits_grid_and_canvas_where_the_layout_says():
    trace = trace_of([(0, 50), (60, 100)])
    own = colors(trace.slices)
    full, dim = cell_colors(True), cell_colors(True, Emphasis.DIMMED)
    source = RasterSource(
        raster_of(trace), Axis(), dim, RowRaster.subset(trace.slices, own, np.array([1])), full
    )
    layout = stacked(trace)
    backdrop = Backdrop(0xFF000001, 0xFF000002, np.array([20, 55]))
    image = draw_frame(layout, 10, 60, XMap(0, 100, 100), [source], backdrop).image
    top = lay.HEADER_HEIGHT - 10 + lay.SLICE_TOP
    assert (image[top - 1] == backdrop.canvas).sum() == 98
    assert image[0, 55] == image[top + 5, 55] == backdrop.grid
    first, second = own.tolist()
    assert image[top + 5, 20] == dim.body[0xFF00 | first]
    assert image[top + 5, 80] == full.body[0xFF00 | second]
    assert image[top + lay.SLICE_HEIGHT - 1, 80] != backdrop.canvas
    assert image[top + lay.SLICE_HEIGHT, 80] == backdrop.canvas


def test_grid_lines_pass_behind_hits_that_a_crowded_row_shows_a_column_away():
    trace = crowded(5000)
    own, n = colors(trace.slices), len(trace.slices)
    hits = RowRaster.subset(trace.slices, own, np.arange(0, n, 10))
    full = cell_colors(True)
    source = RasterSource(raster_of(trace), Axis(), cell_colors(True, Emphasis.DIMMED), hits, full)
    xmap = XMap(trace.start, trace.end, 700)
    backdrop = Backdrop(0xFF000001, 0xFF000002, np.arange(700))
    image = draw_frame(stacked(trace), 0, 56, xmap, [source], backdrop).image
    (cells,) = hits.draw([0], xmap)
    shown = cells > 0
    assert (image[lay.HEADER_HEIGHT + 10][shown] == full.body[cells[shown]]).all()


def test_a_frame_returns_the_cells_of_marks_by_trace_and_does_not_draw_them():
    trace = trace_of([(0, 50), (60, 100)], [(10, 30)])
    own = colors(trace.slices)
    marks = tuple(RowRaster.subset(trace.slices, own, np.array([i])) for i in (1, 2))
    plain = RasterSource(raster_of(trace), Axis(), cell_colors(True))
    marked = RasterSource(raster_of(trace), Axis(), cell_colors(True), marks=marks)
    layout, xmap = stacked(trace), XMap(0, 100, 100)
    backdrop = Backdrop(0xFF000001, 0xFF000002, np.array([20]))
    frames = [draw_frame(layout, 0, 99, xmap, [one], backdrop) for one in (plain, marked)]
    assert (frames[0].image == frames[1].image).all()
    assert frames[0].marks == {}
    for row, raster, marked in zip((0, 1), marks, frames[1].marks[0], strict=True):
        assert layout.row[marked.bands].tolist() == [row]
        assert (marked.cells == raster.draw([row], xmap)).all()


GROUND, GRID = 0xFF000001, 0xFF000002
ROWS = 12


@cache
def trace():
    """Rows of long slices, of many short ones, and of both."""
    rng = np.random.default_rng(3)
    rows = []
    for row in range(ROWS):
        ends = np.cumsum(rng.integers(1, 4 * row + 4, 1 + 60 * (row % 4)) + 1)
        rows.append([(int(end) - int(rng.integers(1, 3)), int(end)) for end in ends])
    return trace_of(*rows)


def some(step, shift=0):
    own = colors(trace().slices)
    chosen = np.arange(shift, len(own), step)
    return RowRaster.subset(trace().slices, own, chosen)


@cache
def source():
    return RasterSource(
        RowRaster.of(trace().slices, colors(trace().slices)),
        Axis(),
        cell_colors(True, Emphasis.DIMMED),
        some(3),
        cell_colors(True),
        (some(5), some(7)),
    )


XMAP = XMap(10, 310, 150)
BACKDROP = Backdrop(GROUND, GRID, np.array([20, 55, 120]))
LAYOUT = stacked(trace())


def draw(kept, own=None, xmap=XMAP, backdrop=BACKDROP, y0=0, height=300, ratio=1.0):
    sources = [source() if own is None else own]
    return draw_frame(LAYOUT, y0, height, xmap, sources, backdrop, None, ratio, kept)


def assert_same(one, other):
    assert (one.image == other.image).all()
    assert one.marks.keys() == other.marks.keys()
    for number, marks in one.marks.items():
        for mine, wanted in zip(marks, other.marks[number], strict=True):
            assert mine.bands.tolist() == wanted.bands.tolist()
            assert (mine.cells == wanted.cells).all()


@pytest.fixture
def drawn(monkeypatch):
    """The rows that were drawn since the list was cleared."""
    rows, draw_rows = [], frames.draw_rows

    def note(source, own, xmap):
        rows.extend(own.tolist())
        return draw_rows(source, own, xmap)

    monkeypatch.setattr(frames, "draw_rows", note)
    return rows


OTHER_SOURCES = {
    "raster": lambda: some(2),
    "axis": lambda: Axis(Fraction(1, 3), 5),
    "colors": lambda: cell_colors(True, Emphasis.UNMATCHED),
    "hits": lambda: some(4),
    "hit_colors": lambda: cell_colors(True, Emphasis.HIDDEN),
    "marks": lambda: (some(5), some(4)),
}
OTHER_VIEWS = {
    "t0": lambda: -20,
    "t1": lambda: 311,
    "width": lambda: 151,
    "axis": None,  # of the source
    "gaps": lambda: Gaps(np.array([40]), np.array([30])),
}
OTHER_BACKDROPS = {
    "canvas": lambda: GROUND + 7,
    "grid": lambda: GRID + 1,
    "columns": lambda: np.array([20, 56, 120]),
}


@pytest.mark.parametrize(
    ("kind", "others"),
    [(RasterSource, OTHER_SOURCES), (XMap, OTHER_VIEWS), (Backdrop, OTHER_BACKDROPS)],
)
def test_every_input_of_a_row_is_among_those_that_change_here(kind, others):
    assert {field.name for field in fields(kind)} == set(others)


@pytest.mark.parametrize(
    "changed",
    [
        *(("own", name) for name in OTHER_SOURCES),
        *(("xmap", name) for name, other in OTHER_VIEWS.items() if other),
        *(("backdrop", name) for name in OTHER_BACKDROPS),
    ],
    ids=lambda changed: changed[1],
)
def test_a_row_is_drawn_again_if_anything_that_it_depends_on_has_changed(drawn, changed):
    of, name = changed
    before = {"own": source(), "xmap": XMAP, "backdrop": BACKDROP}
    make = {"own": OTHER_SOURCES, "xmap": OTHER_VIEWS, "backdrop": OTHER_BACKDROPS}[of][name]
    after = before | {of: replace(before[of], **{name: make()})}
    kept = KeptRows()
    first = draw(kept, **before)
    drawn.clear()
    second = draw(kept, **after)
    again = list(drawn)
    assert_same(second, draw(None, **after))
    assert sorted(again) == list(range(again[-1] + 1))
    with pytest.raises((AssertionError, ValueError)):
        assert_same(first, second)  # the change can be seen


@pytest.mark.parametrize(
    "changed",
    [
        {"y0": 25},
        {"height": 250},
        {"ratio": 1.5},
        {"own": replace(source())},
        {"xmap": XMap(10, 310, 150)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_row_that_only_moves_is_not_drawn_again(drawn, changed):
    kept = KeptRows()
    draw(kept)
    drawn.clear()
    found = draw(kept, **changed)
    assert not drawn
    assert_same(found, draw(None, **changed))


def test_a_view_that_scrolls_draws_the_rows_that_come_into_view(drawn):
    kept = KeptRows()
    draw(kept, y0=0, height=100)
    before = set(drawn)
    drawn.clear()
    assert_same(draw(kept, y0=60, height=100), draw(KeptRows(), y0=60, height=100))
    again = drawn[: len(drawn) // 2]
    drawn.clear()
    draw(kept, y0=60, height=100)
    assert not drawn
    assert again
    assert not before & set(again[:1])


def test_only_rows_of_the_last_frame_are_kept(drawn):
    """Of those in view before, and of traces that are no more in view, there is nothing left."""
    kept = KeptRows()
    for y0 in (0, 60, 120, 300):
        draw(kept, y0=y0, height=90)
    (_, rows), = kept._last.values()  # fmt: skip
    assert len(rows.pixels) == 2 * len(rows.rows) + 1
    assert len(rows.rows) <= 90 // 26 + 2
    assert rows.pixels.base is None
    draw(kept, y0=0, height=3)  # only a header
    assert not kept._last


@pytest.mark.slow
def test_rasters_are_not_kept():
    kept, own = KeptRows(), replace(source(), raster=some(2), hits=some(4), marks=(some(6),))
    rasters = [ref(one) for one in (own.raster, own.hits, *own.marks)]
    draw(kept, own)
    del own
    gc.collect()
    assert [one() for one in rasters] == [None, None, None]
    assert_same(draw(kept), draw(None))


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.integers(0, 500),
            st.integers(1, 300),
            st.sampled_from([(10, 310), (11, 310), (-40, 900), (100, 130)]),
            st.sampled_from([60, 150]),
            st.sampled_from([1.0, 1.25]),
            st.sampled_from(["all", "plain", "hits", "marks"]),
        ),
        max_size=12,
    )
)
def test_any_sequence_of_views_looks_as_without_the_rows_before(views):
    sources = {
        "all": source(),
        "plain": replace(source(), hits=None, marks=()),
        "hits": replace(source(), marks=()),
        "marks": replace(source(), hits=None),
    }
    kept = KeptRows()
    for y0, height, span, width, ratio, which in views:
        ground = Backdrop(GROUND, GRID, np.arange(7, width, 40))
        view = (sources[which], XMap(*span, width), ground, y0, height, ratio)
        assert_same(draw(kept, *view), draw(None, *view))
