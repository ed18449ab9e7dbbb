"""Cyclic garbage is collected on the GUI thread, whichever thread asks for a collection."""

import gc
import sys
import threading

import pytest

from viewer.gui.qt import background as garbage
from viewer.gui.qt.background import GuiCollector


class Node:
    """Garbage that only the collector finds, and that tells where it was found."""

    def __init__(self, found):
        self.me = self
        self.found = found

    def __del__(self):
        self.found.append(threading.get_ident())


@pytest.fixture
def collector(qapp):
    made = GuiCollector(qapp)
    yield made
    made.stop()
    gc.disable()  # as all tests have it
    made.deleteLater()


def allocate_much():
    """Far beyond the threshold at which Python would collect."""
    return [[i] for i in range(20_000)]


def test_a_thread_that_allocates_collects_nothing(collector, qtbot):
    found = []
    count = 2 * gc.get_threshold()[0]  # 700 until Python 3.12, 2,000 from 3.13 on
    for _ in range(count):
        Node(found)
    worker = threading.Thread(target=allocate_much)
    worker.start()
    worker.join(timeout=60)
    assert found == []
    qtbot.waitUntil(lambda: len(found) == count)
    assert set(found) == {threading.main_thread().ident}


def test_when_it_stops_python_collects_again(collector):
    assert not gc.isenabled()
    collector.stop()
    assert gc.isenabled()


def test_with_nothing_due_nothing_is_done(collector):
    gc.collect()
    before = gc.get_stats()[2]["collections"]
    collector.collect()
    assert gc.get_stats()[2]["collections"] == before


def test_what_came_with_many_modules_is_not_looked_at_again(collector, monkeypatch):
    frozen = gc.get_freeze_count()
    collector.collect()
    assert gc.get_freeze_count() == frozen
    for number in range(garbage.MANY_MODULES):
        monkeypatch.setitem(sys.modules, f"of_pandas_{number}", gc)
    kept = allocate_much()
    collector.collect()
    assert gc.get_freeze_count() >= frozen + len(kept)
