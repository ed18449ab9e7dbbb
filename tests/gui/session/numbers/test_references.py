"""What can be a reference, and why something else cannot."""

import zipfile

import pytest

from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.gui.session.numbers.references import (
    FileKind,
    Reference,
    has_pickled_references,
    has_values,
    kind_of_file,
    offered_references,
)


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
