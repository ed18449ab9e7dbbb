"""The raster of a trace comes back from a file of columns as it was, or is made again."""

import dataclasses

import numpy as np
import pytest

from tests.builders import many_slices
from viewer.codecs.column_file import ColumnFile, Packer, unpacked, write_columns
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind
from viewer.render.raster import KeptRaster, RowRaster
from viewer.render.time_axis import XMap


def with_instants():
    """Crowded rows with slices of no length, and slices that overlap."""
    rng = np.random.default_rng(1)
    builder = TraceBuilder("a", "CSV", "", Clock())
    for thread in range(3):
        start = np.sort(rng.integers(0, 10**7, 3000))
        builder.add(
            track=builder.track("process", f"thread {thread}"), start=start,
            end=start + rng.integers(0, 2000, 3000) * rng.integers(0, 2, 3000),
            name=builder.intern_all([f"n{i % 7}" for i in range(3000)]),
            key=builder.key(KeyKind.PLAIN, "step"),
        )  # fmt: skip
    return builder.build()


def nothing():
    return TraceBuilder("a", "CSV", "", Clock()).build()


@pytest.fixture(params=[lambda: many_slices.trace(20_000), with_instants, nothing])
def drawn(request):
    trace = request.param()
    palette = (trace.slices.name % 12).astype(np.uint8)
    return trace, palette, RowRaster.of(trace.slices, palette)


def reopened(raster: RowRaster, palette, path) -> KeptRaster:
    packer = Packer()
    tree = packer.pack(KeptRaster.of(raster, palette), KeptRaster)
    write_columns(str(path), {}, tree, packer.columns)
    file = ColumnFile(str(path))
    return unpacked(file, file.content, KeptRaster)


def test_it_draws_equal_pixels_at_any_zoom(drawn, tmp_path):
    trace, palette, raster = drawn
    again = reopened(raster, palette, tmp_path / "a.columns").raster(trace.slices, palette)
    assert list(again.mips) == list(raster.mips)
    for row, mip in raster.mips.items():
        other = again.mips[row]
        assert (mip.origin, mip.shift) == (other.origin, other.shift)
        for name in ("levels", "wide"):
            pairs = zip(getattr(mip, name), getattr(other, name), strict=True)
            assert all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)
    rows = range(len(trace.slices.row_ptr) - 1)
    span = max(trace.end - trace.start, 1)
    for zoom in (1, 7, 100, 5000):
        xmap = XMap(trace.start, trace.start + span // zoom + 1, 800)
        assert np.array_equal(raster.draw(rows, xmap), again.draw(rows, xmap))
        for row in rows:
            marks, others = raster.zero_marks(row, xmap), again.zero_marks(row, xmap)
            assert np.array_equal(marks.x, others.x)
            assert np.array_equal(marks.first, others.first)


def test_other_colors_and_other_slices_are_refused(tmp_path):
    trace = with_instants()
    palette = (trace.slices.name % 12).astype(np.uint8)
    again = reopened(RowRaster.of(trace.slices, palette), palette, tmp_path / "a.columns")
    assert again.raster(trace.slices, palette) is not None
    other = palette.copy()
    other[5] ^= 1
    assert again.raster(trace.slices, other) is None
    assert again.raster(many_slices.trace(20_000).slices, palette) is None


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(KeptRaster)][2:])
def test_columns_that_do_not_fit_are_refused(name):
    trace = many_slices.trace(20_000)
    palette = (trace.slices.name % 12).astype(np.uint8)
    whole = KeptRaster.of(RowRaster.of(trace.slices, palette), palette)
    column = getattr(whole, name)
    other = column[:-1] if len(column) else np.zeros(1, column.dtype)
    assert dataclasses.replace(whole, **{name: other}).raster(trace.slices, palette) is None
    if name in ("row", "shift", "levels", "cell_count", "wide_count"):
        for value in (-5, 2**40):
            wrong = column.copy()
            wrong[0] = value
            replaced = dataclasses.replace(whole, **{name: wrong})
            assert replaced.raster(trace.slices, palette) is None
