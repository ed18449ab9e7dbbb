"""Which users of data in two program files belong together."""

from tests.builders.pte_writer import DELEGATE, KERNEL, Method, write_program, xnnpack_graph
from tests.paths import DATA
from viewer.analysis.programs.user_pairs import PairedBy, UserPairs, paired_methods
from viewer.analysis.sizes.file_parts import file_parts
from viewer.formats import open_file

FILES = DATA / "pte"
F32 = 6
OPERATORS = (("aten::add", "out"), ("aten::mul", "out"))


def real(name, *, record=True):
    program = open_file(str(FILES / f"{name}.etrecord")) if record else None
    return file_parts(open_file(str(FILES / f"{name}.pte")), program)


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
