"""Parts of two files that belong together."""

from dataclasses import replace

import pytest

from tests.builders.pte_writer import DELEGATE, KERNEL, Method, write_program, xnnpack_graph
from tests.paths import DATA
from viewer.analysis.comparison.operator_pairs import OperatorPairs, pair_operators
from viewer.analysis.program_differences import (
    NONE,
    PairedBy,
    UserPairs,
    paired_methods,
    paired_modules,
    paired_parts,
)
from viewer.analysis.sizes.file_parts import FileParts, ItemKind, file_parts
from viewer.formats import open_file
from viewer.program.module_tree import module_tree

FILES = DATA / "pte"


def parts_of(name, *, record=True):
    program = open_file(str(FILES / f"{name}.etrecord")) if record else None
    return file_parts(open_file(str(FILES / f"{name}.pte")), program)


def changed(found, change):
    """The parts of a file after a change of each; None removes a part."""
    made = [new for part in found.parts if (new := change(part)) is not None]
    return FileParts(found.executable, found.program, tuple(made))


def test_a_file_is_paired_with_itself():
    found = parts_of("part_x")
    pairs = paired_parts(found, found)
    assert pairs.rows == tuple((i, i) for i in range(len(found.parts)))
    assert pairs.paired_by is PairedBy.ETRECORDS


def test_without_etrecords_calls_are_paired_in_order():
    found = parts_of("llama", record=False)
    pairs = paired_parts(found, found)
    assert all(a == b for a, b in pairs.rows)
    assert pairs.paired_by is PairedBy.ORDER


def test_every_part_is_in_one_row():
    a, b = parts_of("mobile_x"), parts_of("part_x")
    rows = paired_parts(a, b).rows
    assert sorted(i for i, _ in rows if i != NONE) == list(range(len(a.parts)))
    assert sorted(j for _, j in rows if j != NONE) == list(range(len(b.parts)))


def test_a_parameter_that_is_another_kind_of_data_is_the_same_parameter():
    a = parts_of("multi3")
    assert any(part.names for part in a.parts)

    def moved(part):
        return replace(part, kind=ItemKind.NAMED_DATA, text="i8") if part.names else part

    b = changed(a, moved)
    assert paired_parts(a, b).rows == tuple((i, i) for i in range(len(a.parts)))


def test_a_missing_part_is_in_one_file_only():
    a = parts_of("multi3")
    gone = next(i for i, part in enumerate(a.parts) if part.names)
    b = changed(a, lambda part: None if part is a.parts[gone] else part)
    rows = dict(paired_parts(a, b).rows)
    assert rows[gone] == NONE
    assert sum(j == NONE for j in rows.values()) == 1
    back = paired_parts(b, a).rows
    assert back[-1] == (NONE, gone)


def test_frame_parts_are_paired_by_kind():
    a, b = parts_of("multi3"), parts_of("llama")
    kinds = {
        (a.parts[i].kind, b.parts[j].kind)
        for i, j in paired_parts(a, b).rows
        if i != NONE and j != NONE
    }
    assert (ItemKind.PROGRAM, ItemKind.PROGRAM) in kinds
    assert all(one == other for one, other in kinds)


USER_PAIRS_FILES = DATA / "pte"
F32 = 6
OPERATORS = (("aten::add", "out"), ("aten::mul", "out"))


def real(name, *, record=True):
    program = open_file(str(USER_PAIRS_FILES / f"{name}.etrecord")) if record else None
    return file_parts(open_file(str(USER_PAIRS_FILES / f"{name}.pte")), program)


def kernels(path, *operators):
    """A method in which call i of an operator uses constant i + 1."""
    count = len(operators)
    method = Method(
        instructions=[(KERNEL, operator, [i]) for i, operator in enumerate(operators)],
        operators=OPERATORS,
        tensors=[(F32, [4], None, i + 1) for i in range(count)],
    )
    offsets = [0, *(16 * i for i in range(count))]
    write_program(path, method, segments=[bytes(16 * count)], constant_segment=(0, offsets))
    return file_parts(open_file(str(path)))


