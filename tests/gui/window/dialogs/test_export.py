"""The dialog of a Perfetto export: what can be chosen, what it says, and that the file is so."""

import gzip
from dataclasses import replace

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QAbstractButton

from tests.gui.events import answer_file_dialog
from viewer.export.perfetto.writer import FileSize
from viewer.gui.qt.settings import EXPORT_FLOWS, EXPORT_GZIP, Settings
from viewer.gui.session import bookmarks
from viewer.gui.session.export_scope import ALL_AS_RUN
from viewer.gui.session.selection import slices_of
from viewer.gui.session.session import Session
from viewer.gui.window.dialogs.export import ExportDialog, size_text
from viewer.model.inference_views import Inferences
from viewer.model.text import bytes_text
from viewer.resources import SAMPLES
from viewer.view.clock_groups import Tie
from viewer.view.state import Area, SliceRef, SliceSet
from viewer.workspace.perfetto_export import RANGE, SELECTION, WHOLE, PerfettoJob
from viewer.workspace.snapshot import Snapshot
from viewer.workspace.workspace import Workspace


def opened(key, qtbot):
    workspace = Workspace()
    for path in next(s for s in SAMPLES if s.key == key).paths():
        workspace.open(path)
    session = Session()
    with qtbot.waitSignal(session.files_added):
        session.add([*workspace.traces, *workspace.programs])
    return session


@pytest.fixture
def session(qtbot):
    return opened("attention_xnnpack", qtbot)


@pytest.fixture
def settings(tmp_path):
    return Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))


def shown(session, settings, theme, qtbot, **more):
    dialog = ExportDialog(session, settings, theme, **more)
    qtbot.addWidget(dialog)
    dialog.show()
    settle(dialog, qtbot)
    return dialog


def settle(dialog, qtbot):
    qtbot.waitUntil(lambda: not dialog._latest.pending, timeout=20_000)


def said(dialog):
    return dialog.sentence.text().replace("\u202f", " ").replace("\u2009", " ")


def test_it_says_what_will_be_written_and_the_file_is_as_large(
    session, settings, theme, qtbot, tmp_path
):
    dialog = shown(session, settings, theme, qtbot)
    assert said(dialog).startswith("627 slices (+100 derived) on 1 track with 535")
    path = tmp_path / "all.pftrace"
    PerfettoJob(Snapshot.of(session.workspace), dialog.options).write(
        str(path), lambda done, total: None, lambda: False
    )
    assert f"about {bytes_text(path.stat().st_size)}," in dialog.sentence.text()


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.key)
def test_the_size_that_is_told_is_within_a_fifth_of_the_truth(sample, tmp_path):
    from viewer.workspace.perfetto_export import PerfettoOptions

    workspace = Workspace()
    for path in sample.paths():
        workspace.open(path)
    job = PerfettoJob(Snapshot.of(workspace), PerfettoOptions())
    size, files = job.size(), [tmp_path / f"a{s}" for s in (".pftrace", ".pftrace.gz")]
    for path in files:
        assert job.write(str(path), lambda done, total: None, lambda: False) == size.slices
    assert size.raw == pytest.approx(files[0].stat().st_size, rel=0.2)
    assert size.packed == pytest.approx(files[1].stat().st_size, rel=0.2)


def test_what_is_not_there_is_grayed_with_the_reason(session, settings, theme, qtbot):
    dialog = shown(session, settings, theme, qtbot)
    assert dialog.parts[WHOLE].isChecked()
    assert dialog.parts[RANGE].isEnabled()
    assert dialog.parts[SELECTION].text() == "Selection · nothing is selected"
    assert not dialog.parts[SELECTION].isEnabled()
    for name in ("counters", "marks"):
        assert not dialog.contents[name].isEnabled()
        assert "none" in dialog.contents[name].text()


def test_while_runs_are_aligned_only_the_whole_trace_can_be_written(
    session, settings, theme, qtbot
):
    session.show_inferences(Inferences.ALIGNED)
    dialog = shown(session, settings, theme, qtbot)
    assert not dialog.parts[RANGE].isEnabled()
    assert dialog.parts[RANGE].text() == f"Visible range · {ALL_AS_RUN}"
    assert said(dialog).startswith("627 slices (+100 derived)")


