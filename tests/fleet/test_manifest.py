"""Lines of a manifest: what counts, what is ignored and counted, whatever a stranger wrote."""

import hashlib
import json

import pytest

from viewer.fleet import manifest as module
from viewer.fleet.lake_folder import LakeFolder
from viewer.fleet.manifest import ManifestReader
from viewer.fleet.manifest_lines import LakeFile

BATCH = "0123456789abcdef-0123456789ab"
BUILD = "fedcba9876543210"
NAME_1 = "compact-0000000000000001"


def file(table="files", rows=1, name=BATCH, **more):
    return {
        "table": table, "schema": 1, "path": f"table={table}/schema=1/{name}.parquet",
        "part": f"_tmp/{BUILD}/{name}.{table}.parquet", "size": 10, "rows": rows, "checksum": 5,
    } | more  # fmt: skip


def unit(source="a.etdp", at=1, **more):
    return {"kind": "unit", "batch": BATCH, "at": at, "source": source, "size": 5, "stamp": "s",
            "state": "done", "key": key_of(source), "rows": {"files": 1}, "reason": "",
            "seconds": 0.5, "problems": 0} | more  # fmt: skip


def key_of(source):
    return hashlib.sha256(repr(source).encode()).hexdigest()


def files(*listed, **more):
    return {"kind": "files", "batch": BATCH, "at": 2, "files": list(listed)} | more


def compaction(number, replaces, rows=1, at=3, dropped=()):
    name = f"compact-{number:016x}"
    return {"kind": "compact", "at": at, "file": file(name=name, rows=rows),
            "replaces": [one if "/" in one else path(one) for one in replaces],
            "dropped": list(dropped)}  # fmt: skip


def path(number):
    return f"table=files/schema=1/compact-{int(number):016x}.parquet"


def read(folder, *lines):
    (folder / "_manifest").mkdir(exist_ok=True)
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    (folder / "_manifest" / "a.jsonl").write_text(text)
    return ManifestReader(LakeFolder(str(folder))).refresh()


def test_a_batch_counts_with_its_units(tmp_path):
    found = read(tmp_path, unit(), files(file()))
    assert (found.ignored, list(found.sources), list(found.rows)) == (
        0,
        ["a.etdp"],
        [key_of("a.etdp")],
    )
    assert found.live_files() == [LakeFile(**file())]


OUTSIDE = (
    "../x", "/etc/x", "table=files/schema=1/../../../x", "..\\x", "C:\\x", "", ".", "_lock",
    f"table=files/schema=1/{BATCH}.parquet\n", f"table=files/schema=1/{BATCH}.parquet/../x",
    f"table=files/schema=1/{BATCH}\0.parquet", f"table=other/schema=1/{BATCH}.parquet",
    f"table=operators/schema=1/{BATCH}.parquet", f"table=files/schema=2/{BATCH}.parquet",
    f"table=files/schema=1/{BATCH.upper()}.parquet", f"table=files/schema=01/{BATCH}.parquet",
    f"table=files/schema=1/build=/{BATCH}.parquet", f"table=files/schema=1/../{BATCH}.parquet",
    f"table=files/schema=1/build=a/b/{BATCH}.parquet", f"table=files/schema=1/x=1/{BATCH}.parquet",
    f"table=files/schema=1/build=\\/{BATCH}.parquet", f"table=files/schema=-1/{BATCH}.parquet",
    f"table=files//schema=1/{BATCH}.parquet", None, 5, [],
)  # fmt: skip


@pytest.mark.parametrize("wrong", OUTSIDE)
def test_paths_of_another_form_are_ignored(tmp_path, wrong):
    parts = f"_tmp/{BUILD}/{BATCH}.files.parquet"
    for name, bad in (("path", wrong), ("part", wrong), ("part", f"{parts}{wrong or '/'}")):
        found = read(tmp_path, unit(), files(file(**{name: bad})))
        assert (found.ignored, found.files, found.sources) == (1, {}, {})
    if wrong != f"table=files/schema=2/{BATCH}.parquet":
        bad = {**compaction(1, []), "replaces": [wrong]}
        found = read(tmp_path, unit(), files(file()), bad)
        assert (found.ignored, found.replaced) == (1, {})


WRONG = (
    "", "[]", "null", "5", '"x"', "{}", '{"kind": "x"}', '{"kind": ["unit"]}', "{", "[" * 100_000,
    "9" * 5000, "\0", unit(at=float("nan")), unit(at=float("inf")), unit(at=10**400), unit(at=-1),
    unit(at=True), unit(at=None), unit(size=-1), unit(size=2.5), unit(size=True), unit(size="5"),
    unit(size=2**80), unit(source="a\0b"), unit(source=None), unit(key=5), unit(state="x"),
    unit(key="x"), unit(key="A" * 64), {"kind": "unit", "at": 1, "source": "a.etdp"},
    unit(rows={"files": -1}), unit(rows={"other": 1}), unit(rows=[]), unit(problems=-1),
    unit(seconds=float("nan")), {"kind": "files", "batch": BATCH}, files(file(rows=-1)),
    files(file(rows=1.0)), files(file(size=-1)), files(file(size=None)), files(file(schema=0)),
    files(file(table="x")), files(file(checksum="x")), files(5), files(files=5), files(batch=None),
    {**compaction(1, []), "dropped": [5]}, {**compaction(1, []), "file": None},
)  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_lines_that_cannot_be_read_are_counted_and_the_others_count(tmp_path, wrong):
    other = "fedcba9876543210-0123456789ab"
    found = read(
        tmp_path,
        wrong,
        unit("b.etdp", batch=other),
        files(file(name=other), batch=other),
    )
    assert (found.ignored, list(found.sources)) == (1, ["b.etdp"])