def pairs(a, b):
    """Names of the parts with equal keys."""
    found = UserPairs(a, b)
    of_b = {found.key_b(part): part.name for part in b.parts if part.uses}
    return {
        part.name: of_b[found.key_a(part)]
        for part in a.parts
        if part.uses and found.key_a(part) in of_b
    }


def test_without_etrecords_calls_are_paired_in_order_by_their_operator(tmp_path):
    a, b = kernels(tmp_path / "a.pte", 0, 1, 0), kernels(tmp_path / "b.pte", 1, 0)
    assert UserPairs(a, b).paired_by is PairedBy.ORDER
    assert pairs(a, b) == {"constant 2": "constant 1", "constant 3": "constant 2"}


def test_nodes_of_xnnpack_are_paired_inside_the_order_of_calls(tmp_path):
    def made(name, *nodes):
        graph = xnnpack_graph(
            [(kind, 0, {0: 0, 1: i + 1}) for i, kind in enumerate(nodes)],
            constants=[(16 * i, 16) for i in range(len(nodes))],
            values=[(1, 0, [4], 0), *((1, i + 1, [4], 0) for i in range(len(nodes)))],
        )
        method = Method(instructions=[(DELEGATE, 0, [])], delegates=[("XnnpackBackend", True, 0)])
        path = write_program(tmp_path / name, method, segments=[graph])
        return file_parts(open_file(str(path)))

    add, multiply = 1, 15
    a, b = made("a.pte", add, multiply), made("b.pte", multiply)
    found = UserPairs(a, b)
    keys = [found.key_a(part) for part in a.parts if part.inside >= 0]
    (only,) = [found.key_b(part) for part in b.parts if part.inside >= 0]
    assert [key == only for key in keys] == [False, True]


def test_with_etrecords_operators_are_paired():
    a, b = real("part_x"), real("part_x")
    found = UserPairs(a, b)
    assert found.paired_by is PairedBy.ETRECORDS
    assert [found.key_a(part) for part in a.parts] == [found.key_b(part) for part in b.parts]


def test_one_etrecord_alone_does_not_decide():
    assert UserPairs(real("part_x"), real("part_x", record=False)).paired_by is PairedBy.ORDER


def test_a_single_method_is_paired_whatever_its_name_is(tmp_path):
    def methods(name, *names):
        path = write_program(tmp_path / name, *(Method(name=one) for one in names))
        return open_file(str(path))

    a = methods("a.pte", "encode", "decode")
    assert paired_methods(a, methods("b.pte", "decode", "forward")) == ((1, 0), (0, 1))
    assert paired_methods(a, methods("c.pte", "x", "y")) == ()


MODULE_PAIRS_FILES = DATA / "pte"


@pytest.mark.parametrize("name", ["mobile_x", "multi3", "part_x"])
def test_the_modules_of_one_record_are_paired_with_themselves(name):
    program = open_file(str(MODULE_PAIRS_FILES / f"{name}.etrecord"))
    tree = module_tree(program)
    found = paired_modules(tree, tree, pair_operators(program, program))
    assert all(i == j for i, j in found.items())
    assert {i for i, one in enumerate(tree.modules) if one.operators} <= set(found)


def test_modules_follow_their_operators_into_another_path():
    program = open_file(str(MODULE_PAIRS_FILES / "mobile_x.etrecord"))
    tree = module_tree(program)
    renamed = replace(
        tree,
        modules=tuple(replace(one, path=one.path.replace("stem", "first")) for one in tree.modules),
    )
    found = paired_modules(tree, renamed, pair_operators(program, program))
    (stem,) = [i for i, one in enumerate(tree.modules) if one.path == "stem"]
    assert renamed.modules[found[stem]].path == "first"


def test_without_pairs_the_path_decides():
    tree = module_tree(open_file(str(MODULE_PAIRS_FILES / "mobile_x.etrecord")))
    found = paired_modules(tree, tree, OperatorPairs((), (), same_program=False))
    assert all(i == j for i, j in found.items())
    assert len(found) == len(tree.modules)
