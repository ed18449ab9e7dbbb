"""Where constants, initial states, named data and delegates are in program files."""

import pytest

from tests.builders.pte_writer import DELEGATE, KERNEL, Method, write_program
from tests.paths import DATA
from viewer.formats import open_file

F32 = 6
SEGMENT = b"a" * 32 + b"b" * 16 + b"c" * 10


def ranges(path, column):
    data = path.read_bytes()
    return [
        data[a : a + n] for a, n in zip(column.start.tolist(), column.size.tolist(), strict=True)
    ]


def test_a_constant_ends_where_the_next_one_starts(tmp_path):
    path = write_program(
        tmp_path / "a.pte", Method(tensors=[(F32, [8], None, 1)]),
        segments=[SEGMENT], constant_segment=(0, [0, 0, 32, 48]),
    )  # fmt: skip
    found = open_file(str(path))
    assert ranges(path, found.stored.constants)[1:] == [b"a" * 32, b"b" * 16, b"c" * 10]
    assert found.problems == ()


def test_initial_states_of_several_lists_follow_one_another(tmp_path):
    method = Method(tensors=[(F32, [4], (1, 0, 0), 1)], memories=[0, 16])
    path = write_program(
        tmp_path / "a.pte", method, segments=[b"s" * 16, b"t" * 8],
        states=[(0, [0, 0]), (1, [0, 0])],
    )  # fmt: skip
    found = open_file(str(path))
    states = ranges(path, found.stored.states)
    assert (states[1], states[3]) == (b"s" * 16, b"t" * 8)
    assert found.methods[0].tensors.constant.tolist() == [1]


def test_names_can_share_data_and_a_missing_segment_is_empty(tmp_path):
    path = write_program(
        tmp_path / "a.pte", Method(), segments=[b"x" * 8], named=[("a", 0), ("b", 0), ("c", 7)]
    )
    found = open_file(str(path))
    assert found.stored.names == ("a", "b", "c")
    assert ranges(path, found.stored.named) == [b"x" * 8, b"x" * 8, b""]
    assert [p.kind for p in found.problems] == ["data refers to a missing segment"]


def test_constants_and_delegates_inside_the_flatbuffer(tmp_path):
    method = Method(
        instructions=[(KERNEL, 0, [0]), (DELEGATE, 0, [0])], delegates=[("Own", False, 0)],
        tensors=[(F32, [2], None, 1)],
    )  # fmt: skip
    path = write_program(
        tmp_path / "a.pte", method, constants=[b"", b"w" * 8], inline=[b"d" * 24], header=0
    )
    stored = open_file(str(path)).stored
    assert ranges(path, stored.constants) == [b"", b"w" * 8]
    assert ranges(path, stored.delegates) == [b"d" * 24]


def test_ranges_in_a_bundle_count_from_the_start_of_its_file():
    path = DATA / "pte" / "same.bpte"
    stored = open_file(str(path)).stored
    assert ranges(path, stored.program)[0][4:8] == b"ET12"
    assert int(stored.content.start[0]) == int(stored.program.start[0]) > 0


@pytest.mark.nightly
def test_damaged_offsets_are_counted_and_stay_inside_the_file(tmp_path):
    path = write_program(
        tmp_path / "a.pte", Method(tensors=[(F32, [8], None, 9)]),
        segments=[SEGMENT], constant_segment=(0, [0, 40, 0, 1 << 63]),
    )  # fmt: skip
    found = open_file(str(path))
    assert [b"".join(ranges(path, found.stored.constants)[i : i + 1]) for i in (1, 2, 3)] == [
        SEGMENT[40:], SEGMENT[:40], b""
    ]  # fmt: skip
    assert {p.kind for p in found.problems} == {
        "constant starts outside its segment", "tensor with missing data"
    }  # fmt: skip
