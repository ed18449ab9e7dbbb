"""Where rows lie for any choice of the user: examples, and a plain walk over every row."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.stocks import Row, Tracked, table
from viewer.render.arrangement import NEVER, HeaderBands, TrackOrder, TrackView, arrange, track_list
from viewer.render.layout import (
    COMPACT_ROW,
    COUNTER_HEIGHT,
    HEADER_HEIGHT,
    KERNEL_HEIGHT,
    PROCESS_GAP,
    ROW_HEIGHT,
    SLICE_HEIGHT,
    SLICE_TOP,
    STRIP_HEIGHT,
    BandKind,
)
from viewer.render.stacking import (
    Density,
    PlanRoom,
    plan_height,
    plan_room,
    row_heights,
    stack,
    usual_heights,
)

ZEROS = Row(lengths=False, zeros=True)
STOCK = track_list(
    [
        table(
            Tracked("a.etdp", "forward", (Row(), Row(), Row(zeros=True, kernels=True))),
            Tracked("a.etdp", "load", (ZEROS,)),
        ),
        table(Tracked("b.etdp", "forward")),
    ]
)


def bands(layout):
    return [
        (BandKind(int(k)).name, int(t), int(r))
        for k, t, r in zip(layout.kind, layout.trace, layout.row, strict=True)
    ]


def test_bands_follow_each_other_without_holes():
    layout = stack(STOCK, TrackView())
    assert bands(layout) == [
        ("PROCESS", 0, -1),
        ("ROW", 0, 0),
        ("ROW", 0, 1),
        ("ROW", 0, 2),
        ("STRIP", 0, 2),
        ("STRIP", 0, 3),
        ("GAP", -1, -1),
        ("PROCESS", 1, -1),
        ("ROW", 1, 0),
    ]
    assert (np.diff(layout.y) == layout.height[:-1]).all()
    expected = 2 * HEADER_HEIGHT + 4 * ROW_HEIGHT + 2 * STRIP_HEIGHT + PROCESS_GAP
    assert layout.total_height == expected
    assert layout.slice_height[[1, 3]].tolist() == [SLICE_HEIGHT, KERNEL_HEIGHT]


def test_every_line_belongs_to_one_band():
    layout = stack(STOCK, TrackView())
    for y in range(layout.total_height):
        band = layout.band_at(y)
        assert layout.y[band] <= y < layout.y[band] + layout.height[band]
    assert layout.band_at(-1) == layout.band_at(layout.total_height) == -1


@pytest.mark.parametrize(
    ("y0", "y1", "expected"),
    [(0, 1, [0]), (25, 27, [0, 1]), (-50, 0, []), (-50, 1, [0]), (900, 999, []), (26, 26, [])],
)
def test_the_bands_of_a_frame_are_those_that_touch_it(y0, y1, expected):
    assert stack(STOCK, TrackView()).bands_between(y0, y1).tolist() == expected


def test_collapsed_parts_keep_a_header_or_the_first_row():
    folded = frozenset({(0, 0), (1, "b.etdp"), (9, "gone")})
    layout = stack(STOCK, TrackView(collapsed=folded))
    assert bands(layout) == [
        ("PROCESS", 0, -1),
        ("ROW", 0, 0),
        ("STRIP", 0, 3),
        ("GAP", -1, -1),
        ("PROCESS", 1, -1),
    ]
    assert layout.band_of(0, 0) == 1
    assert layout.band_of(0, 3, BandKind.STRIP) == 2
    assert layout.band_of(0, 2) == layout.band_of(0, 77) == layout.band_of(5, 0) == -1


def test_pinned_tracks_come_first_in_their_order_and_leave_their_processes():
    layout = stack(STOCK, TrackView(pinned=((1, 0), (0, 1), (7, 7))))
    assert bands(layout)[:5] == [
        ("PROCESS", -1, -1), ("ROW", 1, 0), ("STRIP", 0, 3), ("GAP", -1, -1), ("PROCESS", 0, -1)
    ]  # fmt: skip
    assert layout.pinned == 4
    assert layout.process[:4].tolist() == [-1] * 4
    assert bands(layout).count(("ROW", 1, 0)) == bands(layout).count(("STRIP", 0, 3)) == 1
    assert layout.pinned_height % 4 == 0


def test_nothing_has_no_height():
    for layout in (
        stack(track_list([]), TrackView()),
        stack(STOCK, TrackView(hidden=frozenset({(0, "a.etdp"), (1, "b.etdp")}))),
    ):
        assert layout.total_height == 0
        assert layout.bands_between(0, 100).tolist() == []
        assert layout.band_at(0) == -1


@pytest.mark.parametrize("height", [8, 9, 12, 30, 31, 60])
def test_slices_fit_in_rows_of_any_height(height):
    view = TrackView(heights=(((0, "a.etdp"), height), ((4, "gone"), 50)))
    layout = stack(STOCK, view)
    rows = (layout.kind == BandKind.ROW) & (layout.trace == 0)
    assert (layout.height[rows] == height).all()
    assert (layout.slice_height[rows] > height // 2).all()
    assert (layout.slice_height[rows] + SLICE_TOP <= height).all()
    assert (layout.height[(layout.kind == BandKind.ROW) & (layout.trace == 1)] == ROW_HEIGHT).all()


def test_stuck_tracks_lie_over_what_is_scrolled_to():
    view = TrackView(pinned=((1, 0),), heights=(((0, "a.etdp"), 60),))
    plain = stack(STOCK, view)
    above = plain.pinned_height
    assert plain.scrolled(0).y.tolist() == plain.y.tolist()
    for scroll in (0, 1, 37, 100, 237):
        layout = plain.scrolled(scroll)
        assert layout.total_height == plain.total_height
        for line in range(150):
            at = line if line < above else line + scroll
            is_header = above <= line < layout.stuck_height
            expected = layout.sticky if is_header else plain.band_at(at)
            assert layout.band_at(line + scroll) == expected
        without = plain.scrolled(scroll, has_header=False)
        assert without.stuck_height == above
        assert without.sticky == -1
        assert layout.bands_between(scroll, scroll + 150).tolist() == list(
            dict.fromkeys(b for b in map(layout.band_at, range(scroll, scroll + 150)) if b >= 0)
        )
        assert layout.band_of(1, 0) == plain.band_of(1, 0) == 1


def test_the_header_of_a_process_stays_until_the_next_one_pushes_it_out():
    plain = stack(STOCK, TrackView())
    headers = np.flatnonzero(plain.kind == BandKind.PROCESS).tolist()
    gap = headers[1] - 1
    for scroll in range(plain.total_height):
        layout = plain.scrolled(scroll)
        band = plain.band_at(scroll)
        if scroll == plain.y[band] and band in headers:
            assert layout is plain, "it is in view anyway"
            continue
        if band == gap:
            assert layout.sticky == -1
            continue
        assert layout.sticky == headers[0 if band < gap else 1]
        assert layout.home_of(layout.sticky) == plain.y[layout.sticky]
        visible = layout.sticky_height
        end = int(plain.y[gap]) if band < gap else plain.total_height
        assert visible == min(HEADER_HEIGHT, end - scroll)
        top = int(layout.y[layout.sticky]) - scroll
        assert top + HEADER_HEIGHT == visible
        shown = [layout.band_at(scroll + line) for line in range(60)]
        assert shown[:visible] == [layout.sticky] * visible
        assert shown[visible:] == [plain.band_at(scroll + line) for line in range(visible, 60)]
        expected = dict.fromkeys(band for band in shown if band >= 0)
        assert layout.bands_between(scroll, scroll + 60).tolist() == list(expected)


def test_all_pinned_alone_is_as_high_as_its_rows():
    alone = track_list([table(Tracked("a", "x"))])
    view = TrackView(pinned=((0, 0),), hidden=frozenset({(0, "a")}))
    plain = stack(alone, view)
    assert plain.scrolled(55).total_height == plain.total_height == plain.pinned_height
    assert plain.bands_between(0, 999).tolist() == [0, 1, 2]


# -- against a plain walk ---------------------------------------------------------------------

NAMES = st.sampled_from(["core 10", "Core 2", "dma", "", "x\u0130"])
ROWS = st.lists(st.builds(Row, st.booleans(), st.booleans(), st.booleans()), max_size=3)
TRACKS = st.lists(
    st.builds(Tracked, st.sampled_from(["p", "q", "core"]), NAMES, ROWS,
              st.sampled_from([3, 7, NEVER])),
    max_size=5,
)  # fmt: skip
COUNTERS = st.lists(st.tuples(st.sampled_from(["p", "q"]), NAMES), max_size=2)


def parts_of(traces):
    parts = [(9, "gone"), (0, 99)]
    for trace, (tracks, _) in enumerate(traces):
        parts += [(trace, number) for number in range(len(tracks))]
        parts += [(trace, name) for name in dict.fromkeys(t.process for t in tracks)]
    return st.sampled_from(parts)


def walk(traces, view, busy):
    """The bands by the words of `TrackView`: one row after the other, nothing clever."""
    processes = [
        (trace, name)
        for trace, (tracks, _) in enumerate(traces)
        for name in dict.fromkeys(t.process for t in tracks)
    ]
    tracks = {(trace, n): t for trace, (own, _) in enumerate(traces) for n, t in enumerate(own)}

    def home(part):
        return (part[0], tracks[part].process)

    def holds(name):
        return view.filter.strip().casefold() in name.casefold()

    def natural(name):
        word, _, number = name.casefold().partition(" ")
        return word, bool(number), int(number or 0)

    def in_order(parts, name, time, work):
        keys = {
            TrackOrder.FILE: lambda p: 0, TrackOrder.NAME: lambda p: natural(name(p)),
            TrackOrder.TIME: time, TrackOrder.BUSY: lambda p: -work(p),
        }  # fmt: skip
        parts = sorted(parts, key=keys[view.order])
        for part, before in view.moved:
            if part in parts and part != before and (before is None or before in parts):
                parts.remove(part)
                parts.insert(len(parts) if before is None else parts.index(before), part)
        return parts

    def fellows(process):
        return [part for part in tracks if home(part) == process]

    def rows(part, process):
        track, found = tracks[part], []
        folded, high = part in view.collapsed, dict(view.heights).get(home(part), 30)
        first_row = sum(len(t.rows) for t in traces[part[0]][0][: part[1]])
        for number, row in enumerate(track.rows[: 1 if folded else None]):
            where = (process, part[0], part[1], first_row + number, -1)
            if row.lengths or folded:
                found.append(("ROW", high, *where))
            if row.zeros and not folded:
                found.append(("STRIP", min(max(high, 8), 12), *where))
        return found

    pinned = [p for p in dict.fromkeys(view.pinned) if p in tracks and p not in view.hidden]
    found = []
    if pinned:
        found.append(("PROCESS", 26, -1, -1, -1, -1, -1))
        for part in pinned:
            found += rows(part, -1)
        height = sum(band[1] for band in found) + 8
        found.append(("GAP", 8 + -height % 4, -1, -1, -1, -1, -1))
    order = in_order(
        processes, lambda p: p[1],
        lambda p: min((tracks[t].first for t in fellows(p)), default=NEVER),
        lambda p: sum(busy[t] for t in fellows(p)),
    )  # fmt: skip
    hidden = filtered = 0
    for process in order:
        mine = []
        for part in in_order(fellows(process), lambda t: tracks[t].name,
                             lambda t: tracks[t].first, lambda t: busy[t]):  # fmt: skip
            if part in pinned:
                continue
            if part in view.hidden or process in view.hidden:
                hidden += 1
            elif holds(tracks[part].name) or holds(process[1]):
                mine.append(part)
            else:
                filtered += 1
        counters = []
        for number, (owner, name) in enumerate(traces[process[0]][1]):
            if owner == process[1] and process in view.hidden:
                hidden += 1
            elif owner == process[1] and (holds(name) or holds(owner)):
                counters.append(number)
            elif owner == process[1]:
                filtered += 1
        if process in view.hidden or not (mine or counters or holds(process[1])):
            continue
        index = processes.index(process)
        if found and found[-1][0] != "GAP":
            found.append(("GAP", 8, -1, -1, -1, -1, -1))
        found.append(("PROCESS", 26, index, process[0], -1, -1, -1))
        if process not in view.collapsed:
            for part in mine:
                found += rows(part, index)
            high = max(dict(view.heights).get(process, 30) * 34 // 30, 16)
            found += [("COUNTER", high, index, process[0], -1, -1, c) for c in counters]
    return found, hidden, filtered


@pytest.mark.slow
@given(st.lists(st.tuples(TRACKS, COUNTERS), max_size=3), st.data())
def test_any_choice_stacks_as_a_plain_walk_does(traces, data):
    part = parts_of(traces)
    pinnable = part.filter(lambda p: isinstance(p[1], int))
    foldable = part.filter(lambda p: isinstance(p[1], str))
    view = TrackView(
        collapsed=data.draw(st.frozensets(part, max_size=4)),
        pinned=tuple(data.draw(st.lists(pinnable, max_size=4))),
        hidden=data.draw(st.frozensets(part, max_size=3)),
        moved=tuple(data.draw(st.lists(st.tuples(part, part | st.none()), max_size=4))),
        heights=tuple(data.draw(st.dictionaries(foldable, st.integers(8, 60), max_size=2)).items()),
        filter=data.draw(st.sampled_from(["", " ", "CORE", "p", "10", "nothing"])),
        order=data.draw(st.sampled_from(TrackOrder)),
    )
    stock = track_list([table(*tracks) for tracks, _ in traces], None, [c for _, c in traces])
    work = [data.draw(st.sampled_from([0, 5, 9])) for _ in stock.names]
    busy = {stock.part(i): amount for i, amount in enumerate(work)}
    expected, hidden, filtered = walk(traces, view, busy)
    seen = arrange(stock, view, np.array(work, np.float64))
    layout = stack(stock, view, seen)
    columns = (layout.height, layout.process, layout.trace, layout.track, layout.row,
               layout.counter)  # fmt: skip
    kinds = [BandKind(kind).name for kind in layout.kind.tolist()]
    found = list(zip(kinds, *(column.tolist() for column in columns), strict=True))
    assert found == expected
    assert (seen.hidden, seen.filtered) == (hidden, filtered)
    assert (layout.y == np.cumsum(layout.height) - layout.height).all()


def test_counters_lie_below_the_tracks_of_their_process_and_fold_with_it():
    stock = track_list(
        [table(Tracked("a", "t"), Tracked("b", "t"))], None,
        [[("b", "busy"), ("a", "busy"), ("gone", "busy"), ("b", "power")]],
    )  # fmt: skip
    layout = stack(stock, TrackView())
    shown = layout.kind == BandKind.COUNTER
    assert layout.counter.tolist() == [-1, -1, 1, -1, -1, -1, 0, 3]
    assert (layout.height[shown] == COUNTER_HEIGHT).all()
    assert layout.process[shown].tolist() == [0, 1, 1]
    folded = stack(stock, TrackView(collapsed=frozenset({(0, "b")})))
    assert (folded.kind == BandKind.COUNTER).sum() == 1
    filtered = stack(stock, replace(TrackView(), filter="power"))
    assert bands(filtered) == [("PROCESS", 0, -1), ("COUNTER", 0, -1)]


def test_density_is_the_height_of_rows_that_have_none_of_their_own():
    part = STOCK.processes[0].part
    for density, height in ((Density.COMFORTABLE, ROW_HEIGHT), (Density.COMPACT, COMPACT_ROW)):
        view = TrackView().with_row_height(part, 44, height)
        got = row_heights(STOCK, view, density).tolist()
        assert got == [44, *[height] * (len(STOCK.processes) - 1)]
        layout = stack(STOCK, TrackView(), density=density)
        assert set(layout.height[layout.kind == BandKind.ROW].tolist()) == {height}
    compact = stack(STOCK, TrackView(), density=Density.COMPACT)
    assert set(compact.slice_height[compact.kind == BandKind.ROW].tolist()) <= {12, 13}


@pytest.mark.parametrize(("levels", "height"), [(8, ROW_HEIGHT), (9, COMPACT_ROW)])
def test_automatic_density_is_compact_above_eight_levels(levels, height):
    deep = table(Tracked("a", "deep", (Row(),) * levels))
    stock = track_list([deep])
    assert usual_heights(stock, Density.AUTOMATIC).tolist() == [height]


@pytest.mark.parametrize(("font_scale", "height"), [(0.9, 14), (1.0, 14), (17 / 13, 18)])
def test_compact_rows_grow_with_the_font(font_scale, height):
    assert set(usual_heights(STOCK, Density.COMPACT, font_scale).tolist()) == {height}
    layout = stack(STOCK, TrackView(), density=Density.COMPACT, font_scale=font_scale)
    assert set(layout.height[layout.kind == BandKind.ROW].tolist()) == {height}
    usual = usual_heights(STOCK, Density.COMFORTABLE, font_scale)
    assert set(usual.tolist()) == {ROW_HEIGHT + max(round(16 * (font_scale - 1)), 0)}


def test_plans_are_below_the_rows_of_their_track_and_fold_away_with_it():
    planned = replace(STOCK, plan_lanes={(0, 0): 6})
    layout = stack(planned, TrackView())
    plan = ("PLAN", 0, -1)
    assert bands(layout)[4:7] == [("STRIP", 0, 2), plan, ("STRIP", 0, 3)]
    band = int(np.flatnonzero(layout.kind == BandKind.PLAN)[0])
    assert (layout.track[band], layout.height[band], layout.slice_height[band]) == (0, 62, 0)
    assert (np.diff(layout.y) == layout.height[:-1]).all()
    for away in (
        TrackView(collapsed=frozenset({(0, 0)})),
        TrackView(collapsed=frozenset({(0, "a.etdp")})),
        TrackView(hidden=frozenset({(0, 0)})),
        TrackView(filter="load"),
    ):
        assert plan not in bands(stack(planned, away))
    pinned = stack(planned, TrackView(pinned=((0, 0),)))
    assert bands(pinned)[: pinned.pinned] == [
        ("PROCESS", -1, -1), *bands(layout)[1:6], ("GAP", -1, -1),
    ]  # fmt: skip
    assert bands(pinned).count(plan) == 1


def test_a_track_of_one_row_can_be_folded_if_it_has_plans():
    planned = replace(STOCK, plan_lanes={(1, 0): 0})
    assert not HeaderBands(STOCK, stack(STOCK, TrackView())).can_fold((1, 0))
    assert HeaderBands(planned, stack(planned, TrackView())).can_fold((1, 0))


def test_rows_of_plans_have_room_for_their_lanes_and_two_lines_of_text():
    assert [plan_height(6, 30), plan_height(6, 14), plan_height(6, 30, 1.5)] == [62, 50, 76]
    assert plan_room(62, 6) == PlanRoom(area=36, line=13, first=0, lane=6)
    assert plan_room(50, 6) == PlanRoom(area=24, line=13, first=0, lane=4)
    # Few lanes are in the middle; for many, the row is taller.
    assert plan_room(62, 2) == PlanRoom(area=36, line=13, first=12, lane=6)
    assert plan_room(plan_height(0, 30), 0).area == 36
    assert plan_room(plan_height(30, 14), 30) == PlanRoom(area=60, line=13, first=0, lane=2)
