"""Views after a reload: what still makes sense is kept, all else is dropped."""

from dataclasses import replace

import numpy as np
import pytest

from viewer.gui.session.session import Session
from viewer.model.building.builder import TraceBuilder
from viewer.model.trace import Clock, KeyKind
from viewer.view.after_edit import replaced_files, version_of, view_after_reload
from viewer.view.history import History
from viewer.view.state import Bookmark, SliceRef, SliceSet


def trace_of(*names, path="/a.csv", start=0):
    """A trace of one track with one slice of 10 ns for each name, one after another."""
    builder = TraceBuilder(path, "test", "", Clock())
    times = start + 10 * np.arange(len(names), dtype=np.int64)
    for at, name in zip(times, names, strict=True):
        builder.add(
            track=builder.track("p", "t"), start=np.array([at]), end=np.array([at + 10]),
            name=builder.intern(name), key=builder.key(KeyKind.PLAIN, name),
        )  # fmt: skip
    return builder.build()


@pytest.fixture
def session(qapp):
    return Session()


def reloaded(session, trace, **changes):
    """The view of the open traces, with some changes, after one of them was read again."""
    before = list(session.traces)
    state = replace(session.state, **changes)
    session.add([trace])
    return view_after_reload(state, before, session.traces, session.groups)


def test_a_slice_stays_selected_if_its_row_has_the_same_name(session):
    session.add([trace_of("load", "add", "mul")])
    shown = reloaded(session, trace_of("load", "add", "mul", "div"), slice=SliceRef(0, 2))
    assert shown.slice == SliceRef(0, 2)


def test_a_slice_of_another_name_in_the_same_row_is_not_selected(session):
    session.add([trace_of("load", "add", "mul")])
    others = SliceSet.of_refs([SliceRef(0, 0), SliceRef(0, 1)])
    shown = reloaded(session, trace_of("load", "add", "div"), slice=SliceRef(0, 2), others=others)
    assert list(shown.slices) == [SliceRef(0, 0), SliceRef(0, 1)]


def test_times_are_kept_from_the_start_of_the_profile(session):
    session.add([trace_of("a", "b", "c", start=1_000)])
    mark = Bookmark(5, 15, "here", clock="/a.csv")
    shown = reloaded(session, trace_of("a", "b", "c", start=77_000), t0=5, t1=25, bookmarks=(mark,))
    assert (shown.t0, shown.t1, shown.bookmarks) == (5, 25, (mark,))


def test_a_bookmark_of_a_file_that_is_not_open_is_kept(session):
    session.add([trace_of("a")])
    mark = Bookmark(0, 1, "of another file", clock="/closed.csv")
    assert reloaded(session, trace_of("a", "b"), bookmarks=(mark,)).bookmarks == (mark,)


def test_an_inference_that_is_gone_is_not_picked(session):
    session.add([trace_of("a")])
    assert reloaded(session, trace_of("a"), run=(0, 0)).run is None


def test_only_files_whose_contents_were_read_again_are_replaced(session):
    session.add([trace_of("a"), trace_of("b", path="/b.csv")])
    before = session.workspace
    session.add([trace_of("c", path="/b.csv"), trace_of("d", path="/d.csv")])
    (replaced,) = replaced_files(before, session.workspace)
    assert replaced is before.files["/b.csv"]


def test_a_version_holds_no_other_version(session):
    """So that there is never more than one, however often files are reloaded."""
    session.add([trace_of("a")])
    older = version_of((), session.state, History(), session.traces)
    history = History()
    history.earlier = history.later = older
    version = version_of((), session.state, history, session.traces)
    assert version.history.earlier is None
    assert version.history.later is None
