"""Pairs of a profile and its record, and what single slices say of their delegates."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tests.paths import DATA
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.links.linker import link, unlinked
from viewer.formats import open_file
from viewer.model.trace import KeyKind, Trace

SAMPLES = DATA.parent.parent / "resources" / "samples"

DUMPS = [
    ("etdump/attn_xnnpack_x5.etdp", "attention_xnnpack/attn_teal_xnnpack.etrecord"),
    ("etdump/demo_str_x4.etdp", "etrecord/demo_str.etrecord"),
    ("etdump/demo_manual_int_x4.etdp", "etrecord/demo_manual_int.etrecord"),
    ("etdump/demo_generated_int_x4.etdp", "etrecord/demo_generated_int.etrecord"),
    ("etdump/cnn_xnnpack3_x5.etdp", "etrecord/cnn_standalone_after_tobackend.etrecord"),
    ("etdump/cnn_xnnpack_x10.etdp", None),
    ("etdump/cnn_portable_x10.etdp", "etrecord/cnn_toedge_portable.etrecord"),
    ("etdump/cond_portable_x5.etdp", "etrecord/cond_toedge_portable.etrecord"),
    ("etdump/multi_forward_decode_converts_x3.etdp",
     "etrecord/multi_forward_decode_teal_xnnpack.etrecord"),
    ("etdump/demo_str_x4.etdp", "etrecord/demo_generated_int.etrecord"),
    ("etdump/SYN_qnn_like.etdp", "etrecord/demo_str.etrecord"),
]  # fmt: skip
OTHERS = [
    ("torq/host_h4_latest.csv", "torq/tiny_cnn.mlir"),
    ("torq/compile_c3_taskid.csv", "torq/tiny_cnn.mlir"),
    ("table_csv/two_threads.csv", None),
]


def linked(profile: str, program: str | None) -> LinkTable:
    """A profile of tests/data linked to a record or text, right or wrong, or to none."""
    trace = open_file(str(DATA / profile))
    if program is None:
        return unlinked(trace)
    path = DATA / program
    return link(trace, open_file(str(path if path.exists() else SAMPLES / program)))


def name_of(pair) -> str:
    return pair[0].rpartition("/")[2]


def spans(trace: Trace, *kinds: KeyKind, instruction: int | None = None) -> list[tuple[int, int]]:
    """Start and end of every slice of some kinds, those on a clock of their own left out."""
    native = trace.slices.columns.get("native_dur")
    return [
        (int(trace.slices.start[i]), int(trace.slices.end[i]))
        for i, key in enumerate(trace.slices.key.tolist())
        if trace.keys.kind[key] in kinds
        and (native is None or native.value(i) is None)
        and (instruction is None or trace.keys.instruction[key] == instruction)
    ]


def within(spans: list[tuple[int, int]], first: int, last: int) -> int:
    """How many ticks of [first, last] lie in any of some spans, counted once."""
    total, reach = 0, first
    for start, end in sorted(spans):
        low, high = max(start, reach), min(end, last)
        total += max(high - low, 0)
        reach = max(reach, high)
    return total


def ranges(trace: Trace) -> Iterator[tuple[int, int]]:
    """The whole trace, every run of it, and pieces that cut through calls."""
    yield trace.start, trace.end
    for run in trace.runs:
        yield run.start, run.end
    cuts = np.linspace(trace.start, trace.end, 8).astype(int).tolist()
    yield from pairwise(cuts)
