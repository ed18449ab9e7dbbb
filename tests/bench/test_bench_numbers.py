"""The memory and the time of reading a large debug buffer, next to reading its bytes.

python -m pytest tests/bench/test_bench_numbers.py --benchmark-enable -s

The buffer is sparse: 1 GB of 16 tensors. Prints the largest resident size of a process that prints
its values, and of one that compares it with itself, beside one that reads a small buffer.
"""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.builders.bench_sizes import size
from tests.builders.etdump_writer import F32, Run, Tensor, framework, operator, write_dump

pytestmark = pytest.mark.nightly

WHOLE = size(1 << 30, 1 << 24)
TENSORS = 16
MOST = 200 << 20
# Not ru_maxrss: it is at least the size of the process that started this one.
_RUN = """
import sys
from viewer.cli import main
code = main(sys.argv[1:])
(most,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(code, int(most) * 1024, file=sys.stderr)
"""


def recorded(folder: Path, name: str, whole: int) -> Path:
    each = whole // TENSORS
    events = []
    for i in range(TENSORS):
        events += [
            {"debug": Tensor(F32, (each // 4096, 1024), i * each), "instruction": i},
            operator("OPERATOR_CALL", i, 10 * i, 10 * i + 5),
        ]
    events.append(framework("Method::execute", 0, 1000))
    path = write_dump(folder / f"{name}.etdp", [Run("Execute", events)])
    with open(folder / f"{name}.bin", "wb") as file:
        file.truncate(whole)
    return path


def most_resident(*arguments: str) -> tuple[int, float]:
    """The largest resident size of a command in bytes, and its seconds."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _RUN, "numbers", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    code, resident = done.stderr.split()
    assert code == "0"
    return int(resident), time.monotonic() - began


@pytest.mark.skipif(sys.platform != "linux", reason="sizes as Linux states them")
def test_a_large_buffer_takes_little_memory(tmp_path):
    small, _ = most_resident(str(recorded(tmp_path, "small", TENSORS * 4096)))
    path = str(recorded(tmp_path, "large", WHOLE))
    began = time.monotonic()
    with open(path.replace(".etdp", ".bin"), "rb") as file:
        while file.read(1 << 20):
            pass
    floor = time.monotonic() - began
    print(f"\n{WHOLE / 1e6:.0f} MB: reading the bytes {floor:.1f} s; small {small / 1e6:.0f} MB")
    for what, arguments in (("values", [path]), ("gap", [path, "--with", path])):
        resident, seconds = most_resident(*arguments)
        print(f"{what}: at most {resident / 1e6:.0f} MB resident, {seconds:.1f} s")
        assert resident < MOST
