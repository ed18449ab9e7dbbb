"""References and debug buffers in session files."""

import pytest

from viewer.gui.session.numbers.references import Automatic, NumbersChoice, Reference
from viewer.gui.session.numbers.saved_choice import found_choice, kept_choice
from viewer.view.sessions.session_file import SavedInput, SavedNumbers


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
