"""Questions of panels: the latest answer wins, and an old one is never shown as new."""

import gc
import os
import sys
import threading
import weakref

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QObject, QThread
from PySide6.QtWidgets import QWidget

from viewer.gui.qt import background
from viewer.gui.qt.background import GuiOwner, Latest

pytestmark = pytest.mark.usefixtures("fresh_places")


class Heard(QObject):
    def __init__(self, latest):
        super().__init__()
        self.answers = []
        self.threads = set()
        latest.answered.connect(self.answered)

    def answered(self, answer):
        self.answers.append(answer)
        self.threads.add(QThread.currentThread())


def test_an_answer_is_computed_elsewhere_and_told_on_the_gui_thread(qtbot):
    latest = Latest()
    heard = Heard(latest)
    with qtbot.waitSignal(latest.answered):
        latest.submit(lambda a, b: (a + b, threading.current_thread()), 2, 3)
        assert latest.pending
    total, thread = heard.answers[0]
    assert total == 5
    assert thread is not threading.current_thread()
    assert heard.threads == {latest.thread()}
    assert not latest.pending


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a priority of a thread")
def test_frames_come_before_answers(qtbot):
    def priorities():
        priority = [os.getpriority(os.PRIO_PROCESS, 0)]
        child = threading.Thread(target=lambda: priority.append(os.getpriority(os.PRIO_PROCESS, 0)))
        child.start()
        child.join(timeout=60)
        return priority

    before = priorities()[0]
    latest = Latest()
    heard = Heard(latest)
    with qtbot.waitSignal(latest.answered):
        latest.submit(priorities)
    assert heard.answers == [[min(before + 5, 19)] * 2]
    assert priorities() == [before] * 2


def test_only_the_latest_of_many_questions_is_answered(qtbot):
    gate = threading.Event()
    asked = []

    def question(number):
        asked.append(number)
        gate.wait(timeout=60)
        return number

    latest = Latest()
    heard = Heard(latest)
    with qtbot.waitSignal(latest.answered):
        for number in range(50):
            latest.submit(question, number)
        gate.set()
    assert heard.answers == [49]
    # Those that had not begun were never worked on.
    assert len(asked) <= background.AT_ONCE + 1


def test_a_slow_old_question_does_not_hold_up_the_latest(qtbot):
    gate = threading.Event()
    latest = Latest()
    heard = Heard(latest)
    latest.submit(gate.wait)
    with qtbot.waitSignal(latest.answered):
        latest.submit(lambda: "new")
    assert heard.answers == ["new"]
    gate.set()
    latest.shutdown()
    assert heard.answers == ["new"]


class Gated:
    """Questions that wait for their gate, and the order in which they began."""

    def __init__(self):
        self.began, self.gates = [], {}

    def ask(self, latest, name):
        self.gates[name] = threading.Event()
        latest.submit(self._answer, name)

    def _answer(self, name):
        self.began.append(name)
        self.gates[name].wait(timeout=60)
        return name


def panel_in_turn(qtbot, *, visible=True, takes_long=False):
    panel = QWidget()
    qtbot.addWidget(panel)
    if visible:
        panel.show()
    panel.latest = Latest(panel, in_turn=True)
    panel.latest.takes_long = takes_long
    return panel


def test_questions_in_turn_run_one_at_a_time_those_of_visible_panels_first(qtbot):
    gated = Gated()
    asked = {
        "first": panel_in_turn(qtbot),
        "hidden": panel_in_turn(qtbot, visible=False),
        "long": panel_in_turn(qtbot, takes_long=True),
        "visible": panel_in_turn(qtbot),
        "last": panel_in_turn(qtbot),
    }
    for name, panel in asked.items():
        gated.ask(panel.latest, name)
    order = ["first", "visible", "last", "long", "hidden"]
    for number, name in enumerate(order, 1):
        qtbot.waitUntil(lambda number=number: len(gated.began) == number)
        assert gated.began == order[:number]
        assert all(asked[other].latest.pending for other in order[number - 1 :])
        with qtbot.waitSignal(asked[name].latest.answered):
            gated.gates[name].set()


def test_a_question_that_takes_long_holds_up_no_other(qtbot):
    gated = Gated()
    panels = {"long": panel_in_turn(qtbot, takes_long=True), "other": panel_in_turn(qtbot)}
    for name, panel in panels.items():
        gated.ask(panel.latest, name)
    qtbot.waitUntil(lambda: gated.began == ["long", "other"])
    for gate in gated.gates.values():
        gate.set()
    qtbot.waitUntil(lambda: not any(panel.latest.pending for panel in panels.values()))


def test_a_question_waits_for_none_that_is_outdated_taken_back_gone_or_hidden_by_now(qtbot):
    gated = Gated()
    panels = [panel_in_turn(qtbot) for _ in range(5)]
    for number, panel in enumerate(panels):
        gated.ask(panel.latest, number)
    qtbot.waitUntil(lambda: gated.began == [0])
    gated.ask(panels[0].latest, "newer")  # after those that wait already
    qtbot.waitUntil(lambda: gated.began == [0, 1])
    panels[1].latest.cancel()
    qtbot.waitUntil(lambda: gated.began == [0, 1, 2])
    panels[2].hide()
    background._queue.start()  # as anything that is asked does
    qtbot.waitUntil(lambda: gated.began == [0, 1, 2, 3])
    shiboken6.delete(panels[3])
    gated.gates[3].set()
    qtbot.waitUntil(lambda: gated.began == [0, 1, 2, 3, 4])
    gated.gates[4].set()
    qtbot.waitUntil(lambda: gated.began[-1] == "newer")
    for gate in gated.gates.values():
        gate.set()
    qtbot.waitUntil(lambda: not panels[0].latest.pending)


