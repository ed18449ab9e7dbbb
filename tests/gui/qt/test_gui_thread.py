"""Calls from workers arrive on the GUI thread, in order, and only while their owner lives."""

import gc
import threading
import weakref

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QObject, QThread

from viewer.gui.qt.gui_thread import GuiOwner


class Heard(QObject):
    """Notes what it is told and on which thread."""

    def __init__(self):
        super().__init__()
        self.told = []

    def tell(self, *what):
        self.told.append((*what, QThread.currentThread() is self.thread()))


def from_worker(run):
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()


@pytest.fixture
def heard(qapp):
    return Heard()


def test_calls_arrive_in_order_on_the_gui_thread(heard, qtbot):
    owner = GuiOwner(heard)
    from_worker(lambda: [owner.call("tell", n, f"text {n}") for n in range(100)])
    assert heard.told == []
    qtbot.waitUntil(lambda: len(heard.told) == 100)
    assert heard.told == [(n, f"text {n}", True) for n in range(100)]


def test_a_call_from_the_gui_thread_waits_for_the_loop_too(heard, qtbot):
    GuiOwner(heard).call("tell", 1)
    assert heard.told == []
    qtbot.waitUntil(lambda: heard.told == [(1, True)])


def test_a_worker_does_not_keep_its_owner_alive(qapp):
    heard = Heard()
    gone = weakref.ref(heard)
    owner = GuiOwner(heard)
    from_worker(lambda: owner.call("tell", 1))
    del heard
    gc.collect()
    assert gone() is None
    QCoreApplication.processEvents()


def test_nothing_is_told_to_an_owner_whose_qt_side_is_gone(heard):
    owner = GuiOwner(heard)
    from_worker(lambda: owner.call("tell", 1))
    shiboken6.delete(heard)
    QCoreApplication.processEvents()
    assert heard.told == []
