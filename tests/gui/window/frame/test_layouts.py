"""What files open with: that of the file alone, whatever was done with others before."""

import random

import pytest
from PySide6.QtCore import Qt

from tests.gui.events import open_files, open_sample, settle
from tests.paths import DATA
from viewer.gui.panels.base.panel_spec import PanelArea
from viewer.resources import SAMPLES

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
