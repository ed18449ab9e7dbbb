"""Snapshots of a manifest: with one, or with several after another, the answers are the same."""

import json
import random
import shutil

import pytest
from pyarrow import parquet

from tests.fleet.test_manifest import BUILD, file, key_of, unit
from viewer.fleet import manifest_snapshot, snapshot_writer
from viewer.fleet.lake import Lake, session_of
from viewer.fleet.losses import Fault, lost_files, lost_parts
from viewer.fleet.manifest_snapshot import SCHEMAS

TABLES = ("files", "operators", "slices")


class History:
    """Lines of builds and compactions, with changed, copied, failed and lost profiles."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.lines, self.live, self.rows, self.number = [], {}, {}, 0
        while len(self.lines) < 120:
            self.dice.choice((self.batch, self.batch, self.outcome, self.compaction, self.wrong))()

    def source(self):
        return f"/farm/{self.dice.randrange(30):02}\udcff.etdp"

    def at(self):
        return 9 + self.number + self.dice.choice((0, 0, 0, -5))

    def batch(self):
        self.number += 1
        name = f"{self.number:016x}-{self.dice.randrange(1 << 20):012x}"
        keys = {key_of(self.dice.randrange(40)): self.source() for _ in range(3)}
        totals = dict.fromkeys(TABLES, 0)
        for key, source in keys.items():
            rows = {table: self.dice.randrange(3) for table in TABLES if self.dice.random() < 0.8}
            for table, count in rows.items():
                totals[table] += count
                self.rows.setdefault((key, f"table={table}/schema=1/{name}.parquet"), count)
            self.lines.append(unit(source, self.at(), batch=name, key=key, rows=rows))
        files = [file(table, count, name) for table, count in totals.items() if count]
        self.live |= {one["path"]: one for one in files}
        self.lines.append({"kind": "files", "batch": name, "at": self.number, "files": files})

    def outcome(self):
        self.number += 1
        state = self.dice.choice(("kept", "failed", "refused"))
        key = key_of(self.dice.randrange(40)) if state == "kept" else ""
        self.lines.append(
            unit(self.source(), self.at(), state=state, key=key, rows={}, batch="", reason=state)
        )

    def compaction(self):
        table = self.dice.choice(TABLES)
        every = [path for path, one in self.live.items() if one["table"] == table]
        replaces = self.dice.sample(every, min(len(every), self.dice.randrange(1, 5)))
        if not replaces:
            return
        self.number += 1
        keys = sorted({key for key, path in self.rows if path in replaces})
        dropped = self.dice.sample(keys, min(len(keys), self.dice.randrange(3)))
        made = file(table, 0, f"compact-{self.number:016x}")
        for key, path in [one for one in self.rows if one[1] in replaces]:
            count = self.rows.pop((key, path))
            if key not in dropped:
                place = key, made["path"]
                self.rows[place] = self.rows.get(place, 0) + count
                made["rows"] += count
        for path in replaces:
            del self.live[path]
        self.live[made["path"]] = made
        self.lines.append({"kind": "compact", "at": self.number, "file": made,
                           "replaces": replaces, "dropped": dropped})  # fmt: skip

    def wrong(self):
        """A batch again, a compaction again, a compaction of what is replaced, or no line."""
        former = [line for line in self.lines if line and line["kind"] in ("files", "compact")]
        self.lines.append(self.dice.choice([*former, None]))


def answers(lake):
    """All that a manifest answers."""
    manifest = lake.read(require=True)
    sources = {f"/farm/{number:02}\udcff.etdp" for number in range(31)}
    keys = {key_of(number) for number in range(41)}
    dice = random.Random(5)
    paths = sorted(one.path for one in manifest.live_files())
    faults = {path: Fault("missing") for path in paths if dice.random() < 0.3}
    return {
        "states": +manifest.states,
        "failures": sorted((one.source, one.state, one.reason) for one in manifest.failures()),
        "outdated": manifest.outdated(),
        "live": sorted(manifest.live_files(), key=lambda one: one.path),
        "keys": manifest.key_count(),
        "counts": (manifest.lines, manifest.ignored, manifest.unsettled),
        "units": {
            one: unit and (unit.state, unit.stamp, unit.size, unit.state == "kept" and unit.key)
            for one in sources for unit in [manifest.unit(one)]
        },
        "rows": {one: sorted(manifest.rows_of(one)) for one in keys},
        "places": sorted(one for one in manifest.places() if "compact" not in one[0]),
        "lost": lost_files(manifest, faults),
        "lost parts": {one for one in lost_parts(manifest, faults) if "compact" not in one[0]},
    }  # fmt: skip


def append(lake, lines):
    texts = ["{}" if line is None else json.dumps(line) for line in lines]
    with open(lake / "_manifest" / f"{BUILD}.jsonl", "a") as opened:
        opened.write("".join(f"{text}\n" for text in texts))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_snapshots_answer_as_the_lines_do(seed, tmp_path, monkeypatch):
    for module in (manifest_snapshot, snapshot_writer):
        monkeypatch.setattr(module, "GROUP_ROWS", 4)
    monkeypatch.setattr(manifest_snapshot, "_FEW_LOOKUPS", seed % 3 * 20)
    history = History(seed)
    lake, plain = tmp_path / "lake", tmp_path / "plain"
    Lake.create(str(lake))
    Lake.create(str(plain))
    ends = [i for i, line in enumerate(history.lines) if line and line["kind"] == "files"]
    stops = sorted(1 + end for end in history.dice.sample(ends, 4))  # not within a batch
    opened, kept = Lake(str(lake)), Lake(str(lake))
    for start, stop in zip([0, *stops], [*stops, None], strict=True):
        append(lake, history.lines[start:stop])
        append(plain, history.lines[start:stop])
        right = answers(Lake(str(plain)))
        assert right["live"]
        for one in (opened, kept, Lake(str(lake))):
            assert answers(one) == right
        opened.write_snapshot("_tmp")
        for one in (opened, kept, Lake(str(lake))):
            assert answers(one) == right
    assert len(list((lake / "_snapshots").iterdir())) == 2


@pytest.fixture
def lake(tmp_path):
    """A lake with two snapshots, and some lines that they do not have."""
    lake = tmp_path / "lake"
    opened = Lake.create(str(lake))
    lines = History(3).lines
    first, second = [i for i, one in enumerate(lines) if one and one["kind"] == "compact"][:4:2]
    for start, stop in ((0, first), (first, second), (second, None)):
        append(lake, lines[start:stop])
        opened.read()
        if stop:
            opened.write_snapshot("_tmp")
    return lake


def newest(lake):
    return max((lake / "_snapshots").iterdir())


def cut(path):
    path.write_bytes(path.read_bytes()[:-3])


def other_byte(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)


def link(path):
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


DAMAGES = (lambda path: path.unlink(), cut, other_byte, link, lambda path: path.write_bytes(b""))


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("part", ["snapshot.json", *(f"{name}.parquet" for name in SCHEMAS)])
def test_a_damaged_snapshot_is_left_out(lake, part, damage):
    right = answers(Lake(str(lake)))
    damage(newest(lake) / part)
    opened = Lake(str(lake))
    assert answers(opened) == right
    assert opened.manifest.base.name != newest(lake).name
    damage(min((lake / "_snapshots").iterdir()) / part)
    opened = Lake(str(lake))
    assert (answers(opened), opened.manifest.base) == (right, None)


def test_a_snapshot_of_another_version_is_left_out(lake, monkeypatch):
    right = answers(Lake(str(lake)))
    monkeypatch.setitem(SCHEMAS, "keys", SCHEMAS["keys"].remove(4))
    opened = Lake(str(lake))
    assert (answers(opened), opened.manifest.base) == (right, None)


def test_a_link_in_the_place_of_the_snapshots_is_not_followed(lake, tmp_path):
    right = answers(Lake(str(lake)))
    (lake / "_snapshots").rename(tmp_path / "moved")
    (lake / "_snapshots").symlink_to(tmp_path / "moved")
    opened = Lake(str(lake))
    assert (answers(opened), opened.manifest.base) == (right, None)


def test_the_lines_that_a_snapshot_has_are_not_read(lake):
    right = answers(Lake(str(lake)))
    (lines,) = (lake / "_manifest").iterdir()
    size = Lake(str(lake)).read().base.header.read[lines.name]
    data = lines.read_bytes()
    lines.write_bytes(b"\n" * size + data[size:])
    assert answers(Lake(str(lake))) == right


def test_parts_are_parquet_that_any_tool_reads(lake):
    sources = parquet.read_table(newest(lake) / "sources.parquet")
    assert sources.column_names == SCHEMAS["sources"].names
    assert sources.num_rows == sum(Lake(str(lake)).read().base.header.states.values())


def test_what_cannot_be_written_is_tried_again_and_loses_nothing(lake, monkeypatch):
    right = answers(Lake(str(lake)))

    def full(*_):
        raise OSError(28, "No space left on device")

    for name in ("write_snapshot", "write_snapshot", None):
        with monkeypatch.context() as patched:
            if name:
                patched.setattr(snapshot_writer, name, full)
            session = session_of(Lake(str(lake)))
            session.end(least=1)
            session.close()
        assert answers(Lake(str(lake))) == right
        assert (Lake(str(lake)).read().tail == 0) == (name is None)
    assert list((lake / "_tmp").iterdir()) == []


def test_a_snapshot_that_a_killed_process_did_not_complete_is_removed(lake):
    (lake / "_tmp" / BUILD).mkdir()
    (lake / "_tmp" / f"{BUILD}.lock").touch()
    shutil.copytree(newest(lake), lake / "_tmp" / BUILD / "000000000500-01234567")
    session_of(Lake(str(lake))).close()
    assert list((lake / "_tmp").iterdir()) == []
