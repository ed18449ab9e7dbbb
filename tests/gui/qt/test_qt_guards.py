"""What the installed Qt must not do: the tests that decide which PySide6 the project accepts."""

import sys

from PySide6.QtCore import QObject, Signal

EMITS = 200


class Bell(QObject):
    rung = Signal(int)


def test_emitting_a_signal_keeps_the_references_to_true_and_none() -> None:
    # PySide6 6.12.0 on Python <= 3.11 drops one reference to True an emit; after some hundred the
    # interpreter aborts. From Python 3.12 on both objects are immortal and nothing is lost.
    bell = Bell()
    before = sys.getrefcount(True), sys.getrefcount(None)
    for number in range(EMITS):
        bell.rung.emit(number)
    after = sys.getrefcount(True), sys.getrefcount(None)
    lost = [was - now for was, now in zip(before, after, strict=True)]
    assert max(lost) < EMITS // 4, f"references lost to True, None: {lost}"
