"""The memory plan of large programs, next to reading nothing but their instructions.

python -m pytest tests/bench/test_bench_memory.py --benchmark-enable -s

Prints CPU seconds; nothing is asserted about time.
"""

import time

import numpy as np
import pytest

from tests.builders.bench_sizes import size
from tests.builders.planned_methods import kernel, planned_method
from viewer.analysis.memory.plan import memory_plan
from viewer.gui.panels.memory.answer import MemoryMode, MemoryQuestion, rows_of, work_out
from viewer.program.executables import Executable
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.nightly

COUNT = size(5_000, 500)


def chain(count, window):
    """Kernels that each read two of the last tensors; every tenth reads a view of the last one."""
    dice = np.random.default_rng(1)
    places = [(int(dice.integers(0, window)) * 64, 64) for _ in range(count + 1)]
    instructions = []
    for i in range(1, count + 1):
        before = int(dice.integers(max(i - window, 0), i))
        if i % 10 == 0:
            places.append(places[i - 1])
            instructions.append(kernel(len(places) - 1, before, i))
        else:
            instructions.append(kernel(i - 1, before, i))
    return planned_method(places, *instructions, inputs=[0], arena=64 * (window + 1))


@pytest.mark.parametrize("window", [8, 200])
def test_a_large_program_is_planned(window):
    method = chain(COUNT, window)
    began = time.process_time()
    for instruction in method.instructions:
        _ = [method.lists.get(value, (value,)) for value in instruction.values]
    floor = time.process_time() - began
    began = time.process_time()
    plan = memory_plan(method)
    took = time.process_time() - began
    print(f"\n{COUNT} instructions, {len(plan.storages)} storages, up to {window} alive: "
          f"{took:.3f} s; a loop over all values {floor:.4f} s")  # fmt: skip
    assert plan.peak > 0


def test_a_panel_of_a_large_program_is_filled():
    method, space = chain(COUNT, 200), Workspace()
    program = Executable("a.pte", "ExecuTorch program", "", (method,), (), 1)
    space.add(program)
    began = time.process_time()
    answer = work_out(MemoryQuestion(space, program, method, None, None, warm_up=False))
    rows = rows_of(answer, MemoryMode.TENSORS)
    colors = rows.colors(answer.colors(None))
    print(f"\n{COUNT} instructions: plan, texts and colors {time.process_time() - began:.3f} s")
    assert len(rows.contents.rows) == len(colors) == len(answer.plan.storages)
