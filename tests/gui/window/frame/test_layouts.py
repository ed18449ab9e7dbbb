"""What files open with: that of the file alone, whatever was done with others before."""

import random

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QComboBox

from tests.builders.compare_sessions import varied, write_sessions
from tests.gui.events import controller_of, open_files, open_sample, put_away, settle
from tests.paths import DATA
from viewer.gui.panels.base.panel_spec import PanelArea
from viewer.gui.qt.widgets.controls import EscapeField, SegmentBar
from viewer.gui.qt.widgets.tables import FilterLine
from viewer.gui.session.navigation import show_file
from viewer.resources import SAMPLES
from viewer.view.state import SliceRef

MOST = 30
ENDINGS = (
    "*.etdp", "*.json", "*.etrecord", "*.pte", "*.csv", "*.tsv", "*.txt", "*.pftrace", "*.mlir",
)  # fmt: skip
# Pixels that may differ: the mark of the tab that has the focus.
FEW = 1_000
# What users set for all files.
PREFERENCES = ("Theme", "Font size")


def opening(controller, qtbot):
    """What a file opens with: panels and their sizes, what they show, the view, and the picture."""
    docks, state = controller.docks, controller.session.state
    visible = [(area, part) for area, part in docks.areas.items() if part.isVisible()]
    areas = {area: (part.names, part.front) for area, part in visible}
    sizes = [size for _, part in visible for size in part.size().toTuple()]
    view = state.t0, state.t1, state.run, state.inferences, state.phase, state.scheme
    selected = state.slice, state.operators, state.area, state.warm_up
    image = controller.window.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    front = docks.front_tabs
    for name in ("operators", "calls"):  # in a narrow window they are behind Summary
        if docks.is_open(docks.table.panel_of[name]):
            docks.show_panel(name)
    settle(qtbot, controller)
    window = controller.window
    boxes = {
        (box.accessibleName(), box.currentText())
        for box in window.findChildren(QComboBox)
        if box.isVisible()
    }
    pressed = {
        button.text()
        for bar in window.findChildren(SegmentBar)
        if bar.isVisible()
        for button in bar.buttons.values()
        if button.isChecked()
    }
    filters = {line.text() for line in window.findChildren(EscapeField)}
    return (areas, front, docks.floating, view, selected, boxes, pressed, filters), sizes, image


def differing(first, second):
    """The number of pixels that differ."""
    assert first.size() == second.size()
    pixels = [np.frombuffer(image.constBits(), np.uint32) for image in (first, second)]
    return int((pixels[0] != pixels[1]).sum())


def visited(controller, chance, qtbot):
    """Do what a user may do in a window with a file."""
    docks, window = controller.docks, controller.window
    for panel in chance.sample(list(docks.by_name), 4):
        docks.show_panel(panel, by_hand=True)
    settle(qtbot, controller)
    boxes = [
        box
        for box in window.findChildren(QComboBox)
        if box.isVisible() and box.isEnabled() and box.accessibleName() not in PREFERENCES
    ]
    for box in chance.sample(boxes, min(3, len(boxes))):
        enabled = [i for i in range(box.count()) if box.model().flags(box.model().index(i, 0))]
        if box.isVisible() and enabled:
            box.setCurrentIndex(chance.choice(enabled))
            box.activated.emit(box.currentIndex())
    bars = [bar for bar in window.findChildren(SegmentBar) if bar.isVisible()]
    for bar in bars:
        offered = [button for button in bar.buttons.values() if button.isVisible()]
        if offered:  # a button may have hidden the bar
            chance.choice(offered).click()
    for line in window.findChildren(FilterLine):
        if line.isVisible():
            line.setText(chance.choice("abc"))
    settle(qtbot, controller)
    docks.close_panel(chance.choice(list(docks.panels)))
    left = docks.areas[PanelArea.LEFT].parentWidget()
    window.resizeDocks([left], [chance.randint(300, 900)], Qt.Orientation.Horizontal)
    docks.float_panel(chance.choice(list(docks.panels)))
    controller.commands.run(f"layout.{chance.choice(['source', 'timeline', 'compare', 'default'])}")
    settle(qtbot, controller)


@pytest.mark.parametrize(
    ("width", "many"),
    [
        pytest.param(1280, 3, marks=pytest.mark.slow),
        pytest.param(1280, MOST, marks=pytest.mark.nightly),
        pytest.param(1920, MOST, marks=pytest.mark.nightly),
    ],
)
def test_what_a_file_opens_with_depends_on_the_file_alone(
    tmp_path, monkeypatch, qtbot, width, many
):
    """Samples and files of all kinds, in any order, in windows that keep their settings."""
    chance, first = random.Random(width + many), {}
    files = sorted(path for ending in ENDINGS for path in DATA.rglob(ending))
    small = [path for path in files if path.stat().st_size < 200_000 and "damaged" not in str(path)]
    names = [sample.key for sample in SAMPLES] + chance.sample(small, many)
    controller = None
    for number, name in enumerate([*names, *chance.sample(names, len(names))]):
        if number % len(names) == 0:
            if controller is not None:
                put_away(controller.window)
            controller = controller_of(qtbot, tmp_path, monkeypatch, (width, 800), paints=True)
        if isinstance(name, str):
            open_sample(qtbot, controller, name)
        else:
            opener = controller.opener
            opener.open([str(name)])
            qtbot.waitUntil(lambda opener=opener: not opener.is_busy, timeout=20_000)
        settle(qtbot, controller)
        if controller.session.is_empty:
            continue  # a file that cannot be read alone, or that asks for its columns
        shown, sizes, image = opening(controller, qtbot)
        before, sizes_before, image_before = first.setdefault(name, (shown, sizes, image))
        assert shown == before, name
        assert sizes == pytest.approx(sizes_before, abs=1), name  # of what is divided
        assert sizes != sizes_before or differing(image, image_before) < FEW, name
        visited(controller, chance, qtbot)
        controller.session.close_all()
        settle(qtbot, controller)
    assert len(first) > len(names) // 2
    put_away(controller.window)


def test_a_file_that_is_added_keeps_what_the_user_arranged(attention, qtbot):
    attention.docks.show_panel("model")
    open_files(qtbot, attention, DATA / "etdump" / "cnn_portable_x10.etdp")
    assert attention.docks.areas[PanelArea.LEFT].front == "model"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.nightly)])
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
