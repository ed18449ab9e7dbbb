"""Lakes from strangers: every command, in a folder with witnesses outside of the lake."""

import json
import os
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.builders.fleet_dumps import write_fleet
from tests.builders.lakes import built
from tests.paths import DATA
from tests.reliability.lakes.check import command
from tests.reliability.lakes.sound import tree

pytestmark = pytest.mark.slow

HEX = "0123456789abcdef"


@pytest.fixture
def home(tmp_path):
    """A home folder with what an attacker wants to change, and the folder of downloads in it."""
    for name in (".config/autostart/x.desktop", "proj/uv.lock", "proj/uv/data", "proj/Cargo.lock",
                 f"proj/{HEX}.lock", f"proj/{HEX}/data", "proj/x.jsonl", "victim.txt"):  # fmt: skip
        path = tmp_path / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("witness")
    (tmp_path / "home" / "Downloads").mkdir()
    return tmp_path / "home"


def unpacked(name, folder):
    with tarfile.open(DATA / "fleet" / name) as packed:
        packed.extractall(folder, filter="data")
    (lake,) = [path for path in folder.iterdir() if path.is_dir()]
    return lake


def commands(lake, folder):
    """Every command of a lake. The build reads a profile, so that it writes."""
    write_fleet(folder / "fleet", 1, models=1, devices=1, builds=1)
    return [
        ("status", lake),
        ("query", lake, "SELECT count(*) AS n, sum(self_ns) AS ns FROM operators"),
        ("report", lake, "-o", folder / "page.html"),
        ("compare", lake, "--a", "build=1", "--b", "build=2"),
        ("compact", lake),
        ("build", folder / "fleet", "-o", lake, "--jobs", "1"),
        ("compact", lake),
    ]


def run_all(lake, home, folder):
    """Run all commands; nothing outside of the lake changes, and each failure is one line."""
    every = commands(lake, folder)
    before = tree(home, lake)
    said = []
    for words in every:
        one = command(*map(str, words))
        assert one.fault == ""
        assert tree(home, lake) == before, words
        said.append(one)
    return said


def test_a_lake_that_writes_outside(home, tmp_path):
    lake = unpacked("lake_writes_outside.tgz", home / "Downloads")
    said = run_all(lake, home, tmp_path)
    line = "1 line of the manifest cannot be read: what they state does not count\n"
    assert line in said[0].out
    assert (said[1].code, said[1].out.split(), said[1].err) == (
        0, ["n", "ns", "5", "480759"], f"opscope: {lake}: {line}",
    )  # fmt: skip
    assert [one.code for one in said] == [0, 0, 0, 2, 0, 0, 0]


def test_a_lake_with_a_damaged_file(home, tmp_path):
    lake = unpacked("lake_damaged_parquet.tgz", home / "Downloads")
    name = "table=operators/schema=1/d5e10b19f4910ae6-555a8819fbb8.parquet"
    said = run_all(lake, home, tmp_path)
    assert name in said[0].out
    for one in said[1:5]:
        assert (one.code, one.err.count("\n"), f"{name} is damaged (" in one.err) == (2, 1, True)


LINKS = {
    "_tmp": "proj", "_manifest": "proj", "_lock": "new", "table=files": "proj",
    "table=files/schema=1": "proj", f"_tmp/{HEX}": "proj", f"_tmp/{HEX}.lock": "victim.txt",
    f"_tmp/{HEX}.ended": "proj", "_tmp/new.lock": "new", "_manifest/y.jsonl": "proj/x.jsonl",
    "_manifest/z.jsonl": "new",
}  # fmt: skip


@pytest.mark.parametrize("place", LINKS)
def test_links_in_a_lake_are_not_followed(home, tmp_path, place):
    lake = unpacked("lake_writes_outside.tgz", home / "Downloads")
    (lake / "_manifest" / "zzz.jsonl").unlink()
    path = lake / place
    if path.exists():
        path.rename(tmp_path / "moved")
    path.symlink_to(home / LINKS[place])
    said = run_all(lake, home, tmp_path)
    if place in ("_tmp", "_lock"):
        assert [one.code for one in said] == [0, 0, 0, 2, 2, 2, 2]
    if place == "_manifest":
        assert {one.code for one in said} == {2}
        assert "_manifest is a link" in said[0].err


def test_a_dead_build_is_removed_and_what_looks_like_one_stays(home):
    lake = unpacked("lake_writes_outside.tgz", home / "Downloads")
    for name in (HEX, "uv"):
        (lake / "_tmp" / name).mkdir()
        (lake / "_tmp" / f"{name}.lock").touch()
    assert command("compact", str(lake)).code == 0
    assert sorted(os.listdir(lake / "_tmp")) == ["p", "uv", "uv.lock"]


def test_a_lake_may_be_named_by_a_link(home, tmp_path):
    lake = unpacked("lake_writes_outside.tgz", home / "Downloads")
    named = Path(tmp_path / "named")
    named.symlink_to(lake)
    assert [command(name, str(named)).code for name in ("status", "compact")] == [0, 0]


FORGED = {
    "files": {"key": [None, ""], "tags": ["{", "[1]", '{"a": {}}', "5"], "build": [None, "\0"]},
    "inferences": {"dur_ns": [None, -1, 0, 2**63 - 1], "session": [None, -(2**63)],
                   "key": [None], "method": [None, ""], "finished": [None]},
    "inference_operators": {"session": [None], "grain_ns": [None, float("nan"), float("inf")],
                            "level": [None, "x"], "id": [None, "", "9" * 40], "label": [None],
                            "measured": [None], "self_ns": [None, -1, 2**63 - 1]},
    "operators": {"debug_handle": [None, -1, 2**63 - 1], "operator": [None], "outputs": ["{"]},
}  # fmt: skip


@pytest.mark.parametrize("table", FORGED)
def test_values_that_no_profile_has_are_no_error_of_opscope(tmp_path, table):
    """With a manifest that states just these files, so that nothing else notices them."""
    write_fleet(tmp_path / "fleet", 2, models=1, devices=1, builds=2)
    built(lake := tmp_path / "lake", tmp_path / "fleet")
    (path,) = (lake / f"table={table}").rglob("*.parquet")
    (manifest,) = (lake / "_manifest").iterdir()
    rows, lines = parquet.read_table(path), manifest.read_text().splitlines()
    for column, values in FORGED[table].items():
        for value in values:
            at = rows.column_names.index(column)
            field = rows.schema.field(at)
            made = pa.array([value] * rows.num_rows, field.type)
            parquet.write_table(rows.set_column(at, field, made), path)
            changed = [json.loads(line) for line in lines]
            for line in changed:
                for file in line.get("files", ()):
                    if file["table"] == table:
                        file.update(size=path.stat().st_size, checksum=None)
            manifest.write_text("".join(json.dumps(line) + "\n" for line in changed))
            for words in (
                ("report", lake, "-o", tmp_path / "page.html"),
                ("compare", lake, "--a", "build=build0", "--b", "build=build1", "--json"),
            ):
                said = command(*map(str, words))
                assert (said.fault, "answers lack" in said.err) == ("", False), (column, value)
