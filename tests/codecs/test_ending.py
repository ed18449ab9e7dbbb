"""A signal ends a process with one line, wherever it is, and removes what is temporary."""

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
BEGIN = """
import os, signal, sys
from viewer.codecs.ending import end_at_signals, raised_at_signals
end_at_signals()
def signaled(*_):
    os.kill(os.getpid(), signal.{name})
"""
TEMPORARY = """
import contextlib, threading
from viewer.codecs.atomic_file import replacing
from viewer.codecs.temporary_folder import TemporaryFolder
def write_on():
    with TemporaryFolder() as inner, contextlib.suppress(OSError):
        number = 0
        while True:
            number += 1
            open(os.path.join(inner, str(number)), "w").close()
thread = threading.Thread(target=write_on, daemon=True)
thread.start()
with TemporaryFolder() as folder, replacing(sys.argv[1]) as file:
    file.write(b"half")
    signaled()
"""
IN_CALLBACK = """
import weakref
class Module: ...
module = Module()
kept = weakref.ref(module, signaled)  # an exception in it is printed, and dropped
del module
"""
AS_ERROR = """
try:
    signaled()
except BaseException as error:  # as C code that imports modules
    raise ImportError("another error") from error
"""
TWICE = """
with raised_at_signals():
    try:
        signaled()
    except KeyboardInterrupt:
        print("kept", flush=True)
        signaled()
"""


def ended(code, name, tmp_path, ignored=()):
    (tmp_path / "tmp").mkdir()
    program = subprocess.run(
        [sys.executable, "-c", BEGIN.format(name=name) + code, str(tmp_path / "out")],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True, text=True, timeout=60,
        preexec_fn=lambda: [
            signal.signal(one, signal.SIG_IGN if one in ignored else signal.default_int_handler)
            for one in NUMBERS
        ],
    )  # fmt: skip
    left = sorted(str(path) for path in tmp_path.rglob("*") if path.name != "tmp")
    return program.returncode, program.stdout, program.stderr, left


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("code", [TEMPORARY, IN_CALLBACK, AS_ERROR])
def test_a_signal_ends_with_one_line_and_leaves_nothing(number, code, tmp_path):
    what = "interrupted" if number == signal.SIGINT else f"ended by {number.name}"
    assert ended(code, number.name, tmp_path) == (128 + number, "", f"opscope: {what}\n", [])


@pytest.mark.slow
def test_a_signal_in_a_block_that_keeps_what_is_done_is_raised_once(tmp_path):
    code, out, err, _ = ended(TWICE, "SIGTERM", tmp_path)
    assert (code, out, err) == (143, "kept\n", "opscope: ended by SIGTERM\n")


@pytest.mark.slow
def test_a_signal_that_was_ignored_stays_ignored(tmp_path):
    code, out, err, _ = ended(
        "signaled(); print('on')", "SIGHUP", tmp_path, ignored=[signal.SIGHUP]
    )
    assert (code, out, err) == (0, "on\n", "")