def test_the_visible_range_has_the_slices_that_touch_it_whole(session, settings, theme, qtbot):
    trace = session.traces[0].trace
    first, last = (int(t) for t in np.quantile(trace.slices.start, [0.4, 0.5]))
    axis = session.traces[0].axis
    session.set_range(axis.to_ns(first), axis.to_ns(last))
    dialog = shown(session, settings, theme, qtbot)
    dialog.parts[RANGE].setChecked(True)
    settle(dialog, qtbot)
    t0, t1 = session.state.t0, session.state.t1
    spans = [session.traces[0].span_ns(i) for i in range(len(trace.slices))]
    inside = [(a, b) for a, b in spans if a < t1 and (b > t0 or a == b >= t0)]
    over = sum(a < t0 or b > t1 for a, b in inside)
    computed = sum(
        bool(trace.slices.derived[i]) for i, one in enumerate(spans) if one in set(inside)
    )
    assert said(dialog).startswith(
        f"{len(inside) - computed} slices (+{computed} derived) on 1 track"
    )
    assert f"{over} slices cross the range boundary and are exported in full." in said(dialog)


def test_an_area_slices_and_operators_can_be_written_alone(session, settings, theme, qtbot):
    def told():
        dialog = shown(session, settings, theme, qtbot)
        dialog.parts[SELECTION].setChecked(True)
        settle(dialog, qtbot)
        return int(said(dialog).split()[0]), dialog.options

    session.select_slices(SliceSet({0: np.array([3, 5, 8])}), SliceRef(0, 3))
    assert told()[0] == 3
    session.select_operators(0, (9,))
    slices = slices_of(session, 0, (9,))
    count, wish = told()
    assert 0 < count == len(wish.only[0])
    assert set(wish.only[0].tolist()) <= set(slices.tolist())
    t0, t1 = session.traces[0].span_ns(40)
    session.select_area(Area(t0, t1, frozenset({(0, 0)})))
    spans = [session.traces[0].span_ns(i) for i in range(727)]
    assert told()[0] == sum(a < t1 and (b > t0 or a == b >= t0) for a, b in spans)


def test_marks_and_switches_change_what_is_written_and_are_remembered(
    session, settings, theme, qtbot
):
    bookmarks.keep(session, 1000)
    dialog = shown(session, settings, theme, qtbot)
    assert [mark.start_ns for mark in dialog.options.bookmarks] == [1000]
    before = said(dialog)
    dialog.contents["flows"].click()
    dialog.contents["annotations"].click()
    dialog.contents["marks"].click()
    settle(dialog, qtbot)
    assert dialog.options.bookmarks == ()
    assert "flows" not in said(dialog)
    assert said(dialog) != before
    assert "no source lines" in said(dialog)
    dialog.types[".pftrace.gz"].click()
    assert dialog.suffix == ".pftrace.gz"
    assert (settings.get(EXPORT_FLOWS), settings.get(EXPORT_GZIP)) == (False, True)
    again = shown(session, settings, theme, qtbot)
    assert not again.contents["flows"].isChecked()
    assert again.suffix == ".pftrace.gz"


def test_everything_has_a_name_and_works_by_keyboard(session, settings, theme, qtbot):
    dialog = shown(session, settings, theme, qtbot)
    for button in dialog.findChildren(QAbstractButton):
        assert button.accessibleName() or button.text()
        # Of buttons that exclude one another Tab goes to the chosen one, arrows to the others.
        if button.isChecked() or not button.autoExclusive():
            assert button.focusPolicy() & Qt.FocusPolicy.TabFocus
    dialog.parts[WHOLE].setFocus()
    qtbot.keyClick(dialog.parts[WHOLE], Qt.Key.Key_Down)
    assert dialog.parts[RANGE].isChecked()
    with qtbot.waitSignal(dialog.options_accepted) as asked:
        qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert asked.args[0].what == RANGE
    assert asked.args[1] == ".pftrace"


