"""What a window shows, as texts, and the samples that its tests open and drop."""

from pathlib import Path

from tests.gui.events import SAMPLE, drop, settle

THIN = "\u202f"
ATTENTION, ATTENTION_RECORD = SAMPLE["attention_xnnpack"].paths()
DEMO, DEMO_RECORD = SAMPLE["delegate_handle_map"].paths()
CSV = SAMPLE["plain_csv"].paths()[0]
TORQ = ("compile_c0_callsite.csv", "runtime_r0_nss.csv", "tiny_cnn.mlir")
# The tabs of the attention sample.
DOCKS = {"summary", "details", "operators", "calls", "model", "graph", "delegation", "source"}


def names(controller):
    return [Path(path).name for path in controller.session.workspace.paths]


def shown_docks(controller):
    return {name for name in controller.docks.by_name if controller.docks.is_shown(name)}


def message(controller):
    return controller.window.message.text


def problems(controller):
    entries = controller.panels["problems"].model.contents
    return [(entry.severity.word, entry.what) for entry in entries]


def runs_offered(controller):
    """The numbers of the inferences that the picker of the toolbar lists."""
    return [row.number for row in controller.toolbar.run.rows]


def pick_inference(controller, number):
    """Click an inference in the list of the toolbar's picker."""
    picker = controller.toolbar.run
    run = next(row.run for row in picker.rows if row.number == number)
    picker.popup.list.picked.emit(run)


def show_inferences(controller, view):
    """Choose one of the views below the list."""
    controller.toolbar.run.popup.entries[view].click()


def pick(combo, index):
    combo.setCurrentIndex(index)
    combo.activated.emit(index)


def dropped(qtbot, controller, *urls, onto=None):
    """Drop files on a window, or a part of it, and wait until all of it is shown."""
    with qtbot.waitSignal(controller.loader.all_done, timeout=20_000):
        assert drop(controller, urls, onto=onto)
    settle(qtbot, controller)
