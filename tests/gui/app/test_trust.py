"""No network: the window is opened, used and closed with every socket forbidden.

What Python opens is seen by its audit hooks, which nothing in the program can go round; what Qt
opens by the descriptors of the process. The socket for second starts is a local one.
"""

import os
import subprocess
import sys

import pytest

from tests.gui.events import SAMPLE

USE = """
import os, sys

asked = []
def watch(event, arguments):
    # Also names that are looked up, pages for a browser and other programs: all could tell.
    if event.startswith(("socket.", "webbrowser.", "urllib.", "http.", "ftplib.", "smtplib.")):
        family = getattr(arguments[0], "family", arguments[0] if len(arguments) == 1 else None)
        if event == "socket.__new__":
            family = arguments[1]
        if family is None or int(family) != 1:  # AF_UNIX
            asked.append((event, repr(arguments)))
            raise PermissionError("no network")
    if event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"):
        asked.append((event, repr(arguments)))
        raise PermissionError("no other program")
sys.addaudithook(watch)

from PySide6.QtCore import QEventLoop, QTimer, QUrl
from PySide6.QtGui import QDesktopServices
QDesktopServices.openUrl = lambda url: asked.append(("openUrl", url.toString()))

from viewer.gui.app import application as app, windows
from viewer.gui.qt.crash_report import forget

def kinds():
    # What the sockets of this process are, by the system's own tables.
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue
    ours = {link[8:-1] for link in links if link.startswith("socket:[")}
    found = []
    for table in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6"):
        try:
            with open(f"/proc/self/net/{table}") as lines:
                rows = [line.split() for line in list(lines)[1:]]
        except OSError:
            continue
        found += [table for row in rows if row[9] in ours]
    return found

class Used(windows.Windows):
    def new(self, files=(), choices=None):
        window = super().new(files, choices)
        QTimer.singleShot(0, lambda: use(window))
        return window

def use(window):
    controller = window.controller
    if controller.opener.is_busy:
        loop = QEventLoop()
        controller.loader.all_done.connect(loop.quit)
        loop.exec()
    window.settle()
    for name in controller.docks.by_name:
        controller.docks.show_panel(name)
        window.settle()
    controller.session.select_operators(0, (1,))
    controller.commands.run("help.about")
    controller.commands.run("help.customize_keys")
    window.settle()
    loop = QEventLoop()
    controller.saver.saved.connect(loop.quit)
    controller.saver.failed.connect(loop.quit)
    controller.exports.export(sys.argv[1])
    loop.exec()
    print("open", [kind for _, kind in window.open_files], "sockets", kinds())
    controller.commands.actions["file.quit"].trigger()

windows.Windows = Used
code = app.run(sys.argv[2:], None)
print("code", code, "asked", asked)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks the system's own tables of sockets")
def test_the_window_works_where_every_socket_is_forbidden(tmp_path):
    out = tmp_path / "out.pftrace"
    environment = {
        **os.environ, "XDG_CONFIG_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    tmp_path.chmod(0o700)
    done = subprocess.run(
        [sys.executable, "-c", USE, str(out), *SAMPLE["delegate_handle_map"].paths()],
        capture_output=True, text=True, timeout=120, env=environment,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "open ['ETDump', 'ETRecord'] sockets []",
        "code 0 asked []",
    ], done.stderr
    assert out.stat().st_size > 1000
    assert "Error" not in done.stderr
    assert len(list(tmp_path.rglob("faults.log"))) == 1


def test_the_watch_would_see_a_connection():
    seen = USE.partition("from PySide6")[0] + (
        "import socket\n"
        "socket.socket(socket.AF_UNIX).close()\n"
        "for ask in (socket.socket, lambda: socket.getaddrinfo('localhost', 80)):\n"
        "    try: ask()\n"
        "    except PermissionError: pass\n"
        "print(len(asked))"
    )
    done = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, timeout=60)
    assert done.stdout == "2\n", done.stderr
