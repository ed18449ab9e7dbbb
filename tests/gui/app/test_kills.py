"""A program that is killed loses nothing: real processes, each with its own settings and display.

`work` runs in the program once its window is there. It prints a line when it comes to where the
test kills it, and the test waits for that line.
"""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import pytest

from tests.gui.events import SAMPLE
from tests.gui.x_server import x_server
from viewer.view.sessions.recent_sessions import RecentSessions, take_left
from viewer.view.sessions.session_file import read

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(os.name == "nt", reason="signals of POSIX"),
]

DEMO = SAMPLE["delegate_handle_map"].paths()[0]
TIMEOUT_S = 60

PROGRAM = """
import os, sys
from viewer.gui.app import application, windows
from viewer.gui.session.bookmarks import set_bookmarks
from viewer.view.state import Bookmark

def add_bookmark(session):
    marks = (Bookmark(2_000, 3_000, "slow", "why?", session.state.clock),)
    set_bookmarks(session, marks, None, None)

def say(*words):
    print(*words, flush=True)

class Used(windows.Windows):
    def new(self, files=(), choices=None):
        window = super().new(files, choices)
        session = window.controller.session
        autosave = window.controller.autosave
        work(self, window, session, autosave)
        return window

{work}

windows.Windows = Used
sys.exit(application.run(sys.argv[1:], None, "dark"))
"""

# Says "saved" when the bookmark is on the disk.
ONE_BOOKMARK = """
def work(windows, window, session, autosave):
    def saved():
        if session.state.bookmarks:
            say("saved")
    autosave.saved.connect(saved)
    session.files_added.connect(lambda complaints: add_bookmark(session))
"""

# Kills itself right after the bookmark, once the file is saved.
KILLED_AT_ONCE = """
import os, signal
def work(windows, window, session, autosave):
    def saved():
        add_bookmark(session)
        os.kill(os.getpid(), signal.SIGKILL)
    autosave.saved.connect(saved)
"""

# After the bookmark is on the disk, changes the visible range, which is not saved at once.
LATE_RANGE = """
def work(windows, window, session, autosave):
    def saved():
        if session.state.bookmarks:
            session.set_range(1_000, 2_234)
            say("saved")
    autosave.saved.connect(saved)
    session.files_added.connect(lambda complaints: add_bookmark(session))
"""

# Says which work came back: the text of the offer, and after Restore the bookmarks.
RESTORE = """
def work(windows, window, session, autosave):
    from viewer.gui.app.windows import CrashRestore
    def offered(restore, left):
        offer(restore, left)
        say(restore.bar.text if restore.bar else "no offer")
        if restore.bar:
            restore.bar.action.click()
    offer = CrashRestore._offer
    CrashRestore._offer = offered
    def added(complaints):
        say([mark.name for mark in session.state.bookmarks])
        windows.quit()
    session.files_added.connect(added)
"""


@pytest.fixture
def settings(tmp_path):
    """The settings folder of the programs."""
    return tmp_path / "config" / "org.opscope"


@contextmanager
def program(tmp_path, work, *files, display=""):
    """A program with its own settings, in which `work` is called with the first window."""
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    environment = {
        **os.environ,
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_RUNTIME_DIR": str(runtime),
        "TMPDIR": str(runtime),
    }
    if display:
        del environment["QT_QPA_PLATFORM"]
        environment["DISPLAY"] = display
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(work=work), *files],
        env=environment, stdout=subprocess.PIPE, text=True,
        # The tests themselves may run in the background, where these are ignored.
        preexec_fn=lambda: [
            signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGHUP)
        ],
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait(timeout=60)
        process.stdout.close()


def line(process):
    """The next line that the program prints."""
    return process.stdout.readline().strip()


def bookmarks(path):
    return [mark.name for mark in read(path).view.bookmarks]


def test_after_sigkill_the_next_start_restores_the_bookmark(tmp_path, settings):
    with program(tmp_path, ONE_BOOKMARK, DEMO) as process:
        assert line(process) == "saved"
        process.kill()
    with program(tmp_path, RESTORE) as process:
        offer = line(process)
        assert offer.startswith("Opscope did not close properly. Restore 1 file and 1 bookmark")
        assert line(process) == "['slow']"
        assert process.wait(TIMEOUT_S) == 0
    assert bookmarks(RecentSessions(str(settings)).newest) == ["slow"]
    assert take_left(str(settings)) == []
    assert [name for name in os.listdir(tmp_path / "runtime") if "folder" in name] == []


def test_killed_in_the_moment_of_the_bookmark_the_files_are_restored(tmp_path, settings):
    with program(tmp_path, KILLED_AT_ONCE, DEMO) as process:
        assert process.wait(TIMEOUT_S) == -signal.SIGKILL
    (left,) = take_left(str(settings))
    assert left.saved.inputs[0].absolute == DEMO


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_the_session_and_nothing_is_offered(tmp_path, settings, number):
    with program(tmp_path, ONE_BOOKMARK, DEMO) as process:
        assert line(process) == "saved"
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == 128 + number
    assert take_left(str(settings)) == []
    (kept,) = RecentSessions(str(settings)).paths()
    assert bookmarks(kept) == ["slow"]


@pytest.mark.skipif(not shutil.which("Xvfb"), reason="needs Xvfb")
def test_a_lost_display_saves_the_last_change_and_it_is_offered(tmp_path, settings):
    with ExitStack() as stack:
        with x_server() as display:
            process = stack.enter_context(program(tmp_path, LATE_RANGE, DEMO, display=display))
            assert line(process) == "saved"
        # The server is gone.
        assert process.wait(TIMEOUT_S) == 1
    (left,) = take_left(str(settings))
    assert [mark.name for mark in left.saved.view.bookmarks] == ["slow"]
    assert left.saved.view.end_ns - left.saved.view.start_ns == 1_234
