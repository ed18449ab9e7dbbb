"""Tables of large traces: Parquet beside pyarrow with three of its columns, and CSV; -s shows all.

Every export runs in turns with its floor. Nothing is asserted about time.
"""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.builders import bench_sizes, many_slices
from tests.builders.cpu_times import in_turns
from viewer.analysis.links.linker import unlinked
from viewer.export.table_files import write_table
from viewer.tables.slices import SliceTableSource, shared_slice_columns

pytestmark = pytest.mark.nightly

SLICES = bench_sizes.size(10_000_000, 50_000)
ROUNDS = bench_sizes.rounds(2)


def peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def test_parquet(tmp_path):
    trace = many_slices.trace(SLICES)
    processes = tuple(process for process, _ in many_slices.track_names())
    source = SliceTableSource(unlinked(trace), Fraction(1), 0, processes)
    slices = trace.slices
    names = pa.DictionaryArray.from_arrays(slices.name.astype(np.int32), list(trace.strings))
    three = pa.table({"start": slices.start, "dur": slices.end - slices.start, "name": names})
    before = peak_bytes()

    def ours(suffix: str) -> None:
        columns = shared_slice_columns(source)
        write_table(tmp_path / f"a{suffix}", tuple(columns), list(columns.values()))

    took = in_turns(
        {
            "Parquet": lambda: ours(".parquet"),
            "pyarrow": lambda: parquet.write_table(
                three, tmp_path / "b.parquet", compression="zstd"
            ),
        },
        ROUNDS,
    )
    more = peak_bytes() - before
    took |= in_turns({"CSV": lambda: ours(".csv")}, 1) if SLICES <= 1_000_000 else {}
    width = len(shared_slice_columns(source))
    for name, seconds in took.items():
        columns = 3 if name == "pyarrow" else width
        print(
            f"\n{name:>8}: {len(slices):,} rows, {columns:2} columns, {seconds:.2f} CPU s, "
            f"{len(slices) / seconds / 1e6:.2f} M rows/s",
            end="",
        )
    print(f"\nParquet: {more / 1e6:,.0f} MB of memory more at its peak")
    written = parquet.read_table(tmp_path / "a.parquet", columns=["start_ns", "dur_ns", "name"])
    assert len(written) == len(slices)
    total = int((slices.end - slices.start).sum())
    assert written.column("dur_ns").to_numpy().sum() == total
