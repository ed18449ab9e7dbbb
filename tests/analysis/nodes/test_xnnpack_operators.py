"""Which operators XNNPACK's nodes can come from."""

from viewer.analysis.nodes.xnnpack_operators import (
    is_counted,
    may_be_logged,
    operators_behind,
    operators_of,
    short_type,
)


def test_a_type_names_the_operators_that_become_it():
    assert operators_of([short_type("XNNFullyConnected")]) == {"linear", "addmm", "mm"}
    assert "convolution" in operators_of(["fullyconnected", "conv2d"])


def test_types_that_export_inserts_prove_nothing():
    assert operators_of(["statictranspose"]) == frozenset()
    assert operators_of(["convert"]) == frozenset()
    assert operators_of(["staticreshape", "concatenate2"]) == frozenset()
    assert operators_of([]) == frozenset()


def test_operators_that_log_copies_are_not_counted():
    assert is_counted("convolution")
    assert not is_counted("cat")
    assert not is_counted("view_copy")


def test_a_batch_norm_may_have_an_event_but_need_not():
    norm = "_native_batch_norm_legit_no_training"
    assert norm in operators_of(["depthwiseconv2d"])
    assert may_be_logged(norm)
    assert not is_counted(norm)


def test_types_that_prove_nothing_still_tell_which_node_of_a_handle_ran():
    assert "quantize_per_tensor" in operators_behind("convert")
    assert "convolution" in operators_behind("conv2d")
    assert operators_behind("of a later release") == frozenset()
