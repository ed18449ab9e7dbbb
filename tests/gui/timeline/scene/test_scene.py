"""What all parts of the timeline share: titles, layout, scroll, motion, and the session."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QTimer

from tests.gui.events import CTRL, canvas, wheel
from viewer.formats import open_file
from viewer.gui.session import navigation
from viewer.gui.session.choices import set_scheme, toggle_part
from viewer.gui.session.clocks import set_clock
from viewer.gui.session.session import Session
from viewer.gui.timeline.scene import scene as scene_module
from viewer.gui.timeline.scene.drawings import Drawings
from viewer.gui.timeline.scene.scene import RangeAnimation, Scene, between
from viewer.gui.timeline.scene.texts import process_note, process_title, track_title
from viewer.model import inference_views as run_views
from viewer.model.building.builder import TraceBuilder
from viewer.model.inference_views import Inferences
from viewer.model.trace import Clock, KeyKind
from viewer.render.arrangement import TrackOrder
from viewer.render.layout import BandKind
from viewer.resources import SAMPLES
from viewer.view.state import SliceRef

_PATHS = {sample.key: sample.paths() for sample in SAMPLES}
ATTENTION, ATTENTION_RECORD = _PATHS["attention_xnnpack"]

times = st.integers(-(10**18), 10**18)
lengths = st.integers(1, 10**17)


@pytest.fixture
def scene_of(qapp):
    """Make a scene over a session with some files open."""

    def make(*paths):
        session = Session()
        scene = Scene(Drawings(session))
        if paths:
            session.add([open_file(str(path)) for path in paths])
        return scene

    return make


@pytest.fixture
def attention_scene(scene_of):
    return scene_of(ATTENTION, ATTENTION_RECORD)


def heard(scene):
    """Note the signals of a scene."""
    told = []
    for name in ("changed", "moved", "arranged", "scrolled"):
        getattr(scene, name).connect(lambda name=name: told.append(name))
    return told


def test_an_empty_scene_has_nothing_to_draw(scene_of):
    scene = scene_of()
    assert scene.layout.total_height == 0
    assert scene.scroll_limit == 0
    assert list(scene.sources(dark=True)) == []
    assert scene.xmap(0).width == 1


def test_titles_name_the_file_its_record_and_its_runs(attention_scene, scene_of, data):
    assert process_title(attention_scene, 0) == (
        "attn_xnnpack_x5.etdp", "ETRecord attn_teal_xnnpack.etrecord"
    )  # fmt: skip
    assert track_title(attention_scene, 0, 0) == ("forward", "5 inferences")
    assert process_title(scene_of(ATTENTION), 0)[1] == "no ETRecord"
    host = scene_of(data / "torq" / "host_h4_latest.csv")
    assert process_title(host, 0)[1] == "no source"
    assert process_title(attention_scene, -1) == ("Pinned", "")
    files = (data / "pte" / f"cond.{end}" for end in ("etdp", "etrecord", "pte"))
    assert process_title(scene_of(*files), 0)[1] == "ETRecord cond.etrecord, program cond.pte"


def test_a_file_of_another_clock_is_in_another_scene(scene_of):
    first = scene_of(ATTENTION, _PATHS["delegate_handle_map"][0])
    session = first.session
    second = Scene(first.drawings, session.groups[1].key)
    for number, scene in enumerate((first, second)):
        assert {spec.trace for spec in scene.processes} == {number}
        assert set(scene.layout.trace.tolist()) == {number}
        assert process_note(scene, 0) == (session.first_view_note if number == 0 else "")
        session.activate(session.groups[number].key)
        assert scene.range == (session.state.t0, session.state.t1)
    assert first.rasters is second.rasters
    assert first.band_of(SliceRef(1, 0)) == second.band_of(SliceRef(0, 0)) == -1
    assert second.band_of(SliceRef(1, 0)) >= 0


def test_other_times_of_one_clock_move_its_scene_alone(scene_of):
    first = scene_of(ATTENTION, _PATHS["delegate_handle_map"][0])
    session = first.session
    second = Scene(first.drawings, session.groups[1].key)
    told, other = heard(first), heard(second)
    session.activate(second.clock)
    assert "moved" not in told + other
    told.clear()
    other.clear()
    session.set_range(100, 200)
    assert second.range == second.visible == (100, 200)
    assert (told, other) == ([], ["moved"])


def test_a_guessed_or_chosen_rate_is_told_with_the_process(scene_of, data):
    scene = scene_of(data / "torq" / "compile_c3_taskid_mtu.csv")
    assert process_note(scene, 0) == "800\u202fMHz assumed"
    set_clock(scene.session, 0, Fraction(10))
    assert process_note(scene, 0) == "100\u202fMHz chosen"


def host_profile(path, *slices, domain="boot"):
    """A trace in µs of one clock domain: (start, end) each."""
    builder = TraceBuilder(path, "test", "", Clock("us", Fraction(1000), domain=domain))
    times = np.array(slices, np.int64).reshape(-1, 2)
    builder.add(
        track=builder.track(path, "host"), start=times[:, 0], end=times[:, 1],
        name=builder.intern("a"), key=builder.key(KeyKind.PLAIN, "a"),
    )  # fmt: skip
    return builder.build()


def test_files_of_one_clock_say_so_whatever_was_opened_first(scene_of):
    drawings = scene_of(ATTENTION).drawings
    drawings.session.add(
        [
            host_profile("a.csv", (7_000, 7_100)),
            host_profile("b.csv", (7_020, 7_090)),
            host_profile("c.csv", (6_990, 7_000)),
            host_profile("d.csv", (7_000, 7_001)),
        ]
    )
    scene = Scene(drawings, "boot")
    assert [process_note(scene, i).partition(" · ")[0] for i in range(4)] == [
        "", "clock of a.csv, starts 20.000\u202fµs later",
        "clock of a.csv, starts 10.000\u202fµs earlier",
        "clock of a.csv, starts at the same time",
    ]  # fmt: skip


def test_files_of_the_first_clock_are_in_its_scene(scene_of):
    scene = scene_of()
    scene.session.add([host_profile("a.csv", (0, 9)), host_profile("b.csv", (4, 9)),
                       host_profile("e.csv")])  # fmt: skip
    assert process_note(scene, 1) == "clock of a.csv, starts 4.000\u202fµs later"
    assert [spec.trace for spec in scene.processes] == [0, 1, 2]
    assert [group.key for group in scene.session.groups] == ["boot"]


def test_every_slice_has_a_band_of_its_row(attention_scene):
    layout = attention_scene.layout
    slices = attention_scene.rasters[0].open_trace.trace.slices
    for index in range(len(slices)):
        band = attention_scene.band_of(SliceRef(0, index))
        assert layout.row[band] == slices.row_of(index)
        is_zero = slices.start[index] == slices.end[index]
        assert layout.kind[band] == (BandKind.STRIP if is_zero else BandKind.ROW)


def test_folding_hides_rows_and_undo_shows_them(attention_scene):
    told = heard(attention_scene)
    before = attention_scene.layout.total_height
    toggle_part(attention_scene.session, (0, attention_scene.processes[0].name))
    assert told[:2] == ["arranged", "changed"]
    assert attention_scene.band_of(SliceRef(0, 5)) == -1
    assert attention_scene.layout.total_height < before
    attention_scene.session.undo()
    assert attention_scene.layout.total_height == before


def test_scrolling_stays_within_the_rows(attention_scene):
    attention_scene.set_viewport_height(50)
    told = heard(attention_scene)
    assert attention_scene.scroll_limit == attention_scene.layout.total_height - 50
    attention_scene.scroll_to(10_000)
    assert attention_scene.scroll == attention_scene.scroll_limit
    assert told == ["scrolled"]
    attention_scene.scroll_to(20_000)
    assert told == ["scrolled"]
    attention_scene.scroll_to(-5)
    assert attention_scene.scroll == 0


def test_other_times_change_nothing_else(attention_scene):
    told = heard(attention_scene)
    attention_scene.session.set_range(100, 200)
    assert told == ["moved"]


def test_a_taller_canvas_and_folded_rows_pull_the_scroll_back(attention_scene):
    attention_scene.set_viewport_height(50)
    attention_scene.scroll_to(10_000)
    attention_scene.set_viewport_height(attention_scene.layout.total_height - 7)
    assert attention_scene.scroll == 7
    attention_scene.set_viewport_height(20)
    attention_scene.scroll_to(10_000)
    toggle_part(attention_scene.session, (0, attention_scene.processes[0].name))
    assert attention_scene.scroll == attention_scene.scroll_limit == 6


def test_a_slice_below_or_above_the_view_is_scrolled_into_it(attention_scene):
    attention_scene.set_viewport_height(60)
    slices = attention_scene.rasters[0].open_trace.trace.slices
    for row in [len(slices.row_ptr) - 2, 0]:
        ref = SliceRef(0, int(slices.row_ptr[row]))
        attention_scene.session.revealed.emit(ref)
        band = attention_scene.band_of(ref)
        top = int(attention_scene.layout.y[band])
        assert attention_scene.scroll <= top
        assert top + attention_scene.layout.height[band] <= attention_scene.scroll + 60


def test_the_file_that_is_fitted_is_scrolled_into_view(scene_of):
    scene = scene_of()
    scene.session.add([host_profile("a.csv", (0, 90)), host_profile("b.csv", (200, 260))])
    scene.set_viewport_height(20)
    navigation.fit_file(scene.session)
    tops = {}
    for _ in scene.session.traces:
        navigation.fit_file(scene.session)
        header = scene.layout.band_at(scene.scroll)
        assert scene.layout.kind[header] == BandKind.PROCESS
        tops[int(scene.layout.trace[header])] = scene.scroll
    assert tops.keys() == {0, 1}


def test_what_is_selected_is_highlighted_in_its_trace_alone(scene_of):
    scene = scene_of(ATTENTION, ATTENTION_RECORD, *_PATHS["delegate_handle_map"])
    scene.session.select_operators(1, (0,))
    assert scene.rasters[0].hits is None
    assert scene.rasters[1].hits is not None
    assert scene.drawings.related(0) is None
    links = scene.rasters[1].open_trace.table.links
    assert scene.drawings.related(1).tolist() == [0 in link.operators for link in links]
    dimmed = [source.colors for source in scene.sources(dark=True)]
    scene.session.clear_selection()
    full = [source.colors for source in scene.sources(dark=True)]
    assert all((d.body != f.body).any() for d, f in zip(dimmed, full, strict=True))
    assert scene.rasters[1].hits is None


def test_adding_a_file_keeps_the_pictures_that_are_there(attention_scene):
    drawn = attention_scene.rasters[0].raster.drawn
    attention_scene.session.add([open_file(_PATHS["delegate_handle_map"][0])])
    assert attention_scene.rasters[0].raster.drawn is drawn
    assert len(attention_scene.rasters) == 2
    attention_scene.session.close_all()
    assert attention_scene.rasters == []
    assert attention_scene.layout.total_height == 0


def test_recoloring_changes_the_palette_and_keeps_the_highlight(attention_scene):
    attention_scene.session.select_operators(0, (3,))
    before = attention_scene.rasters[0].palette
    set_scheme(attention_scene.session, "name")
    assert (attention_scene.rasters[0].palette != before).any()
    assert attention_scene.rasters[0].hits is not None


def test_bands_of_all_files_of_a_clock_lie_below_one_another(scene_of):
    scene = scene_of()
    scene.session.add([host_profile(f"{name}.csv", (0, 90), (20, 30)) for name in "abc"])
    layout = scene.layout
    assert (layout.y[1:] == layout.y[:-1] + layout.height[:-1]).all()
    headers = layout.process[layout.kind == BandKind.PROCESS]
    assert headers.tolist() == list(range(len(scene.processes)))
    assert set(np.unique(layout.trace).tolist()) == {-1, 0, 1, 2}


def test_inferences_without_room_are_told(scene_of, data, monkeypatch):
    monkeypatch.setattr(run_views, "MOST_TRACKS", 7)
    scene = scene_of(data / "etdump" / "cnn_portable_x10.etdp")
    session = scene.session
    session.show_inferences(Inferences.ALIGNED)
    assert process_note(scene, 0).startswith("3 more inferences not shown · ")
    session.show_inferences(Inferences.MEAN)
    assert "not shown" not in process_note(scene, 0)


def test_tracks_can_be_sorted_by_busy_time_while_nothing_is_open(scene_of):
    """Undo can bring this order back after all files were closed."""
    scene = scene_of()
    state = scene.session.state
    scene.session.change(replace(state, tracks=state.tracks.ordered(TrackOrder.BUSY)))
    assert len(scene.layout.y) == 0
    assert not scene.is_sorting


@given(times, lengths, times, lengths)
def test_it_begins_where_it_was_and_ends_where_it_goes(t0, span, u0, other):
    begin, end = (t0, t0 + span), (u0, u0 + other)
    assert between(begin, end, 0) == begin
    last = between(begin, end, 1)
    # The way is a float; what is drawn at its end is the range itself, see `RangeAnimation.now`.
    reach = max(abs(u0 - t0), span, other)
    assert all(abs(a - b) <= 1 + reach // 10**14 for a, b in zip(last, end, strict=True))


@given(times, lengths, lengths, st.floats(0, 1))
def test_every_range_on_the_way_has_a_length_between_both(t0, span, other, share):
    a, b = between((t0, t0 + span), (t0, t0 + other), share)
    assert min(span, other) - 2 <= b - a <= max(span, other) + 2
    assert b > a


def test_a_zoom_rests_at_the_time_that_keeps_its_place():
    # The time 500 is in the middle of both, so it stays there.
    for share in (0.1, 0.5, 0.9):
        a, b = between((0, 1000), (450, 550), share)
        assert abs((a + b) / 2 - 500) <= 1


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands until it is moved."""
    now = [100.0]
    monkeypatch.setattr(scene_module.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def moving(qapp, clock):
    motion = RangeAnimation()
    motion.enabled = True
    return motion


def test_it_is_over_after_its_time(moving, clock):
    moving.start((0, 1000), (500, 700))
    assert moving.now() == (0, 1000)
    clock[0] += scene_module.DURATION_MS / 2000
    t0, t1 = moving.now()
    assert 0 < t0 < 500
    assert 700 < t1 < 1000
    clock[0] += scene_module.DURATION_MS / 1000
    assert moving.now() == (500, 700)
    moving.findChild(QTimer).timeout.emit()
    assert not moving.is_moving
    assert moving.now() is None


def test_a_range_far_away_is_a_cut(moving):
    moving.start((0, 10), (1_000_000, 1_000_010))
    assert not moving.is_moving


def test_it_does_nothing_unless_enabled(moving):
    moving.enabled = False
    moving.start((0, 1000), (500, 700))
    assert not moving.is_moving


@pytest.fixture
def smooth(attention, clock):
    attention.timeline.scene.animation.enabled = True
    return attention


def test_what_is_drawn_moves_while_the_view_has_arrived(smooth, clock):
    scene, state = smooth.timeline.scene, smooth.session.state
    before = (state.t0, state.t1)
    navigation.fit_all(smooth.session)
    assert scene.visible == before
    clock[0] += scene_module.DURATION_MS / 2000
    after = (smooth.session.state.t0, smooth.session.state.t1)
    assert after[0] <= scene.visible[0] < before[0]
    clock[0] += 1
    assert scene.visible == after


def test_the_wheel_cuts_a_motion_short_and_zooms_from_where_it_went(smooth, clock):
    navigation.fit_all(smooth.session)
    t0, t1 = smooth.session.state.t0, smooth.session.state.t1
    wheel(canvas(smooth), canvas(smooth).rect().center(), 1, held=CTRL)
    scene = smooth.timeline.scene
    assert not scene.animation.is_moving
    assert scene.visible == (smooth.session.state.t0, smooth.session.state.t1)
    assert t1 - t0 > scene.visible[1] - scene.visible[0] > (t1 - t0) // 2


def test_a_jump_in_a_motion_goes_on_from_what_is_drawn(smooth, clock):
    scene = smooth.timeline.scene
    navigation.fit_all(smooth.session)
    clock[0] += scene_module.DURATION_MS / 2000
    drawn = scene.visible
    smooth.session.go_back()
    assert scene.visible == drawn
