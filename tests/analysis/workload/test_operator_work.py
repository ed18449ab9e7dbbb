"""Operations and bytes of operators, against sums done by hand from the models' own sources.

`models.py` of the samples has the layers; the inputs are x[1, 3, 16, 16] of the CNN, x[1, 8, 32] of
attention (4 heads of 8) and x[2, 4] of the branches. All of them are f32: 4 bytes.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.paths import ROOT
from viewer.analysis.workload.mlir_work import with_tensors
from viewer.analysis.workload.operator_work import MovedBytes, figures_of, figures_of_nodes
from viewer.formats import open_file
from viewer.program.program import GraphNode, Operator, Tensor

RECORDS = ROOT / "tests/data/etrecord"
ATTENTION = ROOT / "resources/samples/attention_xnnpack/attn_teal_xnnpack.etrecord"
CNN = RECORDS / "cnn_toedge_portable.etrecord"
F32 = 4
I64 = 8


def figures(path, label, number=0):
    """The figures of the operator of that label, the first or a later one."""
    program = open_file(str(path))
    found = [op for op in program.operators if op.label == label]
    return figures_of(program, found[number])


def work(path, label, number=0):
    found = figures(path, label, number)
    assert (found.at_least, found.missing, found.floating) == (False, (), True)
    return found.operations, found.moved


# -- Conv2d(3, 8, 3, padding=1), BatchNorm2d(8), MaxPool2d(2), Conv2d(8, 16, 3, padding=1) ---------


def test_a_convolution():
    outputs = 1 * 8 * 16 * 16
    assert work(CNN, "features.0 · convolution") == (
        2 * outputs * 3 * 3 * 3,
        MovedBytes(3 * 16 * 16 * F32, (8 * 3 * 3 * 3 + 8) * F32, outputs * F32),
    )


def test_a_convolution_with_more_channels_on_a_smaller_image():
    outputs = 1 * 16 * 8 * 8
    assert work(CNN, "features.4 · convolution") == (
        2 * outputs * 8 * 3 * 3,
        MovedBytes(8 * 8 * 8 * F32, (16 * 8 * 3 * 3 + 16) * F32, outputs * F32),
    )


def test_a_batch_norm_has_four_parameters_per_channel():
    values = 8 * 16 * 16
    assert work(CNN, "features.1 · batch_norm") == (
        2 * values, MovedBytes(values * F32, 4 * 8 * F32, values * F32),
    )  # fmt: skip


def test_a_pooling_writes_its_indices_too():
    outputs = 8 * 8 * 8
    assert work(CNN, "features.3 · max_pool2d") == (
        outputs * 2 * 2, MovedBytes(8 * 16 * 16 * F32, 0, outputs * F32 + outputs * I64),
    )  # fmt: skip


def test_a_mean_over_the_image():
    assert work(CNN, "mean") == (16 * 8 * 8, MovedBytes(16 * 8 * 8 * F32, 0, 16 * F32))


def test_a_linear_of_which_the_record_makes_two_nodes():
    assert work(CNN, "head · linear") == (
        2 * 10 * 16, MovedBytes(16 * F32, (10 * 16 + 10) * F32, 10 * F32),
    )  # fmt: skip


def test_a_softmax():
    assert work(CNN, "softmax") == (5 * 10, MovedBytes(10 * F32, 0, 10 * F32))


@pytest.mark.parametrize(
    "record",
    ["cnn_standalone_NOdeepcopy", "cnn_standalone_after_tobackend", "cnn_session_xnnpack",
     "cnn_teal_xnnpack", "0.1/cnn_portable_gen0.1", "0.1/cnn_portable_gen0.3"],
)  # fmt: skip
def test_every_way_to_record_a_model_has_the_same_work(record):
    path = RECORDS / f"{record}.etrecord"
    assert work(path, "features.0 · convolution") == work(CNN, "features.0 · convolution")
    # Up to 0.7 every node has a debug handle of its own: the weight is turned by another operator.
    assert figures(path, "head · linear", -1).operations == 2 * 10 * 16


# -- AttentionBlock(32, 4): LayerNorm(32), Linear(32, 96), attention, Linear(32, 32), GELU ---------


def test_a_linear_of_one_node():
    assert work(ATTENTION, "blocks.0.qkv · linear") == (
        2 * (8 * 96) * 32, MovedBytes(8 * 32 * F32, (96 * 32 + 96) * F32, 8 * 96 * F32),
    )  # fmt: skip


def test_attention_of_twenty_five_nodes():
    heads, length, width = 4, 8, 8
    scores = heads * length * length
    products = 2 * scores * width + 2 * (heads * length * width) * length
    scaled = 2 * heads * length * width  # both q and k are scaled by the root
    part = heads * length * width * F32
    assert work(ATTENTION, "blocks.0 · scaled_dot_product_attention") == (
        products + 5 * scores + scaled, MovedBytes(3 * part, 0, part),
    )  # fmt: skip


def test_a_layer_norm_writes_mean_and_deviation_of_each_row():
    values = 8 * 32
    assert work(ATTENTION, "blocks.0.ln1 · layer_norm") == (
        7 * values, MovedBytes(values * F32, 2 * 32 * F32, (values + 2 * 8) * F32),
    )  # fmt: skip


def test_a_sum_and_a_function():
    values, wide = 8 * 32, 8 * 64
    assert work(ATTENTION, "blocks.0 · add") == (
        values,
        MovedBytes(2 * values * F32, 0, values * F32),
    )
    assert work(ATTENTION, "blocks.1.mlp.act · gelu") == (
        wide,
        MovedBytes(wide * F32, 0, wide * F32),
    )


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [("transpose", 8 * 32, "copies"), ("chunk", 3 * 8 * 32, "copies"),
     ("view", 8 * 32, "moves no data if the runtime makes it a view")],
)  # fmt: skip
def test_what_only_moves_data_does_no_work_and_says_so(name, size, said):
    found = figures(ATTENTION, f"blocks.0 · {name}")
    assert (found.operations, found.parts) == (0, ())
    assert found.moved == MovedBytes(size * F32, 0, size * F32)
    assert found.note.endswith(said)
    assert found.intensity == 0


# -- branches, sizes that are not fixed, and what no rule is known for ----------------------------


def test_a_product_in_a_branch_and_the_branching_itself():
    path = RECORDS / "cond_toedge_portable.etrecord"
    values = 2 * 4
    assert work(path, "mul") == (values, MovedBytes(2 * values * F32, 0, values * F32))
    cond = figures(path, "cond")
    assert (cond.operations, cond.moved, cond.intensity) == (None, None, None)
    assert cond.missing == ("the work of control flow depends on its data",)


def test_a_size_that_is_not_fixed_makes_no_figure():
    found = figures(RECORDS / "words_toedge_portable.etrecord", "a · linear")
    assert (found.operations, found.moved) == (None, None)
    assert all("has a dynamic size, s27 (6)" in reason for reason in found.missing)
    assert "has a dynamic size, s27 (6)" in found.moved_missing


def test_a_cell_that_was_unrolled_is_the_sum_of_its_steps():
    """GRU(8, 6) over 2 steps: rows of 3 x 6 gates, of the inputs at once and of the state twice."""
    found = figures(RECORDS / "gru_toedge_portable.etrecord", "rnn · gru")
    products = 2 * (2 * 18) * 8 + 2 * (2 * 18 * 6)
    # A step: r and z are a sum and a sigmoid each; n a product, a sum and a tanh; the new state a
    # difference, a product and a sum.
    gates = 2 * (2 + 2 + 3 + 3) * 6
    assert found.parts[0].operations == products
    assert found.operations == products + gates
    assert found.moved.parameters == (18 * 8 + 18 * 6 + 18 + 18) * F32


def tensor(name, *shape, dtype="f32", parameter=""):
    return Tensor(name, dtype, shape, parameter)


def call(op, taken, made):
    return GraphNode(op, op, 1, inputs=(taken,), outputs=(made,))


def test_one_node_that_is_not_understood_makes_it_at_least():
    known = GraphNode(
        "n", "aten.add.Tensor", 1, inputs=(tensor("a", 4),), outputs=(tensor("b", 4),)
    )
    other = GraphNode("m", "my.op.default", 1, inputs=(tensor("b", 4),), outputs=(tensor("c", 4),))
    found = figures_of_nodes((known, other))
    assert (found.operations, found.at_least) == (4, True)
    assert found.missing == ("no rule for my.op.default",)
    # It may read a part of what it takes: no bytes are guessed.
    assert (found.moved, found.moved_missing) == (None, "no rule for my.op.default")
    assert found.intensity is None
    assert figures_of_nodes((other,)).operations is None


def test_a_value_that_others_take_as_well_is_written():
    first = GraphNode(
        "n", "aten.exp.default", 1, inputs=(tensor("a", 4),), outputs=(tensor("b", 4),)
    )
    second = GraphNode("m", "aten.sum.default", 1, inputs=(tensor("b", 4),), outputs=(tensor("c"),))
    assert figures_of_nodes((first, second)).moved == MovedBytes(16, 0, 4)
    assert figures_of_nodes((first, second), {"b"}).moved == MovedBytes(16, 0, 16 + 4)


def test_an_operand_that_is_taken_twice_is_read_once():
    twice = tensor("a", 3)
    node = GraphNode("n", "aten.mul.Tensor", 1, inputs=(twice, twice), outputs=(tensor("b", 3),))
    assert figures_of_nodes((node,)).moved == MovedBytes(12, 0, 12)


def test_an_embedding_reads_the_rows_that_it_looks_up_and_not_the_table():
    table = tensor("w", 1000, 8, parameter="emb.weight")
    ids, rows = tensor("ids", 5, dtype="i64"), tensor("rows", 5, 8)
    node = GraphNode("n", "aten.embedding.default", 1, inputs=(table, ids), outputs=(rows,))
    found = figures_of_nodes((node,))
    assert (found.operations, found.moved) == (0, MovedBytes(5 * 8, 5 * 8 * 4, 5 * 8 * 4))


def test_a_parameter_behind_a_view_is_still_read():
    weight = tensor("w", 6, 4, parameter="fc.weight")
    turned = GraphNode("t", "aten.t.default", 1, inputs=(weight,), outputs=(tensor("wt", 4, 6),))
    product = GraphNode(
        "m", "aten.mm.default", 1, inputs=(tensor("x", 2, 4), tensor("wt", 4, 6)),
        outputs=(tensor("y", 2, 6),),
    )  # fmt: skip
    found = figures_of_nodes((turned, product))
    assert found.operations == 2 * (2 * 6) * 4
    assert found.moved == MovedBytes(2 * 4 * 4, 6 * 4 * 4, 2 * 6 * 4)
    assert figures_of_nodes((turned,)).moved == MovedBytes(0, 0, 0)


def test_a_fill_reads_nothing_and_a_scalar_is_one_element():
    like = GraphNode(
        "n", "aten.full_like.default", 1, inputs=(tensor("a", 9),), outputs=(tensor("b", 9),)
    )
    assert figures_of_nodes((like,)).moved == MovedBytes(0, 0, 36)
    scalar = GraphNode("n", "aten.neg.default", 1, inputs=(tensor("a"),), outputs=(tensor("b"),))
    assert (figures_of_nodes((scalar,)).operations, figures_of_nodes((scalar,)).moved.total) == (
        1,
        8,
    )


def test_a_dtype_that_is_not_known_leaves_the_bytes_open_and_keeps_the_operations():
    odd = GraphNode(
        "n", "aten.add.Tensor", 1, inputs=(tensor("a", 4, dtype=""),), outputs=(tensor("b", 4),)
    )
    found = figures_of_nodes((odd,))
    assert (found.operations, found.moved) == (4, None)
    assert found.moved_missing == "the dtype of a has an unknown size"


def test_an_operator_without_tensors_has_no_figures():
    found = figures_of_nodes((GraphNode("n", "aten.add.Tensor", 1),))
    assert (found.operations, found.moved) == (None, None)
    assert found.missing == ("the output of aten.add.Tensor is not recorded",)


SIZES = st.integers(-1, 5) | st.sampled_from(["s0", "s1 (4)"]) | st.integers(1 << 40, 1 << 70)
TENSORS = st.builds(
    Tensor,
    st.sampled_from("abcdef"),
    st.sampled_from(["f32", "bf16", "i64", "bool", "c64", "i4", "", "q8"]),
    st.none() | st.lists(SIZES, max_size=4).map(tuple),
    st.sampled_from(["", "fc.weight"]),
)
OPS = st.sampled_from(
    ["aten.convolution.default", "aten.addmm.default", "aten.bmm.default", "aten.view.default",
     "aten.slice_copy.Tensor", "aten.embedding.default", "aten.full_like.default", "aten.mean.dim",
     "aten.max_pool2d.default", "aten._softmax.default", "my.op", "tosa.conv2d", "tosa.matmul",
     "linalg.generic", "func.return", "higher_order.cond", "aten.native_layer_norm.default"]
)  # fmt: skip
NODES = st.builds(
    GraphNode, st.just("n"), OPS, st.just(1),
    inputs=st.lists(TENSORS, max_size=4).map(tuple),
    outputs=st.lists(TENSORS, max_size=2).map(tuple),
    settings=st.sampled_from(
        [(), (("transposed", True),), (("transposed", 3),), (("kernel_size", (2, 2)),),
         (("kernel_size", (10**4000, 2)),), (("alpha", 0.5),), (("kernel_size", 0.5),)]
    ),
)  # fmt: skip


@pytest.mark.slow
@given(st.lists(NODES, min_size=1, max_size=5), st.frozensets(st.sampled_from("abcdef")))
def test_whatever_a_record_states_there_is_a_figure_or_a_reason(nodes, leaving):
    found = figures_of_nodes(nodes, leaving)
    assert (found.operations is None) <= bool(found.missing)
    assert found.operations is None or found.operations >= sum(p.operations for p in found.parts)
    assert all(part.operations > 0 for part in found.parts)
    assert (found.moved is None) == bool(found.moved_missing)
    if found.moved is not None:
        assert min(found.moved.inputs, found.moved.parameters, found.moved.outputs) >= 0
    if found.intensity is not None:
        assert not found.at_least


# -- MLIR: tiny_cnn.mlir, i8 images of 56 x 56 -----------------------------------------------------


@pytest.mark.parametrize(
    ("label", "operations", "moved"),
    [
        # A point convolution of 24 to 32 channels; weights 32 x 24, 32 biases i32, two zero points.
        ("tosa.conv2d@L11", 2 * (56 * 56 * 32) * 24,
         MovedBytes(56 * 56 * 24 + 32 * 24 + 32 * 4 + 1, 0, 56 * 56 * 32 * 4)),
        # Depthwise, 3 x 3 per channel; both zero points are one value.
        ("tosa.depthwise_conv2d@L14", 2 * (56 * 56 * 32) * 3 * 3,
         MovedBytes(56 * 56 * 32 + 3 * 3 * 32 + 32 * 4 + 1, 0, 56 * 56 * 32 * 4)),
        ("tosa.add@L16", 56 * 56 * 32, MovedBytes(2 * 56 * 56 * 32 * 4, 0, 56 * 56 * 32 * 4)),
        ("tosa.max_pool2d@L18", 28 * 28 * 32 * 2 * 2,
         MovedBytes(56 * 56 * 32, 0, 28 * 28 * 32)),
        ("tosa.cast@L15", 0, MovedBytes(56 * 56 * 32, 0, 56 * 56 * 32 * 4)),
    ],
)  # fmt: skip
def test_operations_of_a_text_have_figures_of_whole_numbers(label, operations, moved):
    program = open_file(str(ROOT / "tests/data/torq/tiny_cnn.mlir"))
    (operator,) = (op for op in program.operators if op.label == label)
    found = figures_of(program, with_tensors(program, operator))
    assert (found.operations, found.moved, found.floating) == (operations, moved, False)


def test_a_function_has_no_figures_of_its_own():
    program = open_file(str(ROOT / "tests/data/torq/tiny_cnn.mlir"))
    found = figures_of(program, with_tensors(program, program.operators[0]))
    assert (found.operations, found.moved) == (None, None)
    assert found.missing == ("func.func itself does no work",)


def test_two_operators_of_one_method_are_told_apart_by_what_the_other_takes():
    program = open_file(str(CNN))
    relu = next(op for op in program.operators if op.label == "features.2 · relu")
    alone = Operator(relu.index, relu.method, relu.debug_handle, relu.nodes)
    assert figures_of(program, alone) == figures_of_nodes(relu.nodes)
