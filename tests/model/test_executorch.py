"""Names of events: which ones XNNPACK logged, and the operators in them."""

from __future__ import annotations

import pytest

from viewer.model.recorded_names import xnnpack_operator


@pytest.mark.parametrize(
    ("event", "operator"),
    [
        ("Convolution (NHWC, F32) IGEMM #1", "Convolution"),
        ("Fully Connected (NC, QD8, F32, QC4W) GEMM #12", "Fully Connected"),
        ("Static Reshape (NC) #3", "Static Reshape"),
        ("Mean (ND) Reduce2 #1", "Mean"),
        ("GELU (NC) #20", "GELU"),
    ],
)
def test_an_event_of_xnnpack_names_its_operator(event: str, operator: str) -> None:
    assert xnnpack_operator(event) == operator


@pytest.mark.parametrize(
    "event", ["Fancy Fusion 2", "Convolution (NHWC, F32)", "cos/1", "conv (x) # 1", "", "1"]
)
def test_an_event_of_another_delegate_names_none(event: str) -> None:
    assert xnnpack_operator(event) is None
