"""The slices of the Python API beside the events of the official Inspector, and the time of both.

Run it with the Python that has executorch: `python -m pytest tests/peers/test_api.py -s`.
"""

from __future__ import annotations

import time
from collections import Counter

import pytest

import viewer
from tests.bench.test_bench_inspect import LOAD, RUNS, events
from tests.builders.etdump_writer import Run, write_dump
from tests.paths import DATA

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # importing torch warns of many things
]
# Measured: 46 times, and 25 on a busy machine.
TIMES_FASTER = 12


@pytest.fixture(scope="module")
def devtools():
    return pytest.importorskip("executorch.devtools", reason="the extra `peers` is missing")


def test_slices_have_the_times_of_the_inspector(devtools):
    path = str(DATA / "etdump" / "attn_portable_x5.etdp")
    ns = devtools.inspector.TimeScale.NS
    official = devtools.Inspector(etdump_path=path, source_time_scale=ns, target_time_scale=ns)
    wanted = Counter[str]()
    for block in official.event_blocks:
        for event in block.events:
            if event.perf_data is not None:
                wanted[event.name] += round(sum(event.perf_data.raw))
    slices = viewer.open(path).slices
    found = slices[~slices.derived].groupby("name", observed=True).dur_ns.sum()
    assert found.to_dict() == dict(wanted)


def test_a_large_dump_opens_faster_than_with_the_inspector(devtools, tmp_path):
    path = write_dump(
        tmp_path / "large.etdp",
        [Run(*LOAD), *(Run("Execute", events(number)) for number in range(RUNS))],
    )
    viewer.open(path).slices  # noqa: B018  imports what it needs
    began = time.perf_counter()
    profile = viewer.open(path)
    operators, slices = profile.operators, profile.slices
    ours = time.perf_counter() - began
    assert len(slices) == 216_452
    began = time.perf_counter()
    official = devtools.Inspector(etdump_path=str(path))
    for block in official.event_blocks:
        block.to_dataframe()
    theirs = time.perf_counter() - began
    print(
        f"\n216,452 events: Inspector {theirs:.2f} s, Opscope {ours:.3f} s, "
        f"{theirs / ours:.0f} times; {len(operators)} operators"
    )
    assert theirs >= TIMES_FASTER * ours
