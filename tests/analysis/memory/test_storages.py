"""From which instruction to which planned tensors are in use, and which of them share bytes."""

from tests.builders.planned_methods import delegate, jump, kernel, move, planned_method
from viewer.analysis.memory.plan import BEFORE, storages_of
from viewer.program.executables import Delegate


def lives(method):
    """The values of the tensors with storages of their own, each with its first and last use."""
    found = storages_of(method)
    return {
        int(tensor): (int(first), int(last))
        for tensor, first, last in zip(found.tensor, found.first, found.last, strict=True)
    }


def test_a_tensor_lives_from_the_instruction_that_writes_it_to_the_last_that_reads_it():
    method = planned_method([(0, 8), (8, 8), (16, 8)], kernel(0, 1), kernel(1, 2), kernel(2, 1),
                            inputs=[0])  # fmt: skip
    assert lives(method) == {0: (0, 0), 1: (0, 2), 2: (1, 2)}


def test_inputs_live_from_the_start_and_outputs_to_the_end():
    method = planned_method([(0, 8), (8, 8), (16, 8)], kernel(1, 1), kernel(0, 2), kernel(1, 1),
                            inputs=[0], outputs=[2])  # fmt: skip
    assert lives(method) == {0: (0, 1), 1: (0, 2), 2: (1, 2)}
    assert storages_of(method).writer.tolist() == [BEFORE, 0, 1]


def test_a_view_that_no_instruction_writes_keeps_its_tensor_alive():
    # Value 2 is a view of value 1: instruction 1 reads it, and nothing wrote it.
    method = planned_method([(0, 8), (8, 16), (8, 16), (32, 8)], kernel(0, 1), kernel(2, 3),
                            kernel(2, 3), inputs=[0])  # fmt: skip
    found = storages_of(method)
    assert lives(method) == {0: (0, 0), 1: (0, 2), 3: (1, 2)}
    assert found.of_tensor.tolist() == [0, 1, 1, 2]


def test_a_view_is_of_what_was_written_last_at_its_place():
    places = [(0, 8), (8, 16), (8, 16), (8, 16), (32, 8)]
    method = planned_method(places, kernel(0, 1), kernel(1, 4), kernel(0, 2), kernel(3, 4),
                            inputs=[0])  # fmt: skip
    assert lives(method) == {0: (0, 2), 1: (0, 1), 2: (2, 3), 4: (1, 3)}


def test_a_view_of_a_part_is_inside_its_tensor():
    method = planned_method([(0, 8), (8, 16), (16, 4), (32, 8)], kernel(0, 1), kernel(2, 3),
                            inputs=[0])  # fmt: skip
    assert lives(method) == {0: (0, 0), 1: (0, 1), 3: (1, 1)}


def test_what_is_read_before_anything_wrote_it_is_state_and_lives_always():
    method = planned_method([(0, 8), (8, 8), (16, 8)], kernel(0, 2), kernel(1, 2), kernel(2, 2),
                            inputs=[0])  # fmt: skip
    found = storages_of(method)
    assert lives(method) == {0: (0, 0), 1: (0, 2), 2: (0, 2)}
    assert found.is_state.tolist() == [False, True, False]


def test_planned_memory_with_data_in_the_file_is_state():
    method = planned_method([(0, 8), (8, 8)], kernel(0, 0), kernel(0, 1), constants=[1], inputs=[0])
    assert lives(method) == {0: (0, 1), 1: (0, 1)}
    assert storages_of(method).is_state.tolist() == [False, True]


def test_a_kernel_with_several_results_writes_all_members_of_its_list():
    # As native_layer_norm.out: the results, then the list of them.
    method = planned_method([(0, 8), (8, 8), (16, 8)], kernel(0, 1, 2, 3), kernel(2, 1),
                            inputs=[0], lists={3: (1, 2)})  # fmt: skip
    assert lives(method) == {0: (0, 0), 1: (0, 1), 2: (0, 1)}
    assert not storages_of(method).is_state.any()


def test_an_xnnpack_delegate_states_how_many_results_it_has():
    # Value 2 is a view of value 1, which is read twice: only the stated number tells it from a
    # result at the same place.
    places = [(0, 8), (8, 8), (8, 8), (16, 8)]
    instructions = kernel(0, 1), kernel(1, 3), delegate(2, 3)
    stated = planned_method(places, *instructions, inputs=[0],
                            delegates=[Delegate("XnnpackBackend", 0, outputs=1)])  # fmt: skip
    assert lives(stated) == {0: (0, 0), 1: (0, 2), 3: (1, 2)}


def test_the_results_of_other_delegates_appear_for_the_first_time():
    method = planned_method([(0, 8), (8, 8), (0, 8)], delegate(0, 1), delegate(1, 2), inputs=[0])
    assert lives(method) == {0: (0, 0), 1: (0, 1), 2: (1, 1)}


def test_a_delegate_reads_a_view_of_a_tensor_that_nothing_else_read():
    method = planned_method([(0, 8), (8, 8), (8, 8), (16, 8)], kernel(0, 1), delegate(2, 3),
                            inputs=[0])  # fmt: skip
    assert lives(method) == {0: (0, 0), 1: (0, 1), 3: (1, 1)}


def test_a_moved_tensor_lives_as_long_as_the_value_it_was_moved_to():
    method = planned_method([(0, 8), (8, 8), (16, 8), (24, 8)], kernel(0, 1), move(1, 2),
                            kernel(0, 3), kernel(2, 3), inputs=[0])  # fmt: skip
    assert lives(method) == {0: (0, 2), 1: (0, 3), 2: (1, 3), 3: (2, 3)}


def test_a_view_made_while_running_keeps_its_tensor_alive():
    view = kernel(1, 4, 2, name="executorch_prim::et_view.default")
    method = planned_method([(0, 8), (8, 8), None, (16, 8)], kernel(0, 1), view, kernel(2, 3),
                            inputs=[0], lists={4: ()})  # fmt: skip
    assert lives(method) == {0: (0, 0), 1: (0, 2), 3: (2, 2)}


def test_what_a_loop_reads_lives_until_the_loop_ends():
    # Instruction 3 jumps back to 1: the next pass reads value 1 again.
    method = planned_method([(0, 8), (8, 8), (16, 8)], kernel(0, 1), kernel(1, 2), kernel(2, 2),
                            jump(1), kernel(2, 2), inputs=[0])  # fmt: skip
    assert lives(method) == {0: (0, 0), 1: (0, 3), 2: (1, 4)}


def test_tensors_of_two_memories_are_no_views_of_each_other():
    method = planned_method([(0, 8), (0, 8), (0, 8)], kernel(0, 1), kernel(2, 1), inputs=[0],
                            memories=[1, 1, 2])  # fmt: skip
    found = storages_of(method)
    assert found.of_tensor.tolist() == [0, 1, 2]
    assert found.is_state.tolist() == [False, False, True]


def test_values_that_do_not_exist_and_empty_methods_have_no_storages():
    assert len(storages_of(planned_method([]))) == 0
    method = planned_method([(0, 8)], kernel(-1, 7, 0))
    assert lives(method) == {0: (0, 0)}
