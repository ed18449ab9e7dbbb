"""Groups: what several operators became in one, or one in several."""

from tests.builders.nested_program import nested_program
from viewer.analysis.comparison.evidence import Evidence
from viewer.analysis.comparison.operator_groups import grouped
from viewer.analysis.flows.dataflow import dataflow_of


def groups(a, b, pairs):
    x, y = a.methods[0], b.methods[0]
    found = Evidence(x, y, (dataflow_of(a), dataflow_of(b)))
    back = {j: i for i, j in pairs.items()}
    return [(g.a, g.b) for g in grouped(found, pairs, back)]


def program(*ops, edges):
    return nested_program([""] * len(ops), edges, ops)


STAR = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)]


def test_several_layers_of_one_input_are_one():
    three = program("norm", "linear", "linear", "linear", "mul", edges=STAR)
    one = program("norm", "linear", "mul", edges=[(0, 1), (1, 2)])
    assert groups(three, one, {0: 0, 4: 2}) == [((1, 2, 3), (1,))]
    assert groups(one, three, {0: 0, 2: 4}) == [((1,), (1, 2, 3))]


def test_two_single_layers_of_one_input_leave_open_which_one_it_is():
    three = program("norm", "linear", "linear", "linear", "mul", edges=STAR)
    two = program("norm", "linear", "linear", "mul", edges=[(0, 1), (0, 2), (1, 3), (2, 3)])
    assert groups(three, two, {0: 0, 4: 3}) == []


def test_attention_by_hand_is_one_operator():
    by_hand = program("linear", "transpose", "matmul", "mul", "softmax", "matmul", "linear",
                      edges=[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)])  # fmt: skip
    attention = program("linear", "scaled_dot_product_attention", "linear",
                        edges=[(0, 1), (1, 2)])  # fmt: skip
    assert groups(by_hand, attention, {0: 0, 6: 2}) == [((1, 2, 3, 4, 5), (1,))]
    assert groups(by_hand, attention, {}) == []


def test_a_batch_norm_belongs_to_what_it_is_folded_into():
    a = program("convolution", "batch_norm", "relu", edges=[(0, 1), (1, 2)])
    b = program("convolution", "relu", edges=[(0, 1)])
    assert groups(a, b, {0: 0, 2: 1}) == [((0, 1), (0,))]
