"""What an export covers of a view with several clocks, and how it places them."""

from dataclasses import replace

import numpy as np
import pytest

from tests.builders.clocked_traces import CYCLES, HOST, NS, clocked_trace
from viewer.export.perfetto.source import PerfettoBookmark
from viewer.gui.session.export_scope import (
    ALL_AS_RUN,
    bookmarks_of_view,
    clocks_text,
    selection,
    shifts,
    visible_range,
)
from viewer.gui.session.session import Session
from viewer.model.inference_views import Inferences
from viewer.view.clock_groups import Tie
from viewer.view.state import Area, Bookmark, SliceRef, SliceSet
from viewer.workspace.perfetto_export import RANGE, SELECTION, PerfettoOptions


@pytest.fixture
def session(qapp):
    made = Session()
    made.add(
        [
            clocked_trace("host.csv", HOST, (104, 120), (130, 140)),
            clocked_trace("net.etdp", NS, (5_000, 9_000), (9_500, 9_600)),
            clocked_trace("host2.csv", HOST, (100, 150)),
            clocked_trace("npu.csv", CYCLES, (16, 96)),
        ]
    )
    return made


def align(session, **anchors):
    keys = {"host": "torq host", "net": "net.etdp", "npu": "npu.csv"}
    ties = {keys[name]: Tie(anchor=ns, reason=why) for name, (ns, why) in anchors.items()}
    session.change(replace(session.state, ties=ties))


def test_the_visible_range_is_that_of_each_clock(session):
    session.set_range(1_000, 20_000)
    session.activate("net.etdp")
    session.set_range(100, 900)
    found = visible_range(session)
    assert found.what == RANGE
    assert found.ranges[0] == found.ranges[2] == (1_000, 20_000)
    assert found.ranges[1] == (100, 900)
    assert found.ranges[3] == session.state.range_of("npu.csv")


def test_other_displays_of_inferences_are_neither_a_range_nor_aligned(session):
    align(session, host=(0, "a"), net=(0, "b"))
    session.state = replace(session.state, inferences=Inferences.MEAN)
    assert visible_range(session) == selection(session) == ALL_AS_RUN
    assert shifts(session) == {}


def test_a_selection_has_the_range_of_each_of_its_clocks(session):
    session.select_slices(
        SliceSet.of_refs([SliceRef(0, 0), SliceRef(1, 1), SliceRef(2, 0)]), SliceRef(0, 0)
    )
    found = selection(session)
    assert found.what == SELECTION
    assert {n: list(own) for n, own in found.only.items()} == {0: [0], 1: [1], 2: [0]}
    assert found.ranges == {0: (0, 50_000), 1: (4_500, 4_600), 2: (0, 50_000)}
    session.select_area(Area(0, 200, frozenset({(1, 0)})))
    assert selection(session).ranges == {1: (0, 200)}


def test_bookmarks_name_a_file_of_their_clock(session):
    marks = (
        Bookmark(1, 2, "npu", "why", "npu.csv"),
        Bookmark(3, 4, "gone", clock="gone.etdp"),
        Bookmark(5, 5, "host", clock="torq host"),
    )
    session.change(replace(session.state, bookmarks=marks))
    assert bookmarks_of_view(session) == (
        PerfettoBookmark(1, 2, "npu", "why", 3),
        PerfettoBookmark(5, 5, "host", "", 0),
    )


def test_aligned_clocks_are_shifted_to_the_first_of_them(session):
    assert shifts(session) == {}
    align(session, npu=(70, "start of run 3"), net=(100, "start of run 2"))
    assert shifts(session) == {1: (0, "start of run 2"), 3: (30, "start of run 3")}
    align(session, net=(100, "start of run 2"), host=(4_000, "start of run 1"))
    expected = {0: (0, "start of run 1"), 1: (3_900, "start of run 2"), 2: (0, "start of run 1")}
    assert shifts(session) == expected
    align(session, net=(100, "start of run 2"), npu=(None, ""))
    assert shifts(session) == {}, "one clock alone is not aligned"


def test_the_place_of_clocks_is_said_if_there_are_several(session):
    def said(**wish):
        return clocks_text(session, PerfettoOptions(shifts=shifts(session), **wish))

    assert said() == "3 clocks; each starts at 0 (not aligned)"
    two = {0: np.array([0]), 1: np.array([0])}
    assert said(only={0: two[0], 2: two[0]}) == "", "two files of one clock"
    align(session, host=(0, "start of run 2"), net=(0, "start of run 2"))
    assert said() == "3 clocks, 2 of them aligned at start of run 2"
    assert said(only=two) == "2 clocks, aligned at start of run 2"
    assert said(only={1: two[1], 3: two[1]}) == "2 clocks; each starts at 0 (not aligned)"
    align(session, host=(0, "start of run 1"), net=(0, "start of run 2"))
    assert said(only=two) == "2 clocks, aligned at start of run 1, start of run 2"
