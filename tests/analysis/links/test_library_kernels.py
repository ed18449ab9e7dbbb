"""Kernels that EXECUTORCH_LIBRARY registers are linked like their OPERATOR_CALL."""

import numpy as np
import pytest

from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.linker import link
from viewer.formats import open_file
from viewer.model.recorded_names import is_library_kernel, kernel_operator
from viewer.model.trace import KeyKind


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("native_call_add.out", "add.out"),
        ("llama::custom_sdpa.out", "custom_sdpa.out"),
        ("native_call_quantized::add.out", "add.out"),
    ],
)
def test_a_kernels_operator_has_neither_prefix_nor_namespace(name, expected):
    assert kernel_operator(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llama::custom_sdpa.out", True),
        ("truth::mul3", True),
        ("Method::execute", False),
        ("at::native::addmm_kernel<float>", False),
        ("native_call_add.out", False),
        ("pack weights", False),
    ],
)
def test_only_an_operator_with_its_namespace_is_a_librarys_kernel(name, expected):
    assert is_library_kernel(name) is expected


@pytest.mark.parametrize(
    ("model", "kernel", "node"),
    [
        ("custom", "truth::mul3.out", "truth.mul3.default"),
        ("llama", "llama::custom_sdpa.out", "llama.custom_sdpa.default"),
    ],
)
def test_they_have_the_operator_of_their_call_and_its_time(data, model, kernel, node):
    trace, record = (
        open_file(str(data / "pte" / f"{model}.{end}")) for end in ("etdp", "etrecord")
    )
    table = link(trace, record)
    keys = trace.keys
    own = [
        key
        for key in np.flatnonzero(keys.kind == KeyKind.KERNEL).tolist()
        if trace.strings[int(keys.name[key])] == kernel
    ]
    assert own
    for key in own:
        (operator,) = table.operators(key)
        assert node in operator.ops
        call = (keys.kind == KeyKind.OPERATOR_CALL) & (keys.instruction == keys.instruction[key])
        assert [table.operators(k) for k in np.flatnonzero(call).tolist()] == [(operator,)]
    kernels = keys.kind[trace.slices.key] == KeyKind.KERNEL
    calls = keys.kind[trace.slices.key] == KeyKind.OPERATOR_CALL
    assert kernels.sum() == calls.sum()
    whole = sum(row.ticks for row in Costs(table).table().rows)
    assert whole == int((trace.slices.end - trace.slices.start)[calls].sum())
