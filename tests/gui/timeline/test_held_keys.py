"""Held keys against a clock of the test's own: how far, how smooth, and when it stops."""

import math
from itertools import pairwise

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication

from viewer.gui.timeline.view import LONGEST_STEP_MS, HeldAxis, HeldKeys, HeldWay, traveled

Key = Qt.Key
IN, LATER = HeldWay(HeldAxis.ZOOM, -1), HeldWay(HeldAxis.PAN, 1)


class Hand:
    """Keys, a clock that stands until it is put on, and how far things moved."""

    def __init__(self):
        self.parent = QObject()
        self.keys = HeldKeys(self.parent)
        self.keys.clock = lambda: self.now
        self.now = 100.0
        self.moves = []
        self.keys.moved.connect(lambda axis, by, at: self.moves.append((axis, by)))

    def far(self, axis):
        return sum(by for moved, by in self.moves if moved is axis)

    def frames(self, *ms):
        for one in ms:
            self.now += one / 1000
            self.keys.step()


@pytest.fixture
def hand(qapp):
    made = Hand()
    yield made
    made.keys.release_all()


def perfetto(ms):
    """Units of the first speed after a time, frame by frame as Perfetto adds them: at 60 frames a
    second, each as much faster as its begin is late, in fine steps."""
    steps = 20_000
    return sum((1 + (n + 0.5) * ms / steps / 50) * (ms / steps) * 60 / 1000 for n in range(steps))


@pytest.mark.parametrize("ms", [0, 16, 100, 700, 1000, 3000])
def test_the_way_is_the_sum_of_a_speed_that_grows_by_itself_every_50_ms(ms):
    assert traveled(ms) == pytest.approx(perfetto(ms), rel=1e-6)


def test_the_first_step_is_at_once(hand):
    hand.keys.press(Key.Key_D, LATER)
    hand.keys.press(Key.Key_W, IN)
    assert hand.moves == [
        (HeldAxis.PAN, 50.0),
        (HeldAxis.ZOOM, pytest.approx(-math.log(1.1), abs=1e-5)),
    ]


@pytest.mark.parametrize("frames", [[8] * 50, [16] * 25, [40] * 10, [1, 39] * 10, [7] * 57 + [1]])
def test_how_far_it_goes_depends_on_the_time_alone(hand, frames):
    assert sum(frames) == 400
    hand.keys.press(Key.Key_D, LATER)
    hand.frames(*frames)
    assert hand.far(HeldAxis.PAN) == pytest.approx(50 + 8 * traveled(400))


def test_it_is_faster_the_longer_the_key_is_down(hand):
    hand.keys.press(Key.Key_W, IN)
    hand.frames(*[10] * 100)
    steps = [by for _, by in hand.moves[1:]]
    assert all(later < before < 0 for before, later in pairwise(steps))
    # In a second a view of an hour becomes one of some seconds.
    assert 100 < math.exp(-hand.far(HeldAxis.ZOOM)) < 1000


def test_a_program_that_stood_still_does_not_run_away(hand):
    hand.keys.press(Key.Key_D, LATER)
    hand.frames(10, 5_000, 10)
    assert hand.far(HeldAxis.PAN) == pytest.approx(50 + 8 * traveled(20 + LONGEST_STEP_MS))


def test_several_keys_move_at_a_time_and_each_until_it_is_up(hand):
    hand.keys.press(Key.Key_D, LATER)
    hand.frames(30)
    hand.keys.press(Key.Key_W, IN)
    hand.frames(30)
    hand.keys.release(Key.Key_D)
    far = hand.far(HeldAxis.PAN)
    hand.frames(30)
    assert hand.far(HeldAxis.PAN) == far == pytest.approx(50 + 8 * traveled(60))
    assert hand.keys.is_moving
    hand.keys.release(Key.Key_W)
    assert not hand.keys.is_moving


def test_both_ways_at_a_time_is_none(hand):
    hand.keys.press(Key.Key_D, LATER)
    hand.keys.press(Key.Key_A, HeldWay(HeldAxis.PAN, -1))
    hand.frames(20, 20)
    assert hand.far(HeldAxis.PAN) == pytest.approx(0)


def test_a_press_that_is_repeated_starts_nothing_anew(hand):
    hand.keys.press(Key.Key_D, LATER)
    hand.frames(40)
    hand.keys.press(Key.Key_D, LATER)
    hand.frames(40)
    assert hand.far(HeldAxis.PAN) == pytest.approx(50 + 8 * traveled(80))


def test_a_release_and_a_press_at_once_are_no_new_step(hand):
    """X11 sends them for every repeat, and Qt sometimes takes them for real."""
    hand.keys.press(Key.Key_D, LATER)
    hand.frames(*[20] * 20)
    hand.keys.release(Key.Key_D)
    hand.now += 0.02
    hand.keys.press(Key.Key_D, LATER)
    hand.frames(20)
    assert hand.far(HeldAxis.PAN) == pytest.approx(50 + 8 * traveled(440))
    hand.keys.release(Key.Key_D)
    hand.now += 0.1
    hand.keys.press(Key.Key_D, LATER)
    assert hand.far(HeldAxis.PAN) == pytest.approx(100 + 8 * traveled(440))


def test_a_key_of_another_script_stops_what_it_began(hand):
    """With a Cyrillic layout W is pressed, and Ц comes up."""
    hand.keys.press(Key.Key_W, IN)
    hand.keys.release(Key(ord("Ц")))
    assert not hand.keys.is_moving


def test_every_quick_tap_is_a_step(hand):
    for _ in range(5):
        hand.keys.press(Key.Key_D, LATER)
        hand.now += 0.001
        hand.keys.release(Key.Key_D)
    assert hand.far(HeldAxis.PAN) == 250


def test_a_sign_that_comes_up_under_another_name_stops(hand):
    """Ctrl++ is pressed with Shift; the key comes up as = if Shift was up before it."""
    hand.keys.press(Key.Key_Plus, IN)
    hand.keys.release(Key.Key_W)
    assert hand.keys.is_moving
    hand.keys.release(Key.Key_Equal)
    assert not hand.keys.is_moving


LEAVING = [QEvent.Type.FocusOut, QEvent.Type.WindowDeactivate, QEvent.Type.WindowBlocked]


@pytest.mark.parametrize("kind", LEAVING)
def test_it_stops_when_the_keyboard_goes_elsewhere(hand, kind):
    hand.keys.press(Key.Key_D, LATER)
    QApplication.sendEvent(hand.parent, QEvent(kind))
    assert not hand.keys.is_moving


def test_the_release_is_seen_wherever_it_goes_and_a_repeated_one_is_none(hand):
    hand.keys.press(Key.Key_D, LATER)
    for repeated in (True, False):
        assert hand.keys.is_moving
        QApplication.sendEvent(
            hand.parent,
            QKeyEvent(QEvent.Type.KeyRelease, Key.Key_D, Qt.KeyboardModifier(0), "d", repeated),
        )
    assert not hand.keys.is_moving


def test_a_tap_is_one_step_and_holds_nothing(hand):
    hand.keys.tap(HeldWay(HeldAxis.SCROLL, -1))
    assert hand.moves == [(HeldAxis.SCROLL, -60.0)]
    assert not hand.keys.is_moving