def test_nothing_is_cut_off(session, settings, theme, qtbot):
    dialog = shown(session, settings, theme, qtbot, hidden="2 tracks hidden")
    for button in dialog.findChildren(QAbstractButton):
        assert button.width() >= button.sizeHint().width()
    assert dialog.sentence.height() >= dialog.sentence.heightForWidth(dialog.sentence.width())
    assert "2 tracks hidden in the window, but exported, too." in said(dialog)


def test_the_command_asks_for_a_name_and_writes(controller, qtbot, tmp_path, monkeypatch):
    """From Ctrl+E to a file, in the order of the window."""
    with qtbot.waitSignal(controller.loader.all_done):
        controller.opener.open(next(s for s in SAMPLES if s.key == "torq_npu").paths())
    qtbot.waitUntil(lambda: len(controller.session.traces) == 2)
    assert controller.commands.actions["file.export_table"].isEnabled()
    path = tmp_path / "npu"
    answer_file_dialog(monkeypatch, path)
    dialog = controller.exports.export_perfetto()
    settle(dialog, qtbot)
    dialog.types[".pftrace.gz"].click()
    with qtbot.waitSignal(controller.saver.saved, timeout=20_000):
        dialog.save.click()
    data = gzip.decompress((tmp_path / "npu.pftrace.gz").read_bytes())
    trace = pb.Trace.FromString(data)
    named = [p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")]
    tracks = [
        d for d in named if d.HasField("thread") or (d.parent_uuid and not d.counter.unit_name)
    ]
    shown_order = [d.thread.thread_name or d.name for d in tracks]
    scene = controller.timeline.scene
    of_view = [scene.track_list.names[t] for t in scene.arrangement.tracks.tolist()]
    assert [n for n in dict.fromkeys(shown_order) if n in of_view] == list(dict.fromkeys(of_view))
    hashes = [a.string_value for p in trace.packet for a in p.trace_attributes.attribute
              if a.key.endswith("sha256")]  # fmt: skip
    assert len(hashes) == 4
    assert all(len(text) == 64 for text in hashes)


def test_pinned_tracks_come_first_and_hidden_ones_last(qtbot):
    from viewer.render.arrangement import TrackView, arrange, display_order, track_list

    session = opened("torq_npu", qtbot)
    stock = track_list([shown.tracks for shown in session.traces])
    view = TrackView(pinned=((1, 3),), hidden=frozenset({(0, 0)}))
    order = display_order(stock, arrange(stock, view))
    assert order[0] == (1, 3)
    assert sorted(order) == sorted(
        (n, t) for n, s in enumerate(session.traces) for t in range(len(s.trace.tracks))
    )
    assert order.index((0, 0)) > order.index((0, 1))


def test_sizes_are_told_as_people_say_them():
    assert [bytes_text(n).replace("\u202f", " ") for n in (5, 999, 9_449, 95_000, 49_400_000)] == [
        "5 B", "999 B", "9.4 kB", "95 kB", "49 MB",
    ]  # fmt: skip
    size = FileSize(1_234_567, 14, 0, 0, 49_000_000, 12_000_000)
    assert size_text(size).replace("\u202f", " ") == (
        "1.2 million slices on 14 tracks: about 49 MB, 12 MB gzipped."
    )


def test_it_says_how_several_clocks_are_placed(settings, theme, qtbot, session):
    """Of the sample, the host and the compile profile each have a clock."""
    assert not shown(session, settings, theme, qtbot).clocks.isVisible()
    torq = opened("torq_npu", qtbot)
    dialog = shown(torq, settings, theme, qtbot)
    assert dialog.clocks.isVisible()
    assert dialog.clocks.text() == "2 clocks; each starts at 0 (not aligned)"
    host, compiled = (group.key for group in torq.groups)
    ties = {host: Tie(anchor=0, reason="start of run 2"), compiled: Tie(anchor=7)}
    torq.change(replace(torq.state, ties=ties))
    dialog = shown(torq, settings, theme, qtbot)
    assert dialog.clocks.text() == "2 clocks, aligned at start of run 2"
    assert dialog.options.shifts == {0: (0, "start of run 2"), 1: (-7, "")}
