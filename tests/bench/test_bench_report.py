"""How long a report of a large trace takes, next to an export to Perfetto; -s shows the figures."""

import time

import pytest

from tests.builders import bench_sizes, many_slices
from tests.builders.workspaces import export
from viewer.formats import open_file
from viewer.html_report.contents import MOST_BYTES
from viewer.html_report.report import write_report
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.nightly

SLICES = bench_sizes.size(1_000_000, 100_000, "OPSCOPE_BENCH_SLICES")


def test_a_report_of_a_large_trace_is_small(tmp_path):
    workspace = Workspace()
    workspace.add(many_slices.trace(SLICES))
    path = tmp_path / "report.html"
    start = time.perf_counter(), time.process_time()
    written = write_report(workspace, path)
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    start = time.perf_counter(), time.process_time()
    export(workspace, str(tmp_path / "out.pftrace"))
    other, other_cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    size = (tmp_path / "out.pftrace").stat().st_size
    again = time.perf_counter()
    found = open_file(str(path))
    again = time.perf_counter() - again
    print(
        f"\n{written.slices:,} slices: report {written.size:,} bytes with {written.exact:,} slices "
        f"in {wall:.2f} s ({cpu:.2f} s of CPU), Perfetto trace {size:,} bytes in {other:.2f} s "
        f"({other_cpu:.2f} s of CPU), report opened again in {again:.2f} s"
    )
    assert written.size <= MOST_BYTES
    assert len(found.slices) == written.exact
