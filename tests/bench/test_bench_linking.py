"""How long a dump of 60 000 distinct identities takes to be linked, next to reading it.

Prints only: `pytest tests/bench/test_bench_linking.py --benchmark-enable -s`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders.etdump_writer import Run, framework, operator, write_dump
from viewer.analysis.links.labels import slice_labels
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import link
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.formats.executorch.etdump import reader as etdump
from viewer.model.trace import Trace
from viewer.program.program import GraphNode, Method, Operator, Program

pytestmark = pytest.mark.nightly

INSTRUCTIONS, OPERATORS = 30_000, 3000  # a call and a kernel each


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    events = []
    for i in range(INSTRUCTIONS):
        events.append(operator("native_call_relu.out", i, 1000 * i + 100, 1000 * i + 800))
        events.append(operator("OPERATOR_CALL", i, 1000 * i, 1000 * i + 900))
    events.append(framework("Method::execute", 0, 1000 * INSTRUCTIONS))
    path = tmp_path_factory.mktemp("bench") / "dump.etdp"
    return write_dump(path, [Run("Execute", events)])


def read(path: Path) -> Trace:
    trace = etdump.FORMAT.read(str(path), no_progress, never_cancelled)
    assert isinstance(trace, Trace)
    return trace


@pytest.fixture(scope="module")
def program() -> Program:
    operators = tuple(
        Operator(i, "forward", i + 1, (GraphNode(f"relu_{i}", "aten.relu.default", i + 1),))
        for i in range(OPERATORS)
    )
    handles = {i: (i % OPERATORS + 1,) for i in range(INSTRUCTIONS)}
    return Program("m.etrecord", "ETRecord", "1.2+", (Method("forward", operators, handles),))


def test_floor_read_the_dump(benchmark, dump):
    assert len(benchmark(read, dump).keys) == 2 * INSTRUCTIONS + 1


def test_link_it(benchmark, dump, program):
    table = benchmark(link, read(dump), program)
    assert isinstance(table, LinkTable)
    assert sum(bool(x.operators) for x in table.links) == 2 * INSTRUCTIONS


def test_name_its_slices(benchmark, dump, program):
    codes, _ = benchmark(slice_labels, link(read(dump), program))
    assert len(codes) == 2 * INSTRUCTIONS + 1
