"""The parts of a program file with many constants, next to reading its instructions and tensors.

python -m pytest tests/bench/test_bench_sizes.py --benchmark-enable -s

Prints CPU seconds; nothing is asserted about time.
"""

import time

import numpy as np
import pytest

from tests.builders.bench_sizes import size
from tests.builders.pte_writer import KERNEL, Method, write_program
from viewer.analysis.program_differences import program_differences
from viewer.analysis.sizes.file_parts import file_parts
from viewer.analysis.sizes.groups import duplicates
from viewer.formats import open_file

pytestmark = pytest.mark.nightly

COUNT = size(20_000, 500)
BYTES = 1024


def timed(work, *given):
    began = time.process_time()
    found = work(*given)
    return found, time.process_time() - began


def test_many_constants_of_one_size(tmp_path):
    data = np.random.default_rng(0).integers(0, 256, COUNT * BYTES, np.uint8).tobytes()
    method = Method(
        instructions=[(KERNEL, 0, [i]) for i in range(COUNT)],
        tensors=[(6, [BYTES // 4], None, i + 1) for i in range(COUNT)],
    )
    path = write_program(
        tmp_path / "a.pte", method, segments=[data],
        constant_segment=(0, [0, *range(0, COUNT * BYTES, BYTES)]),
    )  # fmt: skip
    executable, opened = timed(open_file, str(path))
    parts, split = timed(file_parts, executable)
    same, compared = timed(duplicates, parts)
    _, differed = timed(program_differences, parts, parts)
    print(f"\n{COUNT} constants: open {opened:.3f} s, parts {split:.3f} s, equal parts "
          f"{compared:.3f} s, difference {differed:.3f} s")  # fmt: skip
    assert len(parts.parts) >= COUNT
    assert same.groups == ()