def test_late_is_told_while_the_old_figures_stand(qtbot):
    gate = threading.Event()
    latest = Latest()
    heard = Heard(latest)
    with qtbot.waitSignal(latest.late):
        latest.submit(gate.wait)
    assert latest.pending
    assert heard.answers == []
    with qtbot.waitSignal(latest.answered):
        gate.set()


def test_late_is_not_put_off_by_new_questions(qtbot):
    gate = threading.Event()
    latest = Latest()
    latest.submit(gate.wait)
    latest._clock.stop()
    latest.submit(gate.wait)
    # The clock of the first question is the one that counts; a second one starts none.
    assert not latest._clock.isActive()
    with qtbot.waitSignal(latest.answered):
        gate.set()


def test_an_answer_in_time_is_not_late(qtbot):
    latest = Latest()
    latest._clock.setInterval(20_000)
    with qtbot.assertNotEmitted(latest.late), qtbot.waitSignal(latest.answered):
        latest.submit(lambda: 1)
    assert not latest._clock.isActive()


def test_a_failure_is_told_as_a_sentence_and_reported(qtbot, capsys):
    latest = Latest()
    with qtbot.waitSignal(latest.failed) as told:
        latest.submit(lambda: 1 // 0)
    assert told.args[0].startswith("This could not be computed (ZeroDivisionError")
    assert "ZeroDivisionError" in capsys.readouterr().err
    with qtbot.waitSignal(latest.answered):
        latest.submit(lambda: "goes on")


def test_a_question_that_is_taken_back_is_not_answered(qtbot):
    gate = threading.Event()
    latest = Latest()
    heard = Heard(latest)
    latest.submit(gate.wait)
    latest.cancel()
    assert not latest.pending
    gate.set()
    with qtbot.waitSignal(latest.answered):
        latest.submit(lambda: "next")
    assert heard.answers == ["next"]


def test_nothing_is_told_after_shutdown(qtbot, monkeypatch):
    monkeypatch.setattr(background, "_QUIT_SECONDS", 0.02)
    gate = threading.Event()
    latest = Latest()
    heard = Heard(latest)
    latest.submit(gate.wait)
    latest.shutdown()
    gate.set()
    latest.submit(lambda: "too late")
    QCoreApplication.processEvents()
    assert heard.answers == []
    assert not latest.pending


def test_an_answer_apart_is_told_to_be_coming_and_then_has_a_turn_for_itself(qtbot):
    latest = Latest(apart=True)
    heard = Heard(latest)
    told = []
    latest.about_to_answer.connect(lambda: told.append((latest.pending, list(heard.answers))))
    with qtbot.waitSignal(latest.answered):
        latest.submit(lambda: 5)
    assert told == [(True, [])]
    assert heard.answers == [5]
    assert not latest.pending


def test_a_small_question_is_answered_at_once_and_takes_back_a_large_one(qtbot):
    latest, gate = Latest(), threading.Event()
    heard = Heard(latest)
    latest.ask(False, gate.wait)
    assert latest.pending
    latest.ask(True, lambda a, b: a + b, 2, 3)
    assert (heard.answers, latest.pending) == ([5], False)
    gate.set()
    with qtbot.waitSignal(latest.answered):
        latest.ask(False, lambda: 7)
    assert heard.answers == [5, 7]


def test_of_a_fault_nothing_is_coming(qtbot, fresh_places):
    latest = Latest(apart=True)
    with qtbot.assertNotEmitted(latest.about_to_answer), qtbot.waitSignal(latest.failed):
        latest.submit(lambda: 1 // 0)


def test_an_answer_apart_can_be_taken_back_while_it_is_coming(qtbot):
    latest = Latest(apart=True)
    heard = Heard(latest)
    latest.about_to_answer.connect(latest.cancel)
    with qtbot.waitSignal(latest.about_to_answer):
        latest.submit(lambda: 5)
    assert not latest.pending
    with qtbot.waitSignal(latest.about_to_answer):
        latest.submit(lambda: 6)
    assert heard.answers == []
    latest.about_to_answer.disconnect(latest.cancel)
    with qtbot.waitSignal(latest.answered):
        latest.submit(lambda: 7)
    assert heard.answers == [7]


class GuiListener(QObject):
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
def listener(qapp):
    return GuiListener()


def test_calls_arrive_in_order_on_the_gui_thread(listener, qtbot):
    owner = GuiOwner(listener)
    from_worker(lambda: [owner.call("tell", n, f"text {n}") for n in range(100)])
    assert listener.told == []
    qtbot.waitUntil(lambda: len(listener.told) == 100)
    assert listener.told == [(n, f"text {n}", True) for n in range(100)]


def test_a_call_from_the_gui_thread_waits_for_the_loop_too(listener, qtbot):
    GuiOwner(listener).call("tell", 1)
    assert listener.told == []
    qtbot.waitUntil(lambda: listener.told == [(1, True)])


def test_a_worker_does_not_keep_its_owner_alive(qapp):
    listener = GuiListener()
    gone = weakref.ref(listener)
    owner = GuiOwner(listener)
    from_worker(lambda: owner.call("tell", 1))
    del listener
    gc.collect()
    assert gone() is None
    QCoreApplication.processEvents()


def test_nothing_is_told_to_an_owner_whose_qt_side_is_gone(listener):
    owner = GuiOwner(listener)
    from_worker(lambda: owner.call("tell", 1))
    shiboken6.delete(listener)
    QCoreApplication.processEvents()
    assert listener.told == []