@pytest.mark.parametrize(
    "lines",
    [
        (files(file()),),
        (unit(), files(file(rows=2))),
        (unit(rows={"files": 2}), files(file())),
        (unit(rows={"files": 1, "operators": 3}), files(file())),
        (unit(), files(file(), file("operators", 3))),
        (unit(), unit("b.etdp"), files(file())),
        (files(file()), unit()),
        (unit(key=""), files(file())),
        (unit(), unit("b.etdp", key=key_of("a.etdp")), files(file(rows=2))),
        (unit(), files(file(), file())),
        (unit(), files(file(name=f"{BUILD}-0123456789ab"))),
    ],
)
def test_a_batch_whose_units_and_files_differ_counts_neither_way(tmp_path, lines):
    found = read(tmp_path, *lines)
    assert (found.ignored, found.files, found.sources) == (1, {}, {})


def test_a_batch_counts_once(tmp_path):
    found = read(tmp_path, unit(), files(file()), unit(), files(file()))
    assert (found.ignored, len(found.files), len(found.rows)) == (1, 1, 1)


OWN = f"table=files/schema=1/{BATCH}.parquet"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("length", [1, 2, 3, 2000])
@pytest.mark.parametrize("has_own", [False, True])
def test_files_that_replace_each_other_in_a_circle_end(tmp_path, length, has_own):
    lines = [
        compaction(n, [str((n + 1) % length), *([OWN] if has_own else [])], at=n)
        for n in range(length)
    ]
    found = read(tmp_path, unit(), files(file()), *lines)
    assert (found.ignored, found.unsettled) == (0, length)
    assert [one.path for one in found.live_files()] == [OWN]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("step", [1, -1])
def test_a_long_chain_of_compactions_ends_at_once(tmp_path, step):
    count = 20_000
    lines = [compaction(n, [str(n - 1)] if n else [OWN], at=step * n + count) for n in range(count)]
    found = read(tmp_path, unit(), files(file()), *lines)
    assert (found.ignored, found.unsettled) == (0, 0)
    assert {found.path_of(one) for one in found.files} == {path(count - 1)}
    assert found.has_rows(key_of("a.etdp"))


def test_a_compaction_of_files_that_no_line_names_does_not_count(tmp_path):
    """Its profiles are not known, so the next build would read them again, and count them twice."""
    found = read(tmp_path, compaction(1, [OWN]))
    assert (found.files, found.ignored, found.unsettled) == ({}, 0, 1)
    found = read(tmp_path, compaction(1, [OWN]), unit(), files(file()))
    assert (list(found.live_files()), found.unsettled) == ([LakeFile(**file(name=NAME_1))], 0)


@pytest.mark.parametrize(
    ("second", "rows", "dropped", "is_sound"),
    [
        ((), 1, (), True),
        ((), 2, (), False),
        ((), 0, (), False),
        ((), 0, [key_of("a.etdp")], True),
        ((), 1, [key_of("a.etdp")], False),
        ((BATCH,), 1, (), False),
    ],
)
def test_a_compaction_has_the_rows_of_what_it_replaces_once(
    tmp_path, second, rows, dropped, is_sound
):
    own = OWN
    more = [compaction(2, [own], at=4)] if second else []
    found = read(tmp_path, unit(), files(file()), compaction(1, [own], rows, 3, dropped), *more)
    assert found.ignored == (not is_sound or len(more))
    assert [one.path for one in found.live_files()] == [path(1) if is_sound or more else own]


def test_a_compaction_may_stand_before_what_it_replaces(tmp_path):
    found = read(tmp_path, compaction(2, ["1"], at=4), compaction(1, [OWN]), unit(), files(file()))
    assert (found.ignored, [one.path for one in found.live_files()]) == (0, [path(2)])


def test_links_in_the_manifest_are_counted_once_and_not_read(tmp_path):
    read(tmp_path, unit(), files(file()))
    (tmp_path / "a.jsonl").write_text(json.dumps(unit("b.etdp", state="failed")) + "\n")
    (tmp_path / "_manifest" / "b.jsonl").symlink_to(tmp_path / "a.jsonl")
    reader = ManifestReader(LakeFolder(str(tmp_path)))
    for _ in range(2):
        assert (reader.refresh().ignored, list(reader.manifest.sources)) == (1, ["a.etdp"])


def test_a_line_without_an_end_is_not_read_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_LONGEST", 1000)
    reader_of = lambda: ManifestReader(LakeFolder(str(tmp_path)))  # noqa: E731
    read(tmp_path, unit(), files(file()))
    with open(tmp_path / "_manifest" / "a.jsonl", "a") as opened:
        opened.write("x" * 5000)
    reader = reader_of()
    for _ in range(2):
        assert reader.refresh().ignored == 1
    assert list(reader.manifest.sources) == ["a.etdp"]


def test_paths_that_are_not_utf_8_are_read(tmp_path):
    found = read(tmp_path, unit("a\udcff.etdp"), files(file()))
    assert list(found.sources) == ["a\udcff.etdp"]
