"""What files open with: that of the file alone, whatever was done with others before."""

import random

import pytest
from PySide6.QtCore import Qt

from tests.builders.compare_sessions import varied, write_sessions
from tests.gui.events import open_files, open_sample, settle
from tests.paths import DATA
from viewer.gui.panels.base.panel_spec import PanelArea
from viewer.gui.session.navigation import show_file
from viewer.resources import SAMPLES
from viewer.view.state import SliceRef

MOST = 30
ENDINGS = ("*.etdp", "*.json", "*.json.gz", "*.etrecord", "*.pte", "*.speedscope.json")


def opening(controller):
    """The tabs of each area, those in front, the pages that they show, and the sizes."""
    docks = controller.docks
    areas = {
        area: (part.names, part.front, part.width(), part.height())
        for area, part in docks.areas.items()
        if part.isVisible()
    }
    return areas, docks.front_tabs, docks.floating


def visited(controller, chance):
    """Do what a user may do in a window with a file."""
    docks = controller.docks
    for panel in chance.sample(list(docks.by_name), 4):
        docks.show_panel(panel, by_hand=True)
    docks.close_panel(chance.choice(list(docks.panels)))
    left = docks.areas[PanelArea.LEFT].parentWidget()
    controller.window.resizeDocks([left], [chance.randint(300, 900)], Qt.Orientation.Horizontal)
    docks.float_panel(chance.choice(list(docks.panels)))
    controller.commands.run(f"layout.{chance.choice(['source', 'timeline', 'compare', 'default'])}")


@pytest.mark.nightly
def test_all_samples_and_files_of_all_kinds_open_at_home_in_any_order(controller, qtbot):
    controller.window.resize(1280, 800)
    chance, first = random.Random(62), {}
    files = sorted(path for ending in ENDINGS for path in DATA.rglob(ending))
    small = [path for path in files if path.stat().st_size < 200_000 and "damaged" not in str(path)]
    names = [sample.key for sample in SAMPLES] + chance.sample(small, MOST)
    for name in [*names, *chance.sample(names, len(names))]:
        if isinstance(name, str):
            open_sample(qtbot, controller, name)
        else:
            controller.opener.open([str(name)])
            qtbot.waitUntil(lambda: not controller.opener.is_busy, timeout=20_000)
        settle(qtbot, controller)
        if controller.session.is_empty:
            continue  # a file that cannot be read alone
        assert first.setdefault(name, opening(controller)) == opening(controller), name
        visited(controller, chance)
        settle(qtbot, controller)
        controller.session.close_all()
        settle(qtbot, controller)
    assert len(first) > MOST // 2


def test_a_file_that_is_added_keeps_what_the_user_arranged(attention, qtbot):
    attention.docks.show_panel("model")
    open_files(qtbot, attention, DATA / "etdump" / "cnn_portable_x10.etdp")
    assert attention.docks.areas[PanelArea.LEFT].front == "model"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_file_that_is_switched_to_has_the_tabs_that_it_alone_opens_with(controller, qtbot, seed):
    """Files of several kinds, in random order; with the records and sources of each."""
    chance = random.Random(seed)
    sets = [list(sample.paths()) for sample in SAMPLES if sample.key != "torq_npu"]
    sets += [[str(DATA / name)] for name in ("chrome_json/kineto_cpu.json", "phases/llm_200.etdp")]
    alone = {}
    for paths in sets:
        open_files(qtbot, controller, *paths)
        alone[paths[0]] = tabs(controller)
        controller.session.close_all()
        settle(qtbot, controller)
    chance.shuffle(sets)
    open_files(qtbot, controller, *dict.fromkeys(path for paths in sets for path in paths))
    session = controller.session
    numbers = {open_trace.file.path: i for i, open_trace in enumerate(session.traces)}
    for paths in [*sets, *chance.sample(sets, len(sets))]:
        show_file(session, numbers[paths[0]])
        settle(qtbot, controller)
        assert tabs(controller) == alone[paths[0]], paths[0]


def tabs(controller):
    """The tabs of each area and those in front, without problems and links, which are of all."""
    docks = controller.docks
    areas = {
        area: tuple(name for name in part.names if name != "checks")
        for area, part in docks.areas.items()
    }
    return areas, docks.front_tabs


def test_the_panel_in_use_stays_in_front_of_another_file(controller, qtbot):
    open_sample(qtbot, controller, "attention_xnnpack")
    open_files(qtbot, controller, DATA / "chrome_json/kineto_cpu.json")
    controller.docks.show_panel("statistics", by_hand=True)
    controller.panels["statistics"].subtitle.setFocus()
    show_file(controller.session, 1)
    settle(qtbot, controller)
    assert "statistics" in controller.docks.front_tabs
    assert not controller.docks.is_open("model")


def test_a_selection_in_another_file_brings_its_tabs_back(controller, qtbot):
    open_sample(qtbot, controller, "attention_xnnpack")
    open_files(qtbot, controller, DATA / "chrome_json/kineto_cpu.json")
    show_file(controller.session, 1)
    settle(qtbot, controller)
    assert not controller.docks.is_open("graph")
    controller.session.select_slice(SliceRef(0, 5))
    settle(qtbot, controller)
    assert controller.docks.is_open("graph")


def test_files_of_one_kind_keep_what_is_arranged(controller, qtbot, tmp_path):
    base = {"add.out": 20_000, "mul.out": 5_000}
    open_files(qtbot, controller, *write_sessions(tmp_path, "s", *varied(base, [0, 0.1, 0.2])))
    controller.docks.show_panel("calls", by_hand=True)
    before = tabs(controller)
    show_file(controller.session, 2)
    settle(qtbot, controller)
    assert tabs(controller) == before
