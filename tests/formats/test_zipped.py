"""A ZIP archive opens as the one profile in it; any other says what it is."""

import json
import tempfile
import zipfile

import pytest

from tests.builders.runtime_files import FILES
from tests.paths import DATA
from viewer.codecs.reading import ReadCancelled, UnreadableFile
from viewer.formats import no_progress, open_file
from viewer.formats.folders import look_through
from viewer.formats.table.stated_columns import ColumnsNeeded
from viewer.formats.zipped import table_layout

DUMP = (DATA / "etdump/demo_str_x4.etdp").read_bytes()


def archive(tmp_path, **members):
    path = tmp_path / "attached.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


def refusal(path):
    with pytest.raises(UnreadableFile) as refused:
        open_file(str(path))
    return str(refused.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize("name", ["run.etdp", "a/b/../c/run.etdp", "..", "\\evil\x01.etdp"])
def test_the_profile_in_it_is_read_as_the_file_itself(tmp_path, name):
    path = archive(tmp_path, **{"README.txt": "notes", name: DUMP, "config.json": '{"a": 1}'})
    trace, alone = open_file(str(path)), open_file(str(DATA / "etdump/demo_str_x4.etdp"))
    assert trace.path == str(path)
    assert trace.format == "ETDump"
    assert trace.slices.start.tolist() == alone.slices.start.tolist()
    assert trace.slices.end.tolist() == alone.slices.end.tolist()


@pytest.mark.parametrize("name", FILES)
def test_every_profile_of_another_runtime(tmp_path, name):
    trace = open_file(str(archive(tmp_path, **{name: FILES[name][0]})))
    assert trace.format == FILES[name][1]


def test_a_log_alone_is_read_and_beside_a_profile_left_out(tmp_path):
    log, bare = (DATA / "logs/litert_logcat.txt").read_bytes(), b"11-20 09:12:40.000 1 1 I a: b\n"
    assert open_file(str(archive(tmp_path, **{"logcat.txt": log}))).format == "LiteRT benchmark"
    assert open_file(str(archive(tmp_path, **{"a.log": log, "b.etdp": DUMP}))).format == "ETDump"
    assert "a.log in it: this is lines of Android's log, and no profile is in it" in refusal(
        archive(tmp_path, **{"a.log": bare * 9})
    )


def test_what_macos_adds_does_not_count(tmp_path):
    table = "a,b,c\nconv,1,2\nrelu,5,3\n"  # asks for its columns if it is alone
    added = {"__MACOSX/._run.csv": b"\0\x05\x16\x07", ".DS_Store": b"\0\0\0\1Bud1"}
    with pytest.raises(ColumnsNeeded):
        open_file(str(archive(tmp_path, **added, **{"run.csv": table})))
    assert "a ZIP archive with no files" in refusal(archive(tmp_path, **added))


def test_several_profiles_are_named(tmp_path):
    path = archive(tmp_path, **{"a.etdp": DUMP, "b.etdp": DUMP})
    assert refusal(path) == (
        "2 profiles are in this ZIP archive: a.etdp, b.etdp. Unpack it, and open the folder"
    )


def test_an_archive_without_any_says_what_is_in_it(tmp_path):
    path = archive(tmp_path, **{f"{i}.txt": "x" for i in range(6)})
    assert "a ZIP archive with 0.txt, 1.txt, 2.txt, 3.txt and 2 more files" in refusal(path)
    assert "a ZIP archive with no files" in refusal(archive(tmp_path))


def test_an_archive_in_an_archive_stays_closed(tmp_path):
    inner = archive(tmp_path, **{"a.etdp": DUMP}).read_bytes()
    assert "no profile is in it" in refusal(archive(tmp_path, **{"inner.zip": inner}))


def test_what_is_wrong_with_the_profile_names_it(tmp_path):
    path = archive(tmp_path, **{"run.csv": "process,thread,name,start_ns,dur_ns\n" + "a,b,c,x,1\n"})
    assert "a.etdp" not in refusal(path)
    path = archive(tmp_path, **{"trace.json": '{"traceEvents": 5}'})
    assert refusal(path).startswith("trace.json in it: ")


@pytest.mark.slow
def test_what_grows_like_a_bomb_is_refused_before_it_is_unpacked(tmp_path):
    event = json.dumps({"ph": "X", "name": "a", "ts": 1, "dur": 2})
    path = archive(tmp_path, **{"trace.json": f'{{"traceEvents": [{event},' + " " * (40 << 20)})
    assert "grows 300 times or more when unpacked" in refusal(path)


def test_a_damaged_archive_says_so(tmp_path):
    path = archive(tmp_path, **{"run.etdp": DUMP})
    path.write_bytes(path.read_bytes()[:-40])
    assert refusal(path).startswith("this ZIP archive is damaged or cut off")
    data = bytearray(archive(tmp_path, **{"run.etdp": DUMP}).read_bytes())
    data[60:90] = bytes(30)
    path.write_bytes(data)
    assert refusal(path).startswith("this ZIP archive is damaged or cut off")


def test_it_can_be_cancelled_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = archive(tmp_path, **{"run.etdp": DUMP})
    with pytest.raises(ReadCancelled):
        open_file(str(path), no_progress, lambda: True)
    assert [p.name for p in tmp_path.iterdir()] == ["attached.zip"]
    open_file(str(path))
    assert [p.name for p in tmp_path.iterdir()] == ["attached.zip"]


def test_a_folder_offers_it_unselected(tmp_path):
    archive(tmp_path, **{"run.etdp": DUMP})
    assert [(f.name, f.is_meant) for f in look_through(str(tmp_path)).files] == [
        ("attached.zip", False)
    ]


def test_the_layout_of_a_table_is_that_of_the_one_in_an_archive(tmp_path):
    table = "name,start_us,dur_us\nconv,1,2\nrelu,5,3\n"
    plain = tmp_path / "run.csv"
    plain.write_text(table)
    packed = archive(tmp_path, **{"README.txt": "notes", "run.csv": table})
    assert table_layout(str(packed)) == table_layout(str(plain))
    assert table_layout(str(plain)).names == ("name", "start_us", "dur_us")
    with pytest.raises(UnreadableFile, match="2 profiles are in this ZIP archive"):
        table_layout(str(archive(tmp_path, **{"a.csv": table, "b.csv": table})))
