"""What a start imports: few modules, and none that only other files or other commands need."""

import json
import os
import subprocess
import sys

import pytest

from viewer.resources import SAMPLES

SAMPLE = str(next(sample for sample in SAMPLES if sample.key == "attention_xnnpack").paths()[0])
# Modules until the first frame of a sample, and until `opscope info` has ended. They only fall.
MOST_OF_WINDOW, MOST_OF_INFO = 650, 326
# What nothing needs before somebody asks for it.
FORBIDDEN = (
    "pandas", "pyarrow", "duckdb", "asyncssh", "multiprocessing", "concurrent.futures",
    "xml.etree", "pyqtgraph.graphicsItems", "pyqtgraph.exporters", "viewer.api", "viewer.export",
    "viewer.fleet", "viewer.html_report", "viewer.recording.recorder", "viewer.render.graph",
    "viewer.gui.window.dialogs.compare", "viewer.gui.window.dialogs.export",
    "viewer.gui.window.dialogs.preferences", "viewer.gui.window.dialogs.record",
    "viewer.gui.window.dialogs.shortcuts", "viewer.gui.window.help.tour",
    "viewer.gui.panels.graph.panel",
    "viewer.gui.panels.memory.panel", "viewer.gui.panels.query.panel",
    "viewer.formats.chrome", "viewer.formats.executorch.etrecord", "viewer.formats.perfetto",
    "viewer.formats.table.plain_csv", "viewer.analysis.comparison.comparison",
)  # fmt: skip
# The command line itself opens the sample; the loop goes on after the paint event of its timeline.
WINDOW = """
import json, os, sys
from PySide6.QtCore import QEvent, QObject, QTimer
import viewer.gui.app.application as application
of_main = application._application
class Painted(QObject):
    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.UpdateRequest and watched.isWindow():
            controller = getattr(watched, "_controller", None)
            if controller is not None and controller.timeline.isVisible():
                if watched.updatesEnabled():
                    QTimer.singleShot(0, told)
        return False
def told():
    print(json.dumps(sorted(sys.modules)), flush=True)
    os._exit(0)
def watched_application():
    app = of_main()
    app.painted = Painted(app)
    app.installEventFilter(app.painted)
    return app
application._application = watched_application
from viewer.cli import main
main([sys.argv[1]])
"""
INFO = """
import json, os, sys
from viewer.cli import main
main(["info", sys.argv[1]])
assert "OPENBLAS_NUM_THREADS" not in os.environ  # programs that a command starts keep their threads
assert not os.path.isdir("/proc/self/task") or len(os.listdir("/proc/self/task")) == 1
print(json.dumps(sorted(sys.modules)))
"""


def modules_of(code: str, tmp_path) -> list[str]:
    """The modules that a process has imported at its end."""
    environment = os.environ | {"QT_QPA_PLATFORM": "offscreen", "XDG_CONFIG_HOME": str(tmp_path)}
    environment |= {"XDG_RUNTIME_DIR": str(tmp_path)}
    environment.pop("OPENBLAS_NUM_THREADS", None)
    done = subprocess.run(
        [sys.executable, "-c", code, SAMPLE],
        env=environment, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    modules: list[str] = json.loads(done.stdout.splitlines()[-1])
    return modules


def forbidden(modules: list[str]) -> list[str]:
    return [
        module
        for module in modules
        if any(module == name or module.startswith(f"{name}.") for name in FORBIDDEN)
    ]


@pytest.mark.slow
def test_the_first_frame_of_a_sample_needs_few_modules(tmp_path):
    modules = modules_of(WINDOW, tmp_path)
    assert forbidden(modules) == []
    assert "viewer.gui.panels.summary.panel" in modules  # one that is in front
    assert len(modules) <= MOST_OF_WINDOW


@pytest.mark.slow
def test_info_on_a_sample_needs_few_modules(tmp_path):
    modules = modules_of(INFO, tmp_path)
    assert forbidden(modules) == []
    assert [m for m in modules if m.startswith(("PySide6", "shiboken6", "viewer.gui"))] == []
    assert len(modules) <= MOST_OF_INFO
