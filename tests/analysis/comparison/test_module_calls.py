"""Operators by module, in the order of the graph."""

from tests.paths import DATA
from viewer.analysis.comparison.module_calls import PairedOperator, module_calls, without_address
from viewer.formats import open_file
from viewer.program.program import GraphNode, Operator


def root_of(edit, side="a"):
    program = open_file(str(DATA / f"compare/{edit}/{side}.etrecord"))
    return module_calls(program.methods[0].operators)


def test_modules_are_nested_as_their_paths_are():
    root = root_of("02_module_renamed")
    names = [module.name for module in root.children]
    assert names == ["stem", "blocks.0", "blocks.1", "blocks.2", "norm", "head"]
    block = root.children[1]
    assert [child.name for child in block.children] == ["dw", "pw"]
    assert [one.op for one in block.own] == ["relu", "add"]
    assert block.structure == ("convolution", "relu", "convolution", "add")
    assert (block.pattern, block.is_element) == ("blocks.#", True)
    assert [one.op for one in root.own] == ["mean"]


def test_equal_modules_have_equal_contents_and_wider_ones_only_the_structure():
    narrow, wide = root_of("09_wider", "a"), root_of("09_wider", "b")
    assert narrow.children[1].content == narrow.children[2].content
    assert narrow.children[1].content != wide.children[1].content
    assert narrow.children[1].structure == wide.children[1].structure


def test_places_do_not_depend_on_what_is_around_a_module():
    plain, wrapped = root_of("12_wrapped", "a"), root_of("12_wrapped", "b")
    (model,) = wrapped.children
    assert model.places == plain.places


def test_what_is_compared_of_an_operator():
    root = root_of("02_module_renamed")
    stem: PairedOperator = root.children[0].own[0]
    assert stem.shapes == ((1, 8, 8, 8), (8, 3, 3, 3), (8,))
    assert stem.text == "x = self.stem(x) # id:stem"


def test_modules_nested_without_end_are_cut():
    chain = tuple((".".join("a" * depth), "M") for depth in range(1, 2000))
    node = GraphNode("n", "aten.relu.default", 1, modules=chain)
    root = module_calls([Operator(0, "forward", 1, (node,))])
    assert len(list(root.within())) == 101
    assert [one.op for one in root.everything] == ["relu"]


def test_names_of_recorded_calls_lose_what_differs_between_processes():
    name = "<built-in method dim of Tensor object at 0x7f0e445ad9f0>"
    assert without_address(name) == "<built-in method dim of Tensor object>"
    assert without_address("aten::mm") == "aten::mm"
    assert without_address("looks at 0xyz") == "looks at 0xyz"
