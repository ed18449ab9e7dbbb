"""What was recorded opens by itself: a profile with its program, or a comparison."""

import os
import shutil

import pytest

from tests.gui.events import settle
from tests.paths import DATA
from viewer.gui.session.comparison import ComparisonFeed
from viewer.recording.recorder import Outcome

pytestmark = pytest.mark.slow

EDIT = DATA / "compare/06_portable_vs_xnnpack"


@pytest.fixture
def outcome(tmp_path):
    """Two sessions of A and of B, with their ETRecords."""
    files = {}
    for arm in "ab":
        (tmp_path / arm).mkdir()
        files[arm] = [str(tmp_path / arm / name) for name in ("001.etdp", f"{arm}.etrecord")]
        for path in files[arm]:
            shutil.copy(EDIT / f"{arm}{os.path.splitext(path)[1]}", path)
    return Outcome({"a": 1, "b": 1}, 0, (), False, files)


def test_the_comparison_opens_in_place_of_what_is_open(shared_window, qtbot, outcome):
    controller = shared_window.showing_sample("attention_xnnpack")
    controller.commands.run("file.record")
    dialog = controller.recordings.dialog
    assert dialog.isVisible()
    dialog.recorded.emit(outcome)
    qtbot.waitUntil(lambda: ComparisonFeed.of(controller.session).answer is not None)
    settle(qtbot, controller)
    compared = controller.session.state.compared
    assert compared.a.paths == (outcome.files["a"][0],)
    assert compared.b.paths == (outcome.files["b"][0],)
    assert controller.docks.is_shown("compare")
    assert set(controller.session.workspace.paths) >= set(outcome.files["a"])
    dialog.close()


def test_a_profile_opens_with_its_record(shared_window, qtbot, outcome):
    controller = shared_window.showing()
    controller.commands.run("file.record")
    only = Outcome({"a": 1}, 0, (), False, {"a": outcome.files["a"]})
    controller.recordings.dialog.recorded.emit(only)
    qtbot.waitUntil(lambda: bool(controller.session.traces))
    settle(qtbot, controller)
    (shown,) = controller.session.traces
    assert shown.table.program_path == outcome.files["a"][1]
    assert controller.session.state.compared is None
    controller.recordings.dialog.close()


def test_the_start_page_offers_it(shared_window, qtbot):
    controller = shared_window.showing()
    controller.window.start_page.record_requested.emit()
    assert controller.recordings.dialog.isVisible()
    controller.recordings.dialog.close()
