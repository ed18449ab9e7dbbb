"""Lakes do not lie: what is missing, changed or damaged is named by every command."""

import json
import os
import re
import shutil

import pyarrow.compute as pc
import pytest
from pyarrow import parquet

from tests.builders.command_line import run
from tests.builders.fleet_dumps import PATTERN, write_fleet
from tests.builders.lakes import built, rows
from viewer.fleet.build import compact
from viewer.fleet.lake import Lake, UnusableLake

pytestmark = pytest.mark.slow

SUM = "SELECT count(*) AS n, sum(self_ns) AS ns FROM inference_operators"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    write_fleet(folder, 4, models=1, devices=1, builds=4)
    return folder


@pytest.fixture(scope="module")
def sound(source, tmp_path_factory):
    """A lake of two batches."""
    lake = tmp_path_factory.mktemp("sound") / "lake"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("viewer.fleet.build.MOST_UNITS", 2)
        built(lake, source)
    return lake


@pytest.fixture
def lake(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "lake")


def opscope(capsys, *words):
    return run(capsys, "fleet", *map(str, words))


def a_file(lake, table="inference_operators"):
    return min((lake / f"table={table}").rglob("*.parquet"))


def delete(path):
    path.unlink()


def cut(path):
    path.write_bytes(path.read_bytes()[:-5])


def multiply(path):
    """Times that are a thousand times as long, in a sound file of whatever size."""
    table = parquet.read_table(path)
    at = table.column_names.index("self_ns")
    made = table.set_column(at, "self_ns", pc.multiply(table.column(at), 1000))
    parquet.write_table(made, path, compression="zstd")


def same_size(path):
    """Other text in the metadata of a file: it can be read as before."""
    data = path.read_bytes()
    at = data.rfind(b"opscope.table")
    path.write_bytes(
        data[:at] + b"o" + data[at + 1 :].replace(b"opscope.schema", b"opscope.schemb")
    )


def linked(path):
    path.rename(path.with_name("kept"))
    path.symlink_to("kept")


LOSSES = {
    "deleted": (delete, "missing"),
    "cut": (cut, "bytes in place of"),
    "changed": (multiply, "bytes in place of"),
    "of the same size": (same_size, "its bytes are not those that were written"),
    "a link": (linked, "missing"),
}


@pytest.mark.parametrize(("change", "reason"), LOSSES.values(), ids=LOSSES)
def test_lost_files_are_named_by_every_command(lake, tmp_path, capsys, change, reason):
    path = a_file(lake)
    count = parquet.read_metadata(path).num_rows
    change(path)
    name = path.relative_to(lake).as_posix()
    said = rf"opscope: {lake}: answers lack {count} rows of 1 file: {name} \(.*{reason}.*"
    page = tmp_path / "page.html"
    for words in (
        ("query", lake, SUM),
        ("report", lake, "-o", page),
        ("compare", lake, "--a", "build=build0", "--b", "build=build3"),
        ("query", lake, "SELECT 1"),
    ):
        code, _, err = opscope(capsys, *words)
        assert code in (0, 2)  # one build of an arm may be lost
        assert re.fullmatch(said, err.splitlines()[-1])
        assert opscope(capsys, *words, "--strict")[0] == (code or 1)
    text = re.sub("<[^>]*>", " ", page.read_text().split('id="problems"')[1])
    assert f"answers lack {count} rows of 1 file" in text
    code, out, _ = opscope(capsys, "status", lake)
    assert (code, f"answers lack {count} rows of 1 file: {name}" in out) == (0, True)
    code, out, _ = opscope(capsys, "status", lake, "--json", "--strict")
    assert (code, [one["rows"] for one in json.loads(out)["lost"]]) == (1, [count])
    assert re.fullmatch(said, opscope(capsys, "compact", lake)[2].splitlines()[0])


def test_no_figure_of_a_changed_file_counts(sound, lake, capsys):
    whole = json.loads(opscope(capsys, "query", sound, SUM, "--json")[1])[0]
    multiply(a_file(lake))
    left = json.loads(opscope(capsys, "query", lake, SUM, "--json")[1])[0]
    assert 0 < left["n"] < whole["n"]
    assert left["ns"] < whole["ns"]


def test_a_build_reads_what_is_lost_again_and_nothing_is_lost_then(sound, lake, source, capsys):
    for change, table in ((delete, "files"), (multiply, "inference_operators"), (cut, "operators")):
        change(a_file(lake, table))
    assert built(lake, source).states == {"done": 2, "kept": 2}
    assert rows(lake) == rows(sound)
    assert opscope(capsys, "query", lake, "SELECT 1", "--strict")[::2] == (0, "")
    compact(Lake(str(lake)), lambda *_: None)
    assert rows(lake) == rows(sound)
    assert opscope(capsys, "status", lake, "--strict")[0] == 0


def footer(data):
    return data[:-8] + b"\x7f\x7f\x7f\x00" + data[-4:]


def page(data):
    """Another byte in the first page that is packed."""
    at = data.find(b"\x28\xb5\x2f\xfd") + 8
    return data[:at] + bytes((data[at] ^ 255,)) + data[at + 1 :]


def junk(data):
    return b"x" * len(data)


