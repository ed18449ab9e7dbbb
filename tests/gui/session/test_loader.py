"""Reading off the GUI thread: one end for every file, on the GUI's thread, whatever happens."""

import threading

import pytest
from PySide6.QtCore import QCoreApplication, QObject, QThread

from viewer.codecs.reading import ReadCancelled, UnreadableFile
from viewer.gui.session import file_jobs as loading
from viewer.gui.session.file_jobs import Loader

pytestmark = pytest.mark.usefixtures("fresh_places")


class Heard(QObject):
    """Notes every signal of a loader and the thread that it came on."""

    def __init__(self, loader):
        super().__init__()
        self.events = []
        self.threads = set()
        loader.progressed.connect(self.progressed)
        loader.loaded.connect(self.loaded)
        loader.failed.connect(self.failed)
        loader.cancelled.connect(self.cancelled)

    def _note(self, *event):
        self.events.append(event)
        self.threads.add(QThread.currentThread())

    def progressed(self, path, done, total):
        self._note("progressed", path, done, total)

    def loaded(self, path, item):
        self._note("loaded", path, item)

    def failed(self, path, message):
        self._note("failed", path, message)

    def cancelled(self, path):
        self._note("cancelled", path)

    def ends(self):
        return [event for event in self.events if event[0] != "progressed"]


class Gates:
    """A reader that waits in each file until the test opens its gate or cancels it."""

    def __init__(self):
        self.begun = threading.Semaphore(0)
        self.gates = {}
        self.most = self.now = 0
        self.lock = threading.Lock()

    def gate(self, path):
        with self.lock:
            return self.gates.setdefault(path, threading.Event())

    def __call__(self, path, progress, cancelled):
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.begun.release()
        while not self.gate(path).wait(0.005):
            if cancelled():
                with self.lock:
                    self.now -= 1
                raise ReadCancelled
        with self.lock:
            self.now -= 1
        return f"item of {path}"


def test_a_file_is_read_off_the_gui_thread_and_told_on_it(qtbot):
    workers = []

    def reader(path, progress, cancelled):
        workers.append(threading.current_thread())
        progress(5_000_000_000, 6_000_000_000)
        return "a trace"

    loader = Loader(reader=reader)
    heard = Heard(loader)
    with qtbot.waitSignal(loader.all_done):
        loader.load("/a")
    assert workers != [threading.current_thread()]
    assert heard.events == [
        ("progressed", "/a", 5_000_000_000, 6_000_000_000),
        ("loaded", "/a", "a trace"),
    ]
    assert heard.threads == {loader.thread()}
    assert loader.paths == []


def test_the_files_of_the_project_are_read(qtbot, data):
    path = str(data / "etdump" / "attn_xnnpack_x5.etdp")
    loader = Loader()
    with qtbot.waitSignal(loader.loaded, timeout=20_000) as told:
        loader.load(path)
    assert told.args[0] == path
    assert len(told.args[1].slices) > 0


def test_a_name_that_is_not_unicode_comes_back_as_it_was(qtbot):
    loader = Loader(reader=lambda path, progress, cancelled: path)
    with qtbot.waitSignal(loader.loaded) as told:
        loader.load("/caf\udce9.etdp")
    assert told.args == ["/caf\udce9.etdp", "/caf\udce9.etdp"]


def test_no_more_than_two_files_are_read_at_once_and_all_are_read(qtbot):
    reader = Gates()
    loader = Loader(reader=reader)
    heard = Heard(loader)
    paths = [f"/{n}" for n in range(5)]
    with qtbot.waitSignal(loader.all_done):
        for path in paths:
            loader.load(path)
        assert loader.paths == paths
        for path in paths:
            reader.gate(path).set()
    assert reader.most <= loading.AT_ONCE
    assert sorted(event[1] for event in heard.ends()) == paths


def test_the_same_file_is_not_read_twice_at_once(qtbot):
    reader = Gates()
    loader = Loader(reader=reader)
    heard = Heard(loader)
    with qtbot.waitSignal(loader.all_done):
        loader.load("/a")
        loader.load("/a")
        reader.gate("/a").set()
    assert heard.ends() == [("loaded", "/a", "item of /a")]


