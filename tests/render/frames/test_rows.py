"""Rows of the last frame: which are drawn again, and that a frame looks the same with them."""

import gc
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from weakref import ref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.stocks import stacked
from tests.render.test_raster import colors, trace_of
from viewer.render.axis.gaps import Gaps
from viewer.render.axis.xmap import Axis, XMap
from viewer.render.frames import frame as frames
from viewer.render.frames.frame import Backdrop, RasterSource, draw_frame
from viewer.render.frames.rows import KeptRows
from viewer.render.palette import Emphasis, cell_colors
from viewer.render.raster import RowRaster

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
@settings(deadline=None)
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