@pytest.mark.parametrize("damaged", [footer, page, junk])
def test_a_damaged_file_is_one_sentence_that_names_it(lake, source, tmp_path, capsys, damaged):
    path = a_file(lake)
    path.write_bytes(damaged(path.read_bytes()))
    said = f"opscope: {lake}: {path.relative_to(lake)} is damaged ("
    for words in (
        ("query", lake, "SELECT 1"),
        ("report", lake, "-o", tmp_path / "page.html"),
        ("compare", lake, "--a", "build=build0", "--b", "build=build3"),
        ("compact", lake),
    ):
        code, out, err = opscope(capsys, *words)
        assert (code, out, err.startswith(said), err.count("\n")) == (2, "", True, 1)
    assert not (tmp_path / "page.html").exists()
    assert path.name in opscope(capsys, "status", lake)[1]
    assert built(lake, source).failed == 0
    assert opscope(capsys, "query", lake, "SELECT 1", "--strict")[0] == 0


def without_checksums(lake):
    """As a version wrote it that had none."""
    for path in (lake / "_manifest").glob("*.jsonl"):
        path.write_text(re.sub(r', "checksum": \d+', "", path.read_text()))


@pytest.mark.parametrize("damaged", [footer, junk])
def test_a_damaged_file_without_a_checksum(lake, capsys, damaged):
    without_checksums(lake)
    assert opscope(capsys, "query", lake, SUM, "--strict")[0] == 0
    path = a_file(lake)
    path.write_bytes(damaged(path.read_bytes()))
    code, _, err = opscope(capsys, "query", lake, SUM)
    assert (code, err.count("\n"), path.name in err) == (2, 1, True)


def test_a_page_without_a_checksum_that_cannot_be_unpacked(lake, capsys):
    without_checksums(lake)
    path = a_file(lake)
    data = bytearray(path.read_bytes())
    for at in (i for i in range(len(data)) if data[i : i + 4] == b"\x28\xb5\x2f\xfd"):
        data[at] ^= 255
    path.write_bytes(data)
    code, _, err = opscope(capsys, "query", lake, SUM)
    assert (code, err.count("\n"), f"{path.name} is damaged" in err) == (2, 1, True)


def test_pages_have_checksums_for_other_readers(lake):
    path = a_file(lake)
    path.write_bytes(page(path.read_bytes()))
    with (
        parquet.ParquetFile(path, page_checksum_verification=True) as opened,
        pytest.raises(OSError, match="CRC"),
    ):
        opened.read()


def test_files_that_no_line_names_and_damaged_lines_are_named(lake, capsys):
    path = a_file(lake)
    stray = path.with_name("0123456789abcdef-0123456789ab.parquet")
    shutil.copy(path, stray)
    (lake / "_manifest" / "z.jsonl").write_text("{}\n")
    code, _, err = opscope(capsys, "query", lake, SUM, "--strict")
    assert (code, err.splitlines()) == (1, [
        f"opscope: {lake}: answers lack 1 Parquet file that the manifest does not name: "
        f"{stray.relative_to(lake)}",
        f"opscope: {lake}: 1 line of the manifest cannot be read: what they state does not count",
    ])  # fmt: skip


def test_a_lost_manifest_is_named(lake, capsys):
    for path in (lake / "_manifest").iterdir():
        path.unlink()
    code, out, err = opscope(capsys, "query", lake, SUM, "--json", "--strict")
    assert (code, json.loads(out)[0]["n"]) == (1, 0)
    assert "Parquet files that the manifest does not name" in err


def test_a_table_with_other_columns_is_damaged(lake):
    without_checksums(lake)
    path = a_file(lake)
    table = parquet.read_table(path)
    for made, reason in (
        (table.set_column(0, "key", pc.binary_length(table.column(0)).cast("int64")), "column key"),
        (table.append_column("KEY", table.column(0)), "column KEY twice"),
    ):
        parquet.write_table(made, path)
        for manifest in (lake / "_manifest").glob("*.jsonl"):
            manifest.write_text(
                re.sub(
                    rf'("path": "{path.relative_to(lake)}", "part": "[^"]*", "size": )\d+',
                    rf"\g<1>{path.stat().st_size}",
                    manifest.read_text(),
                )
            )
        opened = Lake(str(lake))
        with pytest.raises(UnusableLake, match=reason):
            opened.refuse_damage()


def test_a_compaction_between_listing_and_checking_loses_nothing(lake):
    """A reader that has read the manifest, and finds its files gone, reads it again."""
    opened = Lake(str(lake))
    read, done = opened.read, []

    def then_compacted():
        found = read()
        if not done:
            done.append(compact(Lake(str(lake)), lambda *_: None))
        return found

    opened.read = then_compacted
    assert opened.check() == {}
    assert (done[0] > 0, opened.losses.sentences) == (True, [])


def test_a_link_in_the_place_of_a_folder_is_named(lake, tmp_path, capsys):
    folder = a_file(lake).parent
    os.rename(folder, tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    code, _, err = opscope(capsys, "query", lake, SUM, "--strict")
    assert (code, "answers lack" in err) == (1, True)
    arguments = ("build", tmp_path, "-o", lake, "--jobs", "1", "--from-path", PATTERN)
    code, _, err = opscope(capsys, *arguments)
    assert (code, err.count("\n")) in ((0, 1), (1, 1), (2, 1))
