"""Call sites: the Python calls and modules around a slice, the backward pass, and GPU kernels."""

from tests.builders.chrome_cases import event, read, slice_event
from viewer.analysis.profiled_program import program


def python(name, ts, dur):
    return slice_event(name, ts, dur, cat="python_function")


def operator(name, ts, dur, shapes=None, **arguments):
    args = {**arguments, **({"Input Dims": shapes} if shapes else {})}
    return slice_event(name, ts, dur, cat="cpu_op", args=args)


def stack_of(trace, name):
    """The stack of the first slice of a name, outermost first."""
    slice_ = next(i for i in range(len(trace.slices)) if trace.name(i) == name)
    calls, found = trace.calls, []
    stack = int(calls.stack[trace.slices.key[slice_]])
    while stack >= 0:
        found.insert(0, trace.strings[calls.stack_name[stack]])
        stack = int(calls.stack_parent[stack])
    return found


def test_an_operator_has_the_python_calls_and_modules_around_it(tmp_path):
    trace = read(
        tmp_path,
        python("a.py(1): main", 0, 100),
        python("nn.Module: Linear_0", 10, 50),
        operator("aten::linear", 20, 30),
        operator("aten::addmm", 25, 20),
    )
    assert stack_of(trace, "aten::addmm") == ["a.py(1): main", "nn.Module: Linear_0"]
    assert stack_of(trace, "nn.Module: Linear_0") == ["a.py(1): main", "nn.Module: Linear_0"]


def test_operators_before_and_after_a_call_are_not_in_it(tmp_path):
    trace = read(
        tmp_path,
        operator("aten::before", 0, 5),
        python("a.py(1): main", 10, 10),
        operator("aten::after", 30, 5),
    )
    assert stack_of(trace, "aten::before") == []
    assert stack_of(trace, "aten::after") == []


def test_calls_with_other_shapes_or_from_other_places_are_other_sites(tmp_path):
    trace = read(
        tmp_path,
        python("a.py(1): f", 0, 30),
        operator("aten::add", 1, 2, [[4], [4]]),
        operator("aten::add", 5, 2, [[4], [4]]),
        operator("aten::add", 9, 2, [[8], [8]]),
        python("a.py(9): g", 40, 10),
        operator("aten::add", 41, 2, [[4], [4]]),
    )
    slices = trace.slices
    added = [i for i in range(len(slices)) if trace.name(i) == "aten::add"]
    first, again, wider, elsewhere = (int(slices.key[i]) for i in added)
    assert first == again
    assert len({first, wider, elsewhere}) == 3


def test_with_too_many_sites_shapes_are_not_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(program, "MOST_SITES", 3)
    adds = [operator("aten::add", 10 * i, 2, [[i + 1]]) for i in range(5)]
    trace = read(tmp_path, *adds)
    assert len(trace.keys) == 1


BACKWARD = [
    python("nn.Module: Linear_0", 0, 50),
    operator("aten::linear", 10, 20, **{"Sequence number": 7, "Fwd thread id": 0}),
    event("s", "fwdbwd", 10, cat="fwdbwd", id=1),
    python("a.py(5): train", 100, 50),
    operator(
        "autograd::engine::evaluate_function: AddmmBackward0", 110, 30, **{"Sequence number": 7}
    ),
    operator("AddmmBackward0", 115, 20, **{"Sequence number": 7}),
    operator("aten::mm", 120, 10),
    operator("aten::other", 142, 5),
]


def test_the_backward_pass_has_the_place_of_its_forward_operator(tmp_path):
    ends = event("f", "fwdbwd", 110, cat="fwdbwd", id=1, bp="e")
    trace = read(tmp_path, *BACKWARD, ends)
    for name in ("autograd::engine::evaluate_function: AddmmBackward0", "aten::mm"):
        assert stack_of(trace, name) == ["nn.Module: Linear_0"]
    assert stack_of(trace, "aten::other") == ["a.py(5): train"]
    backward = {
        trace.strings[name]
        for name, is_backward in zip(trace.keys.name, trace.calls.backward, strict=True)
        if is_backward
    }
    assert backward == {
        "autograd::engine::evaluate_function: AddmmBackward0",
        "AddmmBackward0",
        "aten::mm",
    }


def test_a_flow_to_the_inner_operator_ties_the_engine_around_it(tmp_path):
    ends = event("f", "fwdbwd", 115, cat="fwdbwd", id=1, bp="e")
    trace = read(tmp_path, *BACKWARD, ends)
    engine = "autograd::engine::evaluate_function: AddmmBackward0"
    assert stack_of(trace, engine) == ["nn.Module: Linear_0"]


def test_a_flow_to_another_process_ties_no_backward_operator(tmp_path):
    """A file merged of two ranks, whose flows have the same ids."""
    ends = event("f", "fwdbwd", 115, cat="fwdbwd", id=1, bp="e", pid=5)
    moved = [{**e, "pid": 5} if e["ts"] >= 100 else e for e in BACKWARD]
    trace = read(tmp_path, *moved, ends)
    assert stack_of(trace, "aten::mm") == ["a.py(5): train"]
    assert not trace.calls.backward.any()


def test_a_kernel_has_the_place_of_the_operator_that_started_it(tmp_path):
    launched = {"External id": 3, "correlation": 9}
    kernel = {"ph": "X", "pid": 0, "tid": 7, "ts": 60, "dur": 20, "cat": "kernel"}
    trace = read(
        tmp_path,
        python("nn.Module: Conv2d_0", 0, 50),
        operator("aten::conv2d", 10, 30, **{"External id": 3}),
        {**kernel, "name": "sgemm", "args": launched},
        {**kernel, "name": "unknown", "ts": 90, "args": {"External id": 8}},
    )
    assert stack_of(trace, "sgemm") == ["nn.Module: Conv2d_0"]
    assert stack_of(trace, "unknown") == []


def test_an_id_of_two_processes_does_not_say_which_operator_started_a_kernel(tmp_path):
    """A file merged of two ranks, each of which counts its operators from 1."""
    trace = read(
        tmp_path,
        python("nn.Module: Conv2d_0", 0, 50),
        operator("aten::conv2d", 10, 30, **{"External id": 3}),
        operator("aten::relu", 10, 30, **{"External id": 3}) | {"pid": 5},
        slice_event("sgemm", 60, 20, cat="kernel", args={"External id": 3}, tid=7),
    )
    assert stack_of(trace, "sgemm") == []


def test_other_traces_keep_their_identities(tmp_path):
    trace = read(tmp_path, slice_event("a", 0, 5), slice_event("a", 9, 5))
    assert trace.calls is None
    assert len(trace.keys) == 1


def test_a_profile_without_python_calls_has_no_stacks(tmp_path):
    trace = read(tmp_path, operator("aten::add", 0, 5))
    assert stack_of(trace, "aten::add") == []
