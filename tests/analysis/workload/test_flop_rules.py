"""What each rule counts, for one node at a time; shapes as PyTorch has them."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewer.analysis.workload.operator_tensors import NotKnown
from viewer.analysis.workload.operator_work import count_operations
from viewer.program.program import GraphNode, Tensor


def call(op, inputs, output, dtype="f32", **settings):
    """A node of some op from shapes to a shape."""
    taken = tuple(Tensor(f"i{n}", dtype, shape) for n, shape in enumerate(inputs))
    made = (Tensor("o", dtype, output),)
    return GraphNode("n", op, 1, inputs=taken, outputs=made, settings=tuple(settings.items()))


def convolution(inputs, output, *, transposed=False):
    return call("aten.convolution.default", inputs, output, transposed=transposed)


@pytest.mark.parametrize(
    ("node", "operations"),
    [
        # 4 to 8 channels in 2 groups, 3 x 3: a kernel sees 2 channels.
        (convolution([(1, 4, 9, 9), (8, 2, 3, 3), (8,)], (1, 8, 7, 7)), 2 * (8 * 49) * 2 * 9),
        # Depthwise: as many groups as channels.
        (convolution([(1, 6, 9, 9), (6, 1, 3, 3)], (1, 6, 9, 9)), 2 * (6 * 81) * 9),
        # 1-d with stride 2, 3-d.
        (convolution([(2, 3, 16), (5, 3, 4)], (2, 5, 7)), 2 * (2 * 5 * 7) * 3 * 4),
        (convolution([(1, 2, 4, 4, 4), (3, 2, 2, 2, 2)], (1, 3, 3, 3, 3)), 2 * 81 * 2 * 8),
        # Transposed: weight [in, out / groups, ...]; every input meets a kernel of 5 x 2 x 2.
        (convolution([(1, 3, 4, 4), (3, 5, 2, 2)], (1, 5, 8, 8), transposed=True),
         2 * (3 * 16) * 5 * 4),
        (call("aten.conv2d.default", [(1, 4, 8, 8), (4, 4, 1, 1)], (1, 4, 8, 8)), 2 * 256 * 4),
        (call("aten.conv_transpose1d.default", [(1, 3, 4), (3, 5, 2)], (1, 5, 8)), 2 * 12 * 10),
        (call("aten.mm.default", [(3, 4), (4, 5)], (3, 5)), 2 * 15 * 4),
        (call("aten.bmm.default", [(2, 3, 4), (2, 4, 5)], (2, 3, 5)), 2 * 30 * 4),
        (call("aten.matmul.default", [(6, 1, 3, 4), (2, 4, 5)], (6, 2, 3, 5)), 2 * 180 * 4),
        (call("aten.matmul.default", [(4,), (4,)], ()), 2 * 4),
        (call("aten.addmm.default", [(5,), (3, 4), (4, 5)], (3, 5)), 2 * 15 * 4),
        (call("aten.addmm.default", [(5,), (3, 4), (4, 5)], (3, 5), beta=0.5), 2 * 15 * 4 + 15),
        (call("aten.linear.default", [(2, 7, 4), (5, 4)], (2, 7, 5)), 2 * 70 * 4),
        # Broadcast: the work follows the result.
        (call("aten.add.Tensor", [(3, 1), (1, 4)], (3, 4)), 12),
        (call("aten.add.Tensor", [(4,), (4,)], (4,), alpha=2), 8),
        (call("aten.mul.Scalar", [()], ()), 1),
        (call("aten.sum.dim_IntList", [(3, 4)], (3,)), 12 - 3),
        (call("aten.mean.dim", [(3, 4)], (3,)), 12),
        (call("aten.native_layer_norm.default", [(2, 8), (8,), (8,)], (2, 8)), 7 * 16),
        (call("aten.native_layer_norm.default", [(2, 8)], (2, 8)), 5 * 16),
        (call("aten.avg_pool2d.default", [(1, 2, 6, 6)], (1, 2, 3, 3), kernel_size=(2,)), 18 * 4),
        (call("aten.max_pool1d.default", [(1, 2, 6)], (1, 2, 2), kernel_size=3), 4 * 3),
        (call("aten._adaptive_avg_pool2d.default", [(1, 2, 6, 6)], (1, 2, 3, 3)), 72),
        (call("aten.eq.Scalar", [(4,)], (4,)), 0),
        (call("quantized_decomposed.dequantize_per_tensor.default", [(4,)], (4,)), 8),
        (call("aten.cat.default", [(4,), (2,)], (6,)), 0),
        (call("aten.sym_size.int", [(4,)], ()), 0),
        (call("_operator.mul", [], ()), 0),
        (call("aten.relu.out", [(0, 4)], (0, 4)), 0),
    ],
    ids=lambda value: value.op if isinstance(value, GraphNode) else None,
)  # fmt: skip
def test_what_a_node_does(node, operations):
    assert count_operations(node).operations == operations


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (call("aten.convolution.default", [(1, 3, 8), (4, 3, 2)], (1, 4, 7)),
         "not recorded whether the convolution is transposed"),
        (call("aten.add.Tensor", [("s0 (4)",)], ("s0 (4)",)), "dynamic size, s0 (4)"),
        (call("aten.add.Tensor", [None], None), "the shape of o is not recorded"),
        (call("aten.mul.Tensor", [(4,), (4,)], (4,), dtype="c64"), "complex"),
        (call("aten.sort.default", [(4,)], (4,)), "no rule for aten.sort.default"),
        (call("mine.add.default", [(4,)], (4,)), "no rule for mine.add.default"),
        (call("higher_order.while_loop", [(4,)], (4,)), "control flow"),
        (call("aten.max_pool2d.default", [(1, 2, 6, 6)], (1, 2, 3, 3)), "kernel size"),
        (call("aten._adaptive_avg_pool2d.default", [(1, 2, 7, 7)], (1, 2, 3, 3)), "overlap"),
        (call("aten.batch_norm.default", [(1, 2, 4)], (1, 2, 4), training=True), "training"),
    ],
    ids=lambda value: value.op if isinstance(value, GraphNode) else None,
)  # fmt: skip
def test_what_is_not_known_says_why(node, reason):
    with pytest.raises(NotKnown, match=reason.replace("(", r"\(").replace(")", r"\)")):
        count_operations(node)


def test_the_rule_is_told_in_numbers():
    node = convolution([(1, 4, 9, 9), (8, 2, 3, 3)], (1, 8, 7, 7))
    assert count_operations(node).rule == "2 × 392 outputs × 2 channels × 3 × 3"
    depthwise = convolution([(1, 2, 9), (2, 1, 3)], (1, 2, 7))
    assert count_operations(depthwise).rule == "2 × 14 outputs × 1 channel × 3"


@given(
    st.integers(1, 3),
    st.integers(1, 4), st.integers(1, 4),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.lists(st.integers(3, 6), min_size=3, max_size=3),
)  # fmt: skip
def test_a_convolution_counts_each_product_of_its_loops(groups, each_in, each_out, kernel, image):
    """Counted one by one, as a plain loop over outputs, channels of the group and points does."""
    image = image[: len(kernel)]
    outputs = [size - points + 1 for size, points in zip(image, kernel, strict=True)]
    node = convolution(
        [(2, groups * each_in, *image), (groups * each_out, each_in, *kernel)],
        (2, groups * each_out, *outputs),
    )
    counted = sum(
        2
        for _ in range(2 * groups * each_out * prod(outputs))
        for _ in range(each_in * prod(kernel))
    )
    assert count_operations(node).operations == counted
