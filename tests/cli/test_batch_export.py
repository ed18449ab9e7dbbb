"""A folder of profiles, several at a time: each with its record, none stopped by another."""

import csv
import os
import shutil

import pytest

from tests.builders.workspaces import workspace_of
from tests.paths import ROOT
from viewer.cli import batch_export, main
from viewer.cli.batch_export import ENDED, plan, run
from viewer.codecs.memory_budget import BUDGET
from viewer.codecs.reading import no_progress
from viewer.workspace.exports import prepare

pytestmark = pytest.mark.slow

DATA = ROOT / "tests" / "data"
SAMPLE = ROOT / "resources" / "samples" / "attention_xnnpack"
DUMP, RECORD = SAMPLE / "attn_xnnpack_x5.etdp", SAMPLE / "attn_teal_xnnpack.etrecord"


@pytest.fixture
def folder(tmp_path):
    """Two profiles with the record that one of them is of, a broken one, and a text."""
    made = tmp_path / "in"
    (made / "deep").mkdir(parents=True)
    for path in (DUMP, RECORD):
        shutil.copy(path, made / path.name)
    shutil.copy(DATA / "torq/runtime_r0_nss.csv", made / "deep" / "jobs.csv")
    shutil.copy(DATA / "etdump/BAD_truncated.etdp", made / "deep" / "broken.etdp")
    (made / "notes.txt").write_text("what was measured when")
    return made


def opscope(capsys, *arguments):
    try:
        code = main(["export", *map(str, arguments)])
    except SystemExit as stopped:
        code = stopped.code
    out, err = capsys.readouterr()
    return code, out, err


