"""What logged the values of an inference: calls, events of delegates, results of the method."""

from tests.builders.etdump_writer import F32, Run, Tensor, delegate, framework, operator, write_dump
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.analysis.numbers.logged_values import METHOD, LoggedCalls, logged_inferences


def linked(*paths):
    workspace = workspace_of(*paths)
    return workspace.links(workspace.traces[0])


def calls(*paths):
    table = linked(*paths)
    return LoggedCalls(table).of(logged_inferences(table)[0])


def test_kernels_log_results_and_delegate_calls_arguments_first():
    folder = DATA / "numbers"
    found = calls(folder / "xnnpack.etdp", folder / "xnnpack.etrecord")
    assert [(call.label, call.results, len(call.events)) for call in found] == [
        ("XnnpackBackend · 4 ops", 1, 2),
        ("norm · layer_norm", None, 3),
        ("XnnpackBackend · 3 ops", 1, 2),
        ("split", None, 1),
        ("cumsum", None, 1),
        ("XnnpackBackend · 2 ops", 1, 3),
        ("outputs", None, 2),
    ]
    assert found[0].handles == (1, 2, 3, 4)
    assert [call.is_delegate_call for call in found[:2]] == [True, False]
    assert found[-1].instruction == METHOD


def test_without_a_record_calls_are_named_by_their_kernels():
    found = calls(DATA / "numbers/portable.etdp")
    assert found[0].name == "native_call_convolution.out"
    assert found[0].label == "convolution.out"
    assert {call.operators for call in found} == {()}


def test_inferences_with_values_have_their_method():
    folder = DATA / "numbers"
    table = linked(folder / "xnnpack.etdp", folder / "xnnpack.etrecord")
    found = logged_inferences(table)
    assert [(one.method, one.run.number, one.block) for one in found] == [
        ("forward", 1, 1),
        ("forward", 2, 2),
    ]
    assert logged_inferences(linked(DATA / "pte/cond.etdp")) == ()


def value(instruction, offset, **more):
    return {"debug": Tensor(F32, (1,), offset), "instruction": instruction, **more}


def test_of_an_instruction_that_runs_again_the_last_call_counts(tmp_path):
    events = [
        value(0, 0), operator("OPERATOR_CALL", 0, 10, 20),
        value(1, 16), operator("OPERATOR_CALL", 1, 30, 40),
        value(0, 32), operator("OPERATOR_CALL", 0, 50, 60),
        framework("Method::execute", 0, 100),
    ]  # fmt: skip
    path = write_dump(tmp_path / "loop.etdp", [Run("Execute", events)])
    found = calls(path)
    offsets = linked(path).trace.untimed.offset.values
    assert [(call.instruction, [offsets[i] for i in call.events]) for call in found] == [
        (1, [16]),
        (0, [32]),
    ]


def test_events_of_a_delegate_are_calls_of_their_own(tmp_path):
    events = [
        value(0, 0, number=3), delegate(3, 0, 12, 14), value(0, 16), value(0, 32),
        operator("DELEGATE_CALL", 0, 10, 20), framework("Method::execute", 0, 100),
    ]  # fmt: skip
    found = calls(write_dump(tmp_path / "a.etdp", [Run("Execute", events)]))
    assert [(call.identifier, len(call.events), call.results) for call in found] == [
        (3, 1, None),
        (None, 2, 1),
    ]
    assert found[0].label == "DELEGATE_CALL 3"
