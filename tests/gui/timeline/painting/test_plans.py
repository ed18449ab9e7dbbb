"""The pixels of plans: where they end, what is hatched, which colors they have."""

from fractions import Fraction

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage, QPainter

from tests.builders.torq_host_trace import EXECUTION
from tests.builders.torq_planned import LOWERED, MODEL, PROFILE, open_planned, plan_band
from viewer.gui.qt.theme.style_sheet import mix
from viewer.gui.session import clocks
from viewer.gui.timeline.painting.frame import FramePainter, Overlay
from viewer.gui.timeline.scene.texts import plan_header_tip, plan_title, plans_of
from viewer.render.layout import Canvas
from viewer.render.lod import FULL_SHADE
from viewer.render.palette import INNER
from viewer.render.stacking import COMPACT_PLAN_AREA, Density, plan_room
from viewer.view.state import SliceRef

WIDE = 700  # px


@pytest.fixture
def torq(data):
    return data / "torq"


def drawn(harness, ratio=1):
    """The pixels 0xRRGGBB of the area of the plans, and of the texts below; 1 µs is 1 px."""
    scene = harness.timeline.scene_of(0)
    wide = WIDE * ratio
    image = QImage(wide, 900 * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    painter = QPainter(image)
    FramePainter(scene, harness.theme).paint(painter, Canvas(WIDE, 900, ratio), Overlay())
    painter.end()
    flat = np.frombuffer(image.constBits(), np.uint32).reshape(900 * ratio, -1)[:, :wide]
    band = plan_band(harness)
    top, height = int(scene.layout.y[band]) - scene.scroll, int(scene.layout.height[band])
    room = plan_room(height, len(plans_of(scene, band).lanes), scene.font_scale)
    pixels = flat & 0xFFFFFF
    edge = (top + room.area) * ratio
    return pixels[top * ratio : edge].copy(), pixels[edge : (top + height) * ratio].copy()


def show(harness, t1=700_000):
    """Show the time from 0, without an animation; 1 µs is 1 px unless another end is given."""
    harness.session.set_range(0, t1, now=0.0)
    harness.settle()


def color(harness, token):
    return QColor(getattr(harness.theme.tokens, token)).rgb() & 0xFFFFFF


def test_the_plan_ends_in_a_line_and_what_it_does_not_cover_is_hatched(harness, torq):
    """55002 cycles are 68.75 µs, so the plan of job 0 ends at 214.75 µs; the job at 269."""
    open_planned(harness, torq, LOWERED)
    area, _ = drawn(harness)
    bar, ink = color(harness, "slab"), color(harness, "text1")
    assert (area[:, 146:214] == bar).all()
    assert (area[:, 214] == ink).all()  # the line is 1.5 px wide
    assert ((area[:, 215] != ink) & (area[:, 215] != color(harness, "panel"))).all()
    rest = area[:, 216:269]
    ground, line = color(harness, "panel"), color(harness, "line")
    assert np.isin(rest, [ground, line]).all()
    # At 45 degrees: each line is the one above it, shifted by a pixel.
    assert (rest[1:, :-1] == rest[:-1, 1:]).all()
    assert (rest == line).mean() == pytest.approx(1 / 6, abs=0.01)
    assert (area[:, 269] == color(harness, "canvas")).all()
    assert (area[:, 270] == bar).all()  # job 1


def test_what_a_plan_exceeds_its_job_by_is_tinted_up_to_the_next_job(harness, torq):
    """At 200 MHz, the plan of job 3 takes 150.1 µs from 467 on; the job ends at 552."""
    open_planned(harness, torq, LOWERED)
    clocks.set_clock(harness.session, None, Fraction(5))
    show(harness)
    area, _ = drawn(harness)
    tokens = harness.theme.tokens
    tint = QColor(mix(tokens.canvas, tokens.warning, 0.35)).rgb() & 0xFFFFFF
    assert (area[:, 467:552] == color(harness, "slab")).all()
    assert (area[:, 552:617] == tint).all()
    assert (area[:, 617] == color(harness, "text1")).all()
    # Job 0 would be planned up to 421, but job 1 starts at 270: no end is shown.
    assert (area[:, 269] == tint).all()
    assert (area[:, 270] == color(harness, "slab")).all()
    assert not (area[:, 146:406] == color(harness, "text1")).any()


@pytest.mark.parametrize("ratio", [1, 2])
def test_slices_in_a_plan_have_the_colors_of_the_compile_profile(harness, torq, ratio):
    """Each slice of job 0 in its lane, at 1.25 ns per cycle from the start of the job."""
    open_planned(harness, torq, LOWERED, MODEL, PROFILE)
    area, _ = drawn(harness, ratio)
    scene = harness.timeline.scene_of(0)
    found = plans_of(scene, plan_band(harness))
    profile, colors = found.jobs[0].profile, scene.sources(dark=True)[1].colors
    slices, palette = harness.session.traces[1].trace.slices, scene.rasters[1].palette
    rows, checked = slices.rows(), 0
    for i in np.flatnonzero(slices.start < 55002).tolist():
        lane = found.lanes_of[0][profile.rows.index(int(rows[i]))]
        start, end = (146 + int(tick[i]) / 800 for tick in (slices.start, slices.end))
        if (end - start) * ratio > 5:
            pixel = area[lane * 6 * ratio + 2 * ratio, int((start + end) / 2 * ratio)]
            inner = FULL_SHADE << 8 | INNER << 6 | int(palette[i])
            assert int(pixel) == int(colors.body[inner]) & 0xFFFFFF
            checked += 1
    assert checked
    empty = area[13 * ratio : 17 * ratio, 147 * ratio : 214 * ratio]
    assert (empty == color(harness, "panel")).all()  # job 0 uses no CDMA


def test_narrow_jobs_are_one_plain_bar(harness, torq):
    """Each run takes 1 px: its column has the color of a plan."""
    open_planned(harness, torq, LOWERED, PROFILE, executions=[EXECUTION] * 40)
    show(harness, 350_000_000)
    area, texts = drawn(harness)
    columns = np.flatnonzero((area == color(harness, "slab")).all(axis=0))
    assert columns.tolist() == [20 * run for run in range(35)]
    assert not (texts == color(harness, "warning")).any()


def test_texts_say_how_long_a_plan_is_and_are_colored_if_it_is_off(harness, torq):
    open_planned(harness, torq, LOWERED)
    _, texts = drawn(harness)
    slower, faster = color(harness, "warning"), color(harness, "ok")
    assert (texts == slower).any()
    assert not (texts == faster).any()
    clocks.set_clock(harness.session, None, Fraction(5))
    show(harness)
    _, texts = drawn(harness)
    assert (texts[:, 467:900] == faster).any()  # 85 of 150 µs
    # At 559 MHz, job 0 takes as long as planned, within 10 %.
    clocks.set_clock(harness.session, None, Fraction(123_000, 55002))
    show(harness)
    _, texts = drawn(harness)
    assert not np.isin(texts[:, 146:269], [slower, faster]).any()
    assert (texts[:, 146:269] == color(harness, "text2")).any()


def test_the_header_names_the_row_its_units_and_where_it_comes_from(harness, torq):
    open_planned(harness, torq, LOWERED, PROFILE)
    scene, band = harness.timeline.scene_of(0), plan_band(harness)
    assert plan_title(scene, band) == ("Plan of each job", "DMA, slice units, CSS")
    tip = ["Plan of each job", f"{PROFILE}, 800\u202fMHz assumed"]
    assert plan_header_tip(scene, band).split("\n") == tip


def test_the_selected_slice_has_a_ring_in_its_plan(harness, torq):
    open_planned(harness, torq, LOWERED, PROFILE)
    before, _ = drawn(harness)
    harness.session.select_slice(SliceRef(1, 0))
    harness.settle()
    after, _ = drawn(harness)
    ring = color(harness, "ring")
    assert not (before == ring).any()
    assert (after[:7, 145:150] == ring).any()
    assert not (after[:, 270:] == ring).any()


def test_compact_rows_have_compact_plans_with_two_lines_of_text(harness, torq):
    open_planned(harness, torq, LOWERED, PROFILE)
    harness.timeline.scene_of(0).set_density(Density.COMPACT)
    area, texts = drawn(harness)
    assert len(area) == COMPACT_PLAN_AREA
    assert (area[:, 214] == color(harness, "text1")).all()
    assert (texts == color(harness, "warning")).any()