def written(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_every_profile_is_written_with_its_record(folder, tmp_path, capsys):
    out = tmp_path / "out"
    code, told, complaints = opscope(capsys, "--jobs", 2, folder, "-o", out)
    assert written(out) == ["attn_xnnpack_x5.pftrace", "deep/jobs.pftrace"]
    assert code == 1
    assert told == f"wrote 2 of 3 profiles to {out}, 1 failed, 1 other file skipped\n"
    assert "broken.etdp (byte" in complaints
    space = workspace_of(folder / DUMP.name, folder / RECORD.name)
    alone = tmp_path / "alone.pftrace"
    prepare(space, str(alone))(no_progress, lambda: False)
    assert (out / "attn_xnnpack_x5.pftrace").read_bytes() == alone.read_bytes()


def test_tables_of_any_kind(folder, tmp_path, capsys):
    (folder / "deep" / "broken.etdp").unlink()
    out = tmp_path / "out"
    arguments = ("--jobs", 1, folder, "-o", out, "--table", "statistics", "--by", "name")
    assert opscope(capsys, *arguments, "--to", ".parquet")[0] == 0
    assert written(out) == ["attn_xnnpack_x5.parquet", "deep/jobs.parquet"]
    # What a profile has not is a failure of that file alone.
    code, told, complaints = opscope(capsys, *arguments[:-1], "operator", "--to", ".tsv")
    assert (code, "wrote 1 of 2" in told) == (1, True)
    assert "jobs.csv: No statistics by operator" in complaints


def test_texts_as_they_are(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    text = "process,thread,name,start_ns,dur_ns\np,t,=1+1,0,1\n"
    (tmp_path / "in" / "a.csv").write_text(text)
    out = tmp_path / "out"
    arguments = ("--jobs", 1, tmp_path / "in", "-o", out, "--to", ".csv")
    assert opscope(capsys, *arguments)[0] == 0
    assert ",'=1+1," in (out / "a.csv").read_text()
    assert opscope(capsys, *arguments, "--raw")[0] == 0
    assert ",=1+1," in (out / "a.csv").read_text()


def test_again_writes_over_and_reads_nothing_of_what_it_wrote(folder, capsys):
    out = folder / "out"
    opscope(capsys, "--jobs", 1, folder, "-o", out, "--table", "slices", "--to", ".csv")
    first = {path: (out / path).read_bytes() for path in written(out)}
    opscope(capsys, "--jobs", 2, folder, "-o", out, "--table", "slices", "--to", ".csv")
    assert {path: (out / path).read_bytes() for path in written(out)} == first
    assert len(first) == 2


def test_profiles_of_one_name_have_targets_of_their_own(tmp_path):
    for name in ("run.etdp", "run.csv"):
        source = DUMP if name.endswith("etdp") else DATA / "torq/runtime_r0_nss.csv"
        shutil.copy(source, tmp_path / name)
    tasks = plan(str(tmp_path), str(tmp_path / "out"), ".pftrace").tasks
    assert sorted(os.path.basename(task.target) for task in tasks) == [
        "run.csv.pftrace", "run.etdp.pftrace",
    ]  # fmt: skip


def test_the_record_of_its_own_name_comes_before_all_others(tmp_path):
    shutil.copy(DUMP, tmp_path / "a.etdp")
    for name in ("a", "b", "c"):
        shutil.copy(RECORD, tmp_path / f"{name}.etrecord")
    (task,) = plan(str(tmp_path), str(tmp_path / "out"), ".csv").tasks
    assert [os.path.basename(path) for path in task.records] == ["a.etrecord"]
    (tmp_path / "a.etrecord").unlink()
    (task,) = plan(str(tmp_path), str(tmp_path / "out"), ".csv").tasks
    assert [os.path.basename(path) for path in task.records] == ["b.etrecord", "c.etrecord"]


def test_of_many_records_the_one_that_belongs_to_a_profile_is_linked(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(DATA / "etdump/demo_str_x4.etdp", folder / "a.etdp")
    for path in (DATA / "etrecord").glob("*.etrecord"):
        shutil.copy(path, folder / f"other_{path.name}")
    (folder / "broken.etrecord").write_bytes(RECORD.read_bytes()[:1000])
    (task,) = plan(str(folder), str(tmp_path / "out"), ".csv").tasks
    assert len(task.records) > 20
    outcome = batch_export.write(task, "slices", None, False)
    assert not outcome.failure
    with open(task.target, newline="") as file:
        assert any("aten" in row["operators"] for row in csv.DictReader(file))


def end_with_some(task, table, by, raw):
    """As a fault in a library would: the process is gone at once."""
    if "deep" in task.profile:
        os._exit(139)
    return batch_export.write(task, table, by, raw)


def test_a_file_that_ends_its_process_stops_no_other(folder, tmp_path):
    (folder / "deep" / "broken.etdp").unlink()
    for number in range(5):
        shutil.copy(DUMP, folder / f"more{number}.etdp")
    tasks = plan(str(folder), str(tmp_path / "out"), ".csv").tasks
    told = []
    outcomes = run(tasks, 2, "slices", None, told.append, end_with_some)
    assert [outcome.task for outcome in outcomes] == list(tasks)
    assert len(told) == len(tasks)
    failed = {os.path.basename(o.task.profile): o.failure for o in outcomes if o.failure}
    assert list(failed) == ["jobs.csv"]
    assert failed["jobs.csv"].endswith(ENDED)
    assert len(written(tmp_path / "out")) == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--jobs", "0", "IN", "-o", "OUT"], "at least 1"),
        (["--jobs", "2", "IN/notes.txt", "-o", "OUT"], "requires one folder"),
        (["--jobs", "2", "IN", "IN", "-o", "OUT"], "requires one folder"),
        (["--jobs", "2", "IN", "-o", "IN"], "this is the input folder"),
        (["--jobs", "2", "IN", "-o", "IN/notes.txt"], "this must be a folder"),
        (["--jobs", "2", "IN", "-o", "OUT", "--clock", "1GHz"], "options for single files"),
        (["--jobs", "2", "IN", "-o", "OUT", "--range", "1ms:2ms"], "options for single files"),
        (["--jobs", "2", "IN", "-o", "OUT", "--table", "slices", "--by", "name"], "statistics"),
        (["--jobs", "2", "IN", "-o", "O", "--table", "untimed", "--to", ".pftrace"], "tables are"),
        (["--jobs", "2", "IN", "-o", "OUT", "--raw"], "--raw applies only"),
        (["IN/notes.txt", "-o", "x.parquet", "--raw"], "--raw applies only"),
        (["IN/notes.txt", "-o", "x.csv", "--to", ".csv"], "--to requires --jobs"),
    ],
)
def test_wrong_usage_is_said(folder, tmp_path, capsys, arguments, words):
    given = [a.replace("IN", str(folder)).replace("OUT", str(tmp_path / "o")) for a in arguments]
    code, _, complaints = opscope(capsys, *given)
    assert code == 2
    assert words in complaints


def test_an_empty_folder_is_told(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    code, told, _ = opscope(capsys, "--jobs", 1, tmp_path / "in", "-o", tmp_path / "out")
    assert (code, told) == (1, f"wrote 0 of 0 profiles to {tmp_path / 'out'}\n")


@pytest.mark.nightly
def test_a_profile_that_is_too_large_for_its_share_of_the_memory_is_written_alone(
    tmp_path, monkeypatch
):
    source = tmp_path / "in"
    source.mkdir()
    rows = "".join(f"p,t,name,{i},1\n" for i in range(2_500_000))
    (source / "large.csv").write_text("process,thread,name,start_ns,dur_ns\n" + rows)
    shutil.copy(DATA / "table_csv/two_threads.csv", source / "small.csv")
    monkeypatch.setattr(BUDGET, "available", lambda: 600 << 20)
    heard = []
    outcomes = run(plan(str(source), str(tmp_path / "out"), ".csv").tasks, 4, "slices", None,
                   heard.append)  # fmt: skip
    assert [outcome.failure for outcome in outcomes] == ["", ""]
    assert [os.path.basename(outcome.task.profile) for outcome in heard] == [
        "small.csv",
        "large.csv",
    ]
