"""Programs: their output is bounded, and nothing of them is left."""

import os
import sys
import time

import pytest

from viewer.recording.process import (
    MOST_AT_END,
    MOST_AT_START,
    Command,
    NoProgram,
    program_path,
    run_command,
)

pytestmark = pytest.mark.slow


def never():
    return False


def run(code, timeout=20.0, is_stopped=never, **environment):
    command = Command((sys.executable, "-c", code), timeout, environment)
    return run_command(command, is_stopped)


def test_both_streams_and_the_code():
    ended = run("import os, sys; print(os.environ['X']); sys.stderr.write('e\\xff'); sys.exit(7)",
                X="a b")  # fmt: skip
    assert ended.code == 7
    assert ended.how == "exit code 7"
    assert "a b" in ended.output


def test_nothing_is_read_from_this_input():
    assert run("import sys; print(len(sys.stdin.read()))").output.strip() == "0"


def test_bytes_that_are_no_text():
    assert run("import os; os.write(1, b'\\xff\\r\\n')").output == "\ufffd\n"


def test_a_signal_is_named():
    assert run("import os; os.kill(os.getpid(), 11)").how == "ended by SIGSEGV"


def test_output_is_cut_in_its_middle():
    ended = run(f"import os\nfor i in range(90): os.write(1, bytes([65 + i % 26]) * {1 << 17})")
    assert ended.code == 0
    assert ended.dropped > 0
    assert len(ended.output) < MOST_AT_START + MOST_AT_END + (1 << 17)
    assert ended.output.startswith("A")
    assert ended.output.endswith(chr(65 + 89 % 26))
    assert "bytes left out" in ended.output


GROUP = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
print(child.pid, flush=True)
time.sleep(100)
"""


def has_ended(pid):
    """Whether a process is gone soon: it was killed, but nobody waits for it."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_a_deadline_ends_the_whole_group():
    start = time.monotonic()
    ended = run(GROUP, timeout=1.0)
    assert time.monotonic() - start < 10
    assert ended.is_late
    assert ended.code is None
    assert has_ended(int(ended.output))


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_what_a_program_leaves_behind_is_ended():
    code = (
        "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', "
        "'import time; time.sleep(100)']).pid)"
    )
    ended = run(code)
    assert ended.code == 0
    assert has_ended(int(ended.output))


def test_a_stop_is_no_failure_of_the_program():
    start = time.monotonic()
    ended = run("import time; time.sleep(100)", is_stopped=lambda: time.monotonic() - start > 0.3)
    assert ended.is_stopped
    assert not ended.is_late
    assert ended.how == "stopped"


def test_what_cannot_be_started(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("x")
    for name in (str(plain), str(tmp_path / "none"), "a\0b"):
        with pytest.raises(NoProgram):
            run_command(Command((name,), 1.0), never)
    with pytest.raises(NoProgram, match="no program no-such"):
        program_path("no-such")
    assert os.path.isabs(program_path(sys.executable))


def test_a_command_as_a_shell_reads_it():
    assert Command(("a b", "it's"), 1, {"X": "$y"}).text == "X='$y' 'a b' 'it'\"'\"'s'"
