"""What can be a reference, and why something else cannot."""

import zipfile

import pytest

from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.gui.session.feeds.references import (
    Automatic,
    FileKind,
    NumbersChoice,
    Reference,
    found_choice,
    has_pickled_references,
    has_values,
    kept_choice,
    kind_of_file,
    offered_references,
)
from viewer.view.sessions.session_file import SavedInput, SavedNumbers


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("reference.npz", FileKind.ARRAYS),
        ("mixed.bpte", FileKind.EXPECTED),
        ("portable.etdp", FileKind.PROFILE),
        ("portable.bin", FileKind.BUFFER),
    ],
)
def test_files_are_recognized_by_their_contents(data, name, kind):
    assert kind_of_file(str(data / "numbers" / name)) is kind


def test_an_etrecord_has_no_values(data):
    with pytest.raises(UnreadableFile, match="has the model, and no logged values"):
        kind_of_file(str(data / "numbers/portable.etrecord"))


def test_the_pickle_of_an_etrecord_is_never_loaded(data, tmp_path):
    path = tmp_path / "with.etrecord"
    path.write_bytes((data / "numbers/portable.etrecord").read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("reference_outputs", b"cos\nsystem\n(S'false'\ntR.")
    assert has_pickled_references(str(path))
    with pytest.raises(UnreadableFile, match=r"a pickle, which is never loaded. Save them as .npz"):
        kind_of_file(str(path))
    assert not has_pickled_references(str(data / "numbers/portable.bin"))


def test_other_formats_are_named(data):
    with pytest.raises(UnreadableFile, match="A reference is another ETDump"):
        kind_of_file(str(data / "pte/llama.pte"))


def test_open_profiles_with_values_and_bundles_are_offered(data):
    folder = data / "numbers"
    own, other = (open_file(str(folder / name)) for name in ("xnnpack.etdp", "portable.etdp"))
    none = open_file(str(data / "pte/cond.etdp"))
    assert [has_values(one) for one in (own, other, none)] == [True, True, False]
    paths = [str(folder / "mixed.bpte"), str(data / "pte/llama.pte")]
    found = offered_references([own, other, none], paths, own.path)
    assert [one.name for one in found] == ["portable.etdp", "mixed.bpte"]
    assert Reference(paths[0], 1).name == "mixed.bpte · test case 1"


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / name for name in ("ref.npz", "one.bin", "two.bin")]
    for path in paths:
        path.write_bytes(b"x")
    return list(map(str, paths))


@pytest.mark.parametrize("reference", [*Automatic, Reference("ref.npz"), Reference("ref.npz", 3)])
def test_a_choice_comes_back(files, tmp_path, reference):
    if isinstance(reference, Reference):
        reference = Reference(files[0], reference.case)
    choice = NumbersChoice(reference, tuple(files[1:]))
    saved = kept_choice(choice, str(tmp_path))
    assert found_choice(saved, str(tmp_path), []) == (choice, [])


def test_the_default_takes_no_room_in_a_session_file(tmp_path):
    assert kept_choice(NumbersChoice(), str(tmp_path)) == SavedNumbers()


def test_files_are_found_next_to_a_session_file_that_was_moved(files, tmp_path):
    saved = kept_choice(NumbersChoice(Reference(files[0]), (files[1],)), str(tmp_path))
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("ref.npz", "one.bin"):
        (tmp_path / name).rename(moved / name)
    found, missing = found_choice(saved, str(moved), [])
    assert found == NumbersChoice(Reference(str(moved / "ref.npz")), (str(moved / "one.bin"),))
    assert missing == []


def test_a_missing_file_is_named_and_the_rest_remains(files, tmp_path):
    saved = kept_choice(NumbersChoice(Reference(files[0]), tuple(files[1:])), str(tmp_path))
    for gone in (0, 2):
        (tmp_path / files[gone]).unlink()
    found, missing = found_choice(saved, str(tmp_path), [])
    assert found == NumbersChoice(Automatic.COMPARED, (files[1],))
    assert missing == ["ref.npz", "two.bin"]


def test_an_input_of_the_session_is_where_the_user_found_it(files, tmp_path):
    gone = SavedInput("gone.etdp", absolute="/gone/gone.etdp")
    found, missing = found_choice(
        SavedNumbers(gone), str(tmp_path), [(gone, "/here/renamed.etdp"), (gone, None)]
    )
    assert (found.reference, missing) == (Reference("/here/renamed.etdp"), [])
