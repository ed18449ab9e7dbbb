"""Freed memory goes back to the system, wherever the C library can be asked."""

import subprocess
import sys

import pytest

from viewer.formats.memory import release_freed, retain_freed, use_single_arena


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="other systems are not asked")
def test_freed_small_blocks_go_back():
    # Blocks that lie between others that stay: the C library keeps these by itself.
    kept = [bytearray(4000) for _ in range(30_000)]
    full = resident_bytes()
    last = kept[-1]
    del kept
    release_freed()
    assert resident_bytes() < full - 60_000_000
    assert len(last) == 4000


@pytest.mark.skipif(sys.platform != "linux", reason="other systems are not asked")
def test_what_is_kept_for_the_next_block_goes_back_afterwards():
    retain_freed()
    block = bytearray(20_000_000)
    block[:] = b"x" * len(block)
    full = resident_bytes()
    del block
    release_freed()
    assert resident_bytes() < full - 15_000_000


_IN_A_THREAD = """
import sys
from threading import Thread
from viewer.formats.memory import release_freed, retain_freed, use_single_arena

def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

def blocks():
    held = [bytearray(b"x" * 10_000_000) for _ in range(4)]
    del held
    release_freed()

use_single_arena()
before = resident_bytes()
retain_freed()
for _ in range(3):
    reader = Thread(target=blocks)
    reader.start()
    reader.join()
print(resident_bytes() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems are not asked")
def test_what_threads_have_freed_goes_back_too():
    found = subprocess.run(
        [sys.executable, "-c", _IN_A_THREAD], capture_output=True, check=True, timeout=60
    )
    assert int(found.stdout) < 5_000_000


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_elsewhere_nothing_happens(monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform)
    use_single_arena()
    retain_freed()
    release_freed()
