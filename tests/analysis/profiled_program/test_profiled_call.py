"""Names of functions and modules in PyTorch and viztracer traces."""

import pytest

from viewer.analysis.profiled_program.runtime_nodes import frame_of, module_of


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("train.py(27): forward", ("train.py", 27, "forward")),
        ("a (b)/c.py(3): <lambda>", ("a (b)/c.py", 3, "<lambda>")),
        ("C:\\x.py(3): f", ("C:\\x.py", 3, "f")),
        ("leaf.<locals>.<genexpr> (sums.py:5)", ("sums.py", 5, "leaf.<locals>.<genexpr>")),
        ("f (C:\\x.py:12)", ("C:\\x.py", 12, "f")),
    ],
)
def test_a_function_has_its_file_and_the_line_of_its_definition(name, meant):
    frame = frame_of(name)
    assert (frame.path, frame.line, frame.function) == meant


@pytest.mark.parametrize(
    "name",
    ["aten::add", "<built-in function len>", "<frozen os>(674): get", "f(1)", "a.py(x): f",
     "a.py(12345678901): f", "a.py(٣): f", "f (a.py:٣)", ""],
)  # fmt: skip
def test_other_names_are_no_functions_of_a_file(name):
    assert frame_of(name) is None


def test_a_module_has_its_name_and_class():
    assert module_of("nn.Module: Conv2d_1") == ("Conv2d_1", "Conv2d")
    assert module_of("nn.Module: My_Block") == ("My_Block", "My_Block")
    assert module_of("Conv2d_1") is None


@pytest.mark.parametrize("part", [" (:1", "a (b:1", "(1): ", " ("])
def test_a_long_name_is_read_once(part):
    """It would take minutes if every bracket could start a path."""
    assert frame_of(f"f{part * 50_000}x") is None or part == "(1): "