def test_an_unreadable_file_says_why(qtbot, tmp_path):
    loader = Loader()
    path = str(tmp_path / "none.etdp")
    with qtbot.waitSignal(loader.failed) as told:
        loader.load(path)
    assert told.args == [path, str(UnreadableFile(path, "there is no such file",
                                                  remedy="Check the path"))]  # fmt: skip


def test_a_fault_of_a_reader_is_told_and_reported(qtbot, capsys):
    def reader(path, progress, cancelled):
        return [][3]

    loader = Loader(reader=reader)
    with qtbot.waitSignal(loader.failed) as told:
        loader.load("/a.csv")
    assert "/a.csv: Opscope failed to read this file (internal error: IndexError" in told.args[1]
    assert "IndexError" in capsys.readouterr().err


def test_cancelling_one_file_leaves_the_other(qtbot):
    reader = Gates()
    loader = Loader(reader=reader)
    heard = Heard(loader)
    with qtbot.waitSignal(loader.all_done):
        loader.load("/a")
        loader.load("/b")
        loader.cancel("/a")
        reader.gate("/b").set()
    assert sorted(heard.ends()) == [("cancelled", "/a"), ("loaded", "/b", "item of /b")]


def test_cancelling_all_also_drops_what_waits(qtbot):
    loader = Loader(reader=Gates())
    heard = Heard(loader)
    with qtbot.waitSignal(loader.all_done):
        for path in ("/a", "/b", "/c"):
            loader.load(path)
        loader.cancel()
    assert sorted(heard.ends()) == [("cancelled", "/a"), ("cancelled", "/b"), ("cancelled", "/c")]


def test_a_file_that_ends_in_spite_of_its_cancel_is_cancelled(qtbot):
    gate = threading.Event()

    def deaf(path, progress, cancelled):
        gate.wait(timeout=60)
        return "too late"

    loader = Loader(reader=deaf)
    heard = Heard(loader)
    with qtbot.waitSignal(loader.all_done):
        loader.load("/a")
        loader.cancel("/a")
        gate.set()
    assert heard.events == [("cancelled", "/a")]


def test_shutting_down_stops_the_readers_and_tells_nothing(qtbot):
    reader = Gates()
    loader = Loader(reader=reader)
    heard = Heard(loader)
    for path in ("/a", "/b", "/c"):
        loader.load(path)
    reader.begun.acquire()
    reader.begun.acquire()
    loader.shutdown()
    assert reader.now == 0
    loader.load("/d")
    QCoreApplication.processEvents()
    assert heard.events == []


def test_shutting_down_does_not_wait_for_a_reader_that_does_not_listen(qtbot, monkeypatch):
    monkeypatch.setattr(loading, "_QUIT_READING_SECONDS", 0.05)
    gate = threading.Event()
    loader = Loader(reader=lambda path, progress, cancelled: gate.wait(timeout=60))
    loader.load("/a")
    loader.shutdown()
    assert not gate.is_set()
    gate.set()


def test_few_of_many_progress_reports_reach_the_window(qtbot):
    def reader(path, progress, cancelled):
        for done in range(10_001):
            progress(done, 10_000)
        return "item"

    loader = Loader(reader=reader)
    heard = Heard(loader)
    with qtbot.waitSignal(loader.all_done):
        loader.load("/a")
    reports = heard.events[:-1]
    assert reports[-1] == ("progressed", "/a", 10_000, 10_000)
    assert len(reports) < 100


def test_a_table_that_needs_its_columns_says_what_before_it_fails(qtbot, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("op,start,dur\na,1,2\n")
    loader = Loader()
    heard = Heard(loader)
    asked = []
    loader.columns_needed.connect(lambda *given: asked.append((given, len(heard.ends()))))
    with qtbot.waitSignal(loader.failed):
        loader.load(str(path))
    (((name, question), before),) = asked
    assert (name, question.missing, before) == (str(path), ("unit",), 0)
    ((_, _, message),) = heard.ends()
    assert message.startswith(f"{path}: this table does not show the unit of start and dur")
    assert "--columns" not in message
