"""What opening a trace in the window takes until nothing computes any more, of 10^5 to 10^7 slices.

OPSCOPE_BENCH_SLICES=10000000 python -m pytest \
    tests/bench/test_bench_opened_window.py --benchmark-enable -s

Each size is opened in a process of its own, and once more with the wheel turned meanwhile. Nothing
is asserted about time or memory.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import growth
from tests.builders.bench_sizes import size
from tests.paths import ROOT

pytestmark = pytest.mark.nightly

MOST = size(1_000_000, 10_000, "OPSCOPE_BENCH_SLICES")


def opened(path: Path, folder: Path, *wheel: str) -> dict:
    command = [sys.executable, "-m", "tests.bench.opened_window", str(path), str(folder), *wheel]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_a_window_until_it_is_quiet(tmp_path):
    counts = [count for count in (10**5, 10**6, 10**7) if count <= MOST] or [MOST]
    print(f"\n{'slices':>12}{'first CPU s':>13}{'CPU s':>8}{'peak MB':>9}{'held MB':>9}"
          f"{'B a slice':>11}{'wheel p50, p95 ms':>20}")  # fmt: skip
    for count in counts:
        path = tmp_path / "many.pftrace"
        growth.write_input(growth.PERFETTO, path, count)
        still = opened(path, tmp_path)
        turns = sorted(opened(path, tmp_path, "wheel")["turns"])
        p50, p95 = (turns[int(len(turns) * part)] * 1e3 if turns else 0 for part in (0.5, 0.95))
        grown = (still["held"] - still["first_held"]) / still["slices"]
        print(f"{still['slices']:12,}{still['first_cpu']:13.2f}{still['cpu']:8.2f}"
              f"{still['peak'] / 1e6:9,.0f}{still['held'] / 1e6:9,.0f}{grown:11.0f}"
              f"{p50:13.1f}{p95:7.1f}")  # fmt: skip
        assert still["slices"] >= count * 0.9
        assert still["cpu"] >= still["first_cpu"]
