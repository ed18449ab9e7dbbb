"""Signals end the program in order: its work is done in the event loop, and the code is known."""

import os
import signal
import subprocess
import sys

import pytest

# Waits in Qt's event loop, without a timer that would run Python.
PROGRAM = """
import sys
from PySide6.QtCore import QCoreApplication, QTimer
from viewer.gui.app.windows import ExitSignals
app = QCoreApplication([])
signals = ExitSignals(app)
signals.received.connect(lambda: print("received", flush=True))
QTimer.singleShot(0, lambda: print("ready", flush=True))
app.exec()
{after}
sys.exit(signals.exit_code)
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


def start(after="", ignored=()):
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(after=after)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        preexec_fn=lambda: [
            # The tests themselves may run under nohup.
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        ],
    )  # fmt: skip
    assert program.stdout.readline() == "ready\n"
    return program


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_event_loop(number):
    with start() as program:
        program.send_signal(number)
        assert program.communicate(timeout=60)[0] == "received\n"
    assert program.returncode == 128 + number


@pytest.mark.slow
def test_a_signal_that_was_ignored_stays_ignored():
    """As with `nohup opscope`. Both signals are pending at once; SIGHUP has the lower number."""
    with start(ignored=[signal.SIGHUP]) as program:
        program.send_signal(signal.SIGSTOP)
        program.send_signal(signal.SIGHUP)
        program.send_signal(signal.SIGTERM)
        program.send_signal(signal.SIGCONT)
        program.communicate(timeout=60)
    assert program.returncode == 128 + signal.SIGTERM


@pytest.mark.slow
def test_a_second_signal_ends_a_program_that_hangs():
    with start(after="print('hangs', flush=True); sys.stdin.read()") as program:
        program.send_signal(signal.SIGTERM)
        assert [program.stdout.readline() for _ in range(2)] == ["received\n", "hangs\n"]
        program.send_signal(signal.SIGTERM)
        program.wait(60)
    assert program.returncode == -signal.SIGTERM
