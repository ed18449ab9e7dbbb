"""How long a second start takes until the window that is open has taken its file.

python -m pytest tests/bench/test_bench_second_start.py --benchmark-enable -s

Wall ms from the start of the process to its end, beside a bare start of the interpreter. With Xvfb
in a display of its own, else offscreen; the load of the machine is printed too. Asserted is only
that each start handed its file over.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.builders.bench_sizes import is_measured, rounds
from tests.gui.x_server import x_server
from viewer.resources import SAMPLES

pytestmark = pytest.mark.nightly

STARTS = rounds(20)
REST = 1.5 if is_measured() else 0.2  # s, in which the window that was asked for comes
FILE = str(SAMPLES[1].paths()[0])
OPSCOPE = [sys.executable, "-m", "viewer"]


@pytest.fixture
def environment(tmp_path):
    """That of a display of its own, in which no other program listens."""
    folder = tmp_path / "runtime"
    folder.mkdir(mode=0o700)
    made = {k: v for k, v in os.environ.items() if k not in ("WAYLAND_DISPLAY", "DISPLAY")}
    made |= {"XDG_RUNTIME_DIR": str(folder), "XDG_CONFIG_HOME": str(tmp_path)}
    made |= {"PYTHONPATH": os.pathsep.join(p for p in ("", *sys.path)), "TMPDIR": str(tmp_path)}
    if not shutil.which("Xvfb"):
        yield made | {"QT_QPA_PLATFORM": "offscreen"}
        return
    with x_server() as number:
        yield made | {"QT_QPA_PLATFORM": "xcb", "DISPLAY": number}


def taken(command, environment):
    """Wall seconds of a process, and of its work on a processor."""
    before, used = time.monotonic(), os.times()
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60)
    after = os.times()
    assert done.returncode == 0, done.stderr
    spent = after.children_user + after.children_system - used.children_user - used.children_system
    return time.monotonic() - before, spent


def test_a_second_start_beside_a_bare_interpreter(environment, tmp_path):
    first = subprocess.Popen([*OPSCOPE, FILE], env=environment, stderr=subprocess.DEVNULL)
    try:
        place = next(wait_for(tmp_path / "runtime"))
        time.sleep(2 * REST)
        figures = {"bare interpreter": [], "second start": []}
        load = os.getloadavg()[0]
        for turn in range(STARTS + 1):
            told = taken([sys.executable, "-c", "pass"], environment)
            handed = taken([*OPSCOPE, FILE], environment)
            assert first.poll() is None
            if turn:  # the first one writes bytecode
                figures["bare interpreter"].append(told)
                figures["second start"].append(handed)
            time.sleep(REST)
        assert place.exists()
    finally:
        first.terminate()
        first.wait(timeout=600)
    print(f"\n{STARTS} starts, load {load:.1f} before and {os.getloadavg()[0]:.1f} after")
    for what, times in figures.items():
        wall, cpu = (np.array(column) * 1e3 for column in zip(*times, strict=True))
        print(
            f"{what:18}: wall median {statistics.median(wall):.0f} ms, p95 "
            f"{np.percentile(wall, 95):.0f} ms; processor median {statistics.median(cpu):.0f} ms"
        )


def wait_for(folder):
    """The socket in a folder, once somebody listens there."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        yield from (p for p in folder.iterdir() if p.is_socket())
        time.sleep(0.05)
    raise AssertionError("no window came")
