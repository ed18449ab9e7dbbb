"""Writing off the GUI thread: one end for every export, told on the GUI's thread."""

import threading

import pytest
from PySide6.QtCore import QThread

from viewer.codecs.atomic_file import WriteCancelled, replacing
from viewer.gui.session import file_jobs as saving
from viewer.gui.session.file_jobs import Saver
from viewer.workspace.exports import NothingToExport

pytestmark = pytest.mark.usefixtures("fresh_places")


@pytest.fixture
def saver(qapp):
    made = Saver()
    yield made
    made.shutdown()


class Gate:
    """A job that writes half of its file and waits until it may end or must stop."""

    def __init__(self, path):
        self.path, self.begun, self.end = path, threading.Event(), threading.Event()

    def __call__(self, progress, cancelled):
        with replacing(self.path) as file:
            file.write(b"half")
            progress(1, 2)
            self.begun.set()
            while not self.end.wait(0.002):
                if cancelled():
                    raise WriteCancelled
            file.write(b" whole")
        return 2


def test_a_job_runs_off_the_gui_thread_and_is_told_on_it(saver, qtbot):
    workers, told_on, shares = [], [], []
    saver.saved.connect(lambda path, count: told_on.append(QThread.currentThread()))
    saver.progressed.connect(lambda path, share: shares.append((path, share)))

    def job(progress, cancelled):
        workers.append(threading.current_thread())
        progress(1, 4)
        return 7

    with qtbot.waitSignal(saver.saved) as told:
        saver.save(job, "/out.csv")
    assert told.args == ["/out.csv", 7]
    assert workers != [threading.current_thread()]
    assert told_on == [saver.thread()]
    assert shares == [("/out.csv", 0.25)]
    assert not saver.is_busy


def test_progress_of_nothing_is_no_fault(saver, qtbot):
    shares = []
    saver.progressed.connect(lambda path, share: shares.append(share))
    with qtbot.waitSignal(saver.saved):
        saver.save(lambda progress, cancelled: progress(0, 0) or 0, "/out.csv")
    assert shares == [0.0]


def test_a_cancelled_job_leaves_no_file_and_what_was_there(saver, qtbot, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    job = Gate(path)
    saver.save(job, str(path))
    assert job.begun.wait(5)
    with qtbot.waitSignal(saver.failed) as told:
        saver.cancel()
    assert told.args == [str(path), "Export canceled; no file was written"]
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError(28, "No space left on device"), "No space left on device"),
     (OSError(), "OSError"), (MemoryError(), "MemoryError"),
     (NothingToExport("There is nothing"), "There is nothing")],
)  # fmt: skip
def test_what_cannot_be_written_is_one_sentence(saver, qtbot, error, reason):
    def job(progress, cancelled):
        raise error

    with qtbot.waitSignal(saver.failed) as told:
        saver.save(job, "/out.csv")
    assert told.args == ["/out.csv", f"/out.csv was not written: {reason}"]


def test_a_fault_is_told_and_reported(saver, qtbot, capsys):
    with qtbot.waitSignal(saver.failed) as told:
        saver.save(lambda progress, cancelled: [][3], "/out.csv")
    assert told.args[1].startswith("/out.csv was not written: internal error in Opscope")
    assert "IndexError" in capsys.readouterr().err


def test_one_at_a_time_and_then_the_next(saver, qtbot, tmp_path):
    job = Gate(tmp_path / "a")
    saver.save(job, "/a")
    assert saver.is_busy
    with pytest.raises(RuntimeError, match="another export is in progress"):
        saver.save(lambda progress, cancelled: 1, "/b")
    with qtbot.waitSignal(saver.saved):
        job.end.set()
    with qtbot.waitSignal(saver.saved) as told:
        saver.save(lambda progress, cancelled: 1, "/b")
    assert told.args == ["/b", 1]


def test_shutting_down_waits_for_the_job_to_stop(saver, tmp_path):
    job = Gate(tmp_path / "a")
    saver.save(job, "/a")
    assert job.begun.wait(5)
    saver.shutdown()
    assert not saver._write.thread.is_alive()
    assert list(tmp_path.iterdir()) == []


def test_shutting_down_does_not_wait_for_ever(qapp, monkeypatch):
    monkeypatch.setattr(saving, "_QUIT_WRITING_SECONDS", 0.02)
    end = threading.Event()
    saver = Saver()
    saver.save(lambda progress, cancelled: int(end.wait(timeout=60)), "/a")
    saver.shutdown()
    assert saver.is_busy
    end.set()
    saver._write.thread.join(5)


def test_cancelling_nothing_is_nothing(saver):
    saver.cancel()
    saver.shutdown()
    assert not saver.is_busy
