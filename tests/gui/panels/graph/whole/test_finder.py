"""Which nodes of a whole model a text finds."""

from tests.builders.nested_program import calls_of, nested_program
from viewer.gui.panels.graph.whole.finder import hits, searched_texts
from viewer.render.graph.model_tree import group_tree


def found(wanted):
    program = nested_program(
        ["a.x", "a.x", "a.y", "b", "b"], ops=["conv", "relu", "add", "mm", "mm"]
    )
    calls = calls_of({7: (3, 4)})
    tree = group_tree(program, calls)
    nodes = hits(searched_texts(tree, program, calls), wanted)
    return [tree.names[n] or f"call {tree.call[n]}" for n in nodes]


def test_operators_modules_classes_and_calls_are_found():
    assert found("relu") == ["relu"]
    assert found("MM_4") == ["mm"]
    assert found("xnnpack 7") == ["call 0"]
    assert found("a.x") == ["x", "conv", "relu"]


def test_all_words_must_be_there():
    assert found("conv x") == ["conv"]
    assert found("conv b") == []
    assert found("  ") == []
