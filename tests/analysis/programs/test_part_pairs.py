"""Parts of two files that belong together."""

from dataclasses import replace

from tests.paths import DATA
from viewer.analysis.programs.part_pairs import NONE, paired_parts
from viewer.analysis.programs.user_pairs import PairedBy
from viewer.analysis.sizes.file_parts import FileParts, file_parts
from viewer.analysis.sizes.stored_items import ItemKind
from viewer.formats import open_file

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
