"""The nodes of an operator with their times, on the details card and in the panels around it."""

import numpy as np
import pytest

from viewer.gui.panels.base.slice_facts import slice_rows
from viewer.gui.panels.details.panel import node_rows
from viewer.gui.timeline.scene.texts import slice_lines
from viewer.model.times import plain_spaces
from viewer.model.trace import KeyKind

STEM = 16  # the debug handle of the first convolution


@pytest.fixture
def quantized(opened, data):
    return opened(data / "pte/quant_p.etdp", data / "pte/quant_p.etrecord").traces[0]


def kernel(shown, name):
    """The first slice of a kernel of the first convolution's handle."""
    keys = shown.trace.keys
    own = np.array([link.handles == (STEM,) for link in shown.table.links])
    named = np.array([name in text for text in shown.trace.strings])[keys.name]
    found = np.flatnonzero((own & named & (keys.kind == KeyKind.KERNEL))[shown.trace.slices.key])
    return int(found[0])


def test_each_node_of_an_operator_has_its_own_time(quantized):
    operator = quantized.table.program.methods[0].by_handle[STEM]
    costs = quantized.costs.table()
    rows = [tuple(map(plain_spaces, row)) for row in node_rows(quantized, operator, costs)]
    assert rows == [
        ("77.515 µs", "aten_convolution_default · 11.1 % · line 33"),
        ("1.883 µs", "quantized_decomposed_quantize_per_tensor_default_1 · 0.3 % · line 33"),
        ("521 ns", "quantized_decomposed_dequantize_per_tensor_default_1 · 0.1 %"),
    ]


def test_the_node_of_the_selected_slice_is_marked(quantized):
    operator = quantized.table.program.methods[0].by_handle[STEM]
    ran = quantized.link(kernel(quantized, "quantize_per_tensor")).nodes
    rows = node_rows(quantized, operator, quantized.costs.table(), ran)
    assert [text.endswith("this slice") for _, text in rows].count(True) == 1


def test_an_operator_of_one_node_has_no_list(quantized):
    operator = next(op for op in quantized.table.program.operators if len(op.nodes) == 1)
    assert node_rows(quantized, operator, quantized.costs.table()) == []


def test_a_slice_names_its_node_and_the_line_of_that_node(quantized):
    kernel_slice = kernel(quantized, "convolution")
    assert slice_rows(quantized, kernel_slice)["Node"] == "aten_convolution_default"
    assert "m.py:33 in forward" in slice_lines(quantized, kernel_slice)
    inserted = kernel(quantized, "dequantize_per_tensor")
    assert not any("m.py" in line for line in slice_lines(quantized, inserted))
