"""The Menu key of a keyboard, typed into an X server: it opens one menu, as Shift+F10 does.

Needs Xvfb and xdotool (Debian: apt-get install xvfb xdotool); skipped where one is missing.
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import pytest

from tests.gui.x_server import x_server

# Qt makes the menu's event of that key in its plugin of each platform: a key that a test posts
# inside of the process would not be one.
SCRIPT = textwrap.dedent("""
    import json, subprocess, sys, time
    from PySide6.QtCore import QSettings
    from PySide6.QtWidgets import QMenu
    from tests.gui.events import SAMPLE
    from viewer.gui.app.application import _application
    from viewer.gui.window.main_window import MainWindow
    from viewer.gui.qt.settings import Settings
    from viewer.gui.qt.theme.theme import Theme
    from viewer.view.state import SliceRef

    app = _application()
    settings = Settings(QSettings(sys.argv[1], QSettings.Format.IniFormat))
    window = MainWindow(Theme(app, "dark"), settings)
    controller = window.controller
    window.show()
    controller.opener.open(SAMPLE["attention_xnnpack"].paths())

    def until(asked, seconds=30):
        end = time.monotonic() + seconds
        while not asked() and time.monotonic() < end:
            app.processEvents()
            time.sleep(0.005)

    until(lambda: controller.session.traces)
    window.settle()
    window.activateWindow()
    until(window.isActiveWindow)
    opened, told = [], {}
    QMenu.popup = lambda menu, at: opened.append([a.text() for a in menu.actions() if a.text()])
    controller.docks.show_panel("findings")
    window.settle()
    findings, operators = controller.panels["findings"], controller.panels["operators"]
    findings.list.setCurrentIndex(findings.model.index(0, 0))
    operators.table.setCurrentIndex(operators.model.index(1, 0))
    controller.session.select_slice(SliceRef(0, 20), reveal=True)
    for name, widget in (
        ("timeline", controller.timeline.view), ("headers", controller.timeline.headers),
        ("findings", findings.list), ("operators", operators.table),
    ):
        if name in controller.docks.by_name:
            controller.docks.show_panel(name)
        window.settle()
        widget.setFocus()
        until(widget.hasFocus)
        for key in ("Menu", "shift+F10"):
            del opened[:]
            subprocess.run(["xdotool", "key", key], check=True)
            until(lambda: opened)
            until(lambda: False, 0.1)  # a second menu would come now
            told.setdefault(name, []).append(list(opened))
    print(json.dumps(told))
    window.close()
""")


@pytest.fixture
def display():
    """An X server of its own."""
    if not (shutil.which("Xvfb") and shutil.which("xdotool")):
        pytest.skip("there is no Xvfb or no xdotool here")
    with x_server() as number:
        yield number


@pytest.mark.slow
def test_the_menu_key_opens_one_menu_as_shift_f10_does(display, tmp_path):
    environment = {
        **os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb",
        "XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(["", *sys.path]),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "settings.ini")],
        env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    for name, (by_menu_key, by_f10) in told.items():
        assert len(by_menu_key) == len(by_f10) == 1, name
        assert by_menu_key == by_f10
    assert told["findings"][0][0][0] == "Copy findings as text"
    assert "Zoom to &selection" in told["timeline"][0][0]
