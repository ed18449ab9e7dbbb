"""Functions of viztracer traces."""

from tests.builders.chrome_cases import read, slice_event
from viewer.analysis.recorded.python_functions import function_calls


def test_functions_have_their_file_and_line(tmp_path):
    trace = read(
        tmp_path,
        slice_event("main (run.py:9)", 0, 50),
        slice_event("leaf (run.py:3)", 10, 5),
        slice_event("gc", 20, 1),
    )
    found = {c.node.source.line: c.node.source.function for c in function_calls(trace) if c}
    assert found == {9: "main", 3: "leaf"}
    assert sum(call is None for call in function_calls(trace)) == 1


def test_one_name_that_looks_like_a_function_proves_nothing(tmp_path):
    others = [slice_event("work", 10 * i, 5) for i in range(5)]
    assert function_calls(read(tmp_path, slice_event("f (x:1)", 0, 5), *others)) == []
