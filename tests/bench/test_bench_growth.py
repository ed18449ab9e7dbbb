"""How time and memory grow with a trace, from 10,000 to 10 million slices.

OPSCOPE_BENCH_GROWTH=10000000 python -m pytest \
    tests/bench/test_bench_growth.py --benchmark-enable -s

Every work runs in a process of its own. Prints a table, and draws the picture of viewer/README.md
into OPSCOPE_PICTURES, if that is set. Nothing is asserted about time.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import growth
from tests.builders.bench_sizes import size
from tests.paths import ROOT

pytestmark = pytest.mark.nightly

MOST = size(1_000_000, 10_000, "OPSCOPE_BENCH_GROWTH")


def measured(work: str, count: int, path: Path) -> growth.Measured:
    command = [sys.executable, "-m", "tests.bench.growth", work, str(count), str(path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600
    )
    return growth.Measured(**json.loads(done.stdout))


def test_growth(tmp_path):
    counts = [count for count in (10**4, 10**5, 10**6, 10**7) if count <= MOST]
    found = []
    for work in growth.WORKS:
        for count in counts:
            if work == growth.PYTORCH and count > growth.MOST_JSON:
                continue
            path = tmp_path / f"input{growth.SUFFIXES.get(work, '.pftrace')}"
            if work in growth.SUFFIXES:
                growth.write_input(work, path, count)
            found.append(measured(work, count, path))
            path.unlink(missing_ok=True)
    print(f"\n{'':>22}{'slices':>12}{'seconds':>10}{'CPU s':>8}{'peak MB':>9}{'M/s':>7}")
    for one in found:
        print(
            f"{one.work:>22}{one.slices:12,}{one.wall:10.3f}{one.cpu:8.2f}"
            f"{one.peak / 1e6:9,.0f}{one.slices / one.wall / 1e6:7.2f}"
        )
    drawn = growth.picture(found)
    assert drawn.count("<polyline") == len(growth.WORKS) + len(growth.SUFFIXES)
    if folder := os.environ.get("OPSCOPE_PICTURES"):
        (Path(folder) / "growth.svg").write_text(drawn, encoding="utf-8")
