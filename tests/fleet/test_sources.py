"""Which profiles a source has, and what belongs to each."""

import lzma
import os
import shutil

import pytest

from tests.paths import DATA, ROOT
from viewer.fleet.sources import NoSource, find_profiles

DUMP = DATA / "etdump" / "demo_portable_x3.etdp"
RECORD = DATA / "etrecord" / "demo_portable.etrecord"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "in"
    (made / "deep").mkdir(parents=True)
    shutil.copy(DUMP, made / "a.etdp")
    shutil.copy(DUMP, made / "deep" / "b.etdp")
    shutil.copy(RECORD, made / "model.etrecord")
    (made / "run.json").write_text("{}")
    (made / "deep" / "b.run.json").write_text("{}")
    (made / "notes.txt").write_text("none")
    return made


def facts(found):
    return {
        one.file.relative: (
            [os.path.basename(record.path) for record in one.records],
            one.sidecar and one.sidecar.name,
        )
        for one in found.profiles
    }


def test_profiles_with_records_and_sidecars(folder):
    found = find_profiles([str(folder)])
    assert facts(found) == {
        "a.etdp": (["model.etrecord"], "run.json"),
        "deep/b.etdp": ([], "b.run.json"),
    }
    assert (found.others, found.unreadable) == (3, ())


def test_a_folder_of_records_is_for_all_profiles(folder):
    found = find_profiles([str(folder / "deep")], records=str(folder))
    assert facts(found)["b.etdp"][0] == ["model.etrecord"]
    with pytest.raises(NoSource, match="no ETRecord or program"):
        find_profiles([str(folder)], records=str(folder / "deep"))


def test_all_records_of_a_folder_are_one_tuple_for_its_profiles(folder):
    for number in range(12):
        shutil.copy(RECORD, folder / f"other{number}.etrecord")
    shutil.copy(DUMP, folder / "c.etdp")
    first, second = [p for p in find_profiles([str(folder)]).profiles if "/" not in p.file.relative]
    assert len(first.records) == 13
    assert first.records is second.records


def test_hidden_files_links_to_folders_and_pipes_are_left_out(folder):
    shutil.copy(DUMP, folder / ".hidden.etdp")
    (folder / "again").symlink_to(folder / "deep")
    os.mkfifo(folder / "pipe.etdp")
    assert len(find_profiles([str(folder)]).profiles) == 2


def test_a_file_and_its_folder_are_one_profile(folder):
    assert len(find_profiles([str(folder), str(folder / "a.etdp")]).profiles) == 2
    assert find_profiles([str(folder)], leave_out=str(folder / "deep")).profiles[0].file.size > 0


def test_broken_files_are_named_and_missing_sources_are_errors(folder):
    (folder / "broken.etdp").write_bytes(b"nothing")
    ((file, reason),) = find_profiles([str(folder)]).unreadable
    assert (file.name, "broken.etdp" in reason) == ("broken.etdp", True)
    with pytest.raises(NoSource, match="no such file or folder"):
        find_profiles([str(folder / "missing")])
    with pytest.raises(NoSource, match="cannot be listed"):
        find_profiles(["nowhere://bucket"])


def test_packed_files_are_profiles_by_their_content_and_logs_only_if_named(folder):
    shutil.copy(DATA / "logs/litert_logcat.txt", folder / "device.log")
    for name, data in (("c.etdp.xz", DUMP.read_bytes()), ("d.txt.xz", b"none\n" * 99)):
        (folder / name).write_bytes(lzma.compress(data))
    (folder / "damaged.xz").write_bytes(lzma.compress(b"none")[:-20])
    assert {"a.etdp", "deep/b.etdp", "c.etdp.xz"} == facts(find_profiles([str(folder)])).keys()
    named = find_profiles([str(folder / "device.log")])
    assert [one.file.name for one in named.profiles] == ["device.log"]


def test_urls_are_listed_as_folders_are(folder):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(f"{folder}/", "/listed/", recursive=True)
    found = find_profiles(["memory://listed"])
    assert (
        facts(found)
        == facts(find_profiles([f"file://{folder}"]))
        == {
            "a.etdp": (["model.etrecord"], "run.json"),
            "deep/b.etdp": ([], "b.run.json"),
        }
    )
    assert [p.file.path for p in found.profiles] == [
        "memory:///listed/a.etdp", "memory:///listed/deep/b.etdp",
    ]  # fmt: skip
    memory.rm("/listed", recursive=True)


@pytest.mark.parametrize("name", ["a.etrecord", "a.pte", "A.ETRECORD"])
@pytest.mark.parametrize("content", [b"", b"nothing", b"{}", b"import torch\n"])
def test_what_is_named_as_a_record_and_is_none_is_reported(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    listed = find_profiles([str(tmp_path)])
    ((file, reason),) = listed.unreadable
    assert file.name == name
    assert name in reason
    assert (listed.profiles, listed.others) == ((), 0)


def test_samples_are_profiles():
    found = find_profiles([str(ROOT / "resources" / "samples" / "attention_xnnpack")])
    assert [record.name for record in found.profiles[0].records] == ["attn_teal_xnnpack.etrecord"]
