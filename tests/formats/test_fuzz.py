"""Files of many formats, changed at random: a result or `UnreadableFile`, soon and small.

A few hundred files in a normal run. FUZZ_FILES=6000 makes it 3,000 of each kind. A failure names
the seed of its file; `mutated(kind, seed)` makes that file again.
"""

import contextlib
import gzip
import io
import json
import os
import random
import re
import struct
import time
import tracemalloc
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from tests.builders.etdump_writer import Run, delegate, framework, operator, write_dump
from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.labels import slice_labels
from viewer.analysis.links.linker import link
from viewer.analysis.statistics.events import event_statistics
from viewer.codecs.reading import UnreadableFile
from viewer.compat.inspector import official as official_inspector
from viewer.compat.inspector import official_events as inspector_events
from viewer.compat.inspector import official_record as inspector_record
from viewer.compat.inspector.answers import InspectorAnswers
from viewer.compat.inspector.official_errors import InspectorError
from viewer.export.perfetto.writer import PerfettoSource, write_perfetto
from viewer.export.tables.slices import SliceTableSource, slice_columns
from viewer.export.tables.untimed import untimed_columns
from viewer.formats import open_file
from viewer.model.inference_views import aligned_runs, mean_run
from viewer.model.queries import NATIVE_DURATION
from viewer.model.trace import Trace
from viewer.model.untimed import value_text
from viewer.program.program import Program
from viewer.reports.info import info, info_text
from viewer.workspace.workspace import Workspace

DATA = Path(__file__).parent.parent / "data"
FILES = int(os.environ.get("FUZZ_FILES", "400"))
SLOWEST = 5.0  # seconds of processor time for one file and all that follows from it
MEMORY = 40, 8 << 20  # most bytes per byte of the file, and beside it

RECORDS = (
    "demo_str.etrecord", "cond_toedge_portable.etrecord", "broken_partial_save.etrecord",
    "multi_encode_decode_toedge_portable.etrecord", "0.1/demo_str_gen0.1.etrecord",
    "0.6.0/demo_str.etrecord", "1.0.1/cnn_xnnpack_lowered.etrecord",
    "cnn_standalone_NOdeepcopy.etrecord",
)  # fmt: skip
DUMPS = tuple(sorted(p.name for p in (DATA / "etdump").glob("*.etdp") if p.stat().st_size > 100))
TORQ = tuple(sorted(p.name for p in (DATA / "torq").glob("*.csv")))
TABLES = tuple(sorted(p.name for p in (DATA / "inspector").glob("*_x1*.tsv")))
MAPS = tuple(sorted(p.name for p in (DATA / "debug_handle_map").glob("*.json")))
CHROME = tuple(sorted(p.name for p in (DATA / "chrome_json").glob("*.json")))
NUMBERS = (0, 1, 2, 3, 4, 8, 0x7F, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF)
HOSTILE = (
    None, True, -1, 0, 1, 1.5, 10**40, 2**63, "", "x", "9" * 30, "-7", [], {}, [[]], {"a": {}},
    float("nan"), float("inf"), "\ud800", "\0", "executorch_call_delegate", {"as_tensor": 5},
    {"as_graph": {"graph": {"nodes": [{}]}}}, {"$type": "as_tensor", "$value": {"name": "x"}},
    "[" * 3000, 'File "x", line 99999999999999999999, in f', "a,b,c;" * 50, "(" * 500,
)  # fmt: skip


# What `built` puts together: times around every limit, scopes, calls, and foreign clocks.
TIMES = (0, 1, 5, 100, 2**31, 2**32 - 5, 2**32, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
NAMES = (
    "Method::execute", "OPERATOR_CALL", "DELEGATE_CALL", "native_call_a.out", "MOVE_CALL", "", "x",
    "Method::init", "Program::load_method",
)  # fmt: skip
IDENTIFIERS = (
    "QNN accelerator (execute) time (cycles)", "QNN (execute) time (us)", "a (cycles)", "b (us)",
    "c:OpId_3 (cycles)", "ETVK_EXECUTE", "ETVK_COPY_INPUTS", "y", 5, 0, -7, 2**31 - 1,
    '{"operator": {"delegate_node_id": 3}}',
)  # fmt: skip


@cache
def perfetto_files() -> tuple[bytes, ...]:
    """Exports of three real files, one of them gzipped."""
    made = []
    for name in (
        "etdump/demo_str_x4.etdp",
        "torq/compile_c3_taskid_mtu.csv",
        "etdump/gru_portable_x1.etdp",
    ):
        item = open_file(str(DATA / name))
        assert isinstance(item, Trace)
        out = io.BytesIO()
        write_perfetto([PerfettoSource.of(item)], out)
        made.append(out.getvalue())
    return (*made, gzip.compress(made[0], mtime=0))


@cache
def original(kind: str) -> tuple[bytes, ...]:
    if kind == "perfetto":
        return perfetto_files()
    folder, names = {
        "record": ("etrecord", RECORDS), "dump": ("etdump", DUMPS), "torq": ("torq", TORQ),
        "chrome": ("chrome_json", CHROME), "map": ("debug_handle_map", MAPS),
        "tsv": ("inspector", TABLES),
    }[kind]  # fmt: skip
    return tuple((DATA / folder / name).read_bytes() for name in names)


def mutated(kind: str, seed: int) -> bytes:
    dice = random.Random(f"{kind} {seed}")
    data = dice.choice(original(kind))
    if kind == "record" and dice.random() < 0.6:
        return fields_changed(data, dice)
    if kind in ("torq", "tsv") and dice.random() < 0.6:
        return lines_changed(data.split(b"\n"), dice)
    if kind == "map" and dice.random() < 0.8:
        return text_changed(data, dice)
    if kind == "chrome" and dice.random() < 0.6:
        data = text_changed(data, dice)
        return gzip.compress(data, 1) if dice.random() < 0.3 else data
    if kind == "chrome" and dice.random() < 0.3:
        data = gzip.compress(data, 1)
    return bytes_changed(bytearray(data), dice, original(kind))


def bytes_changed(data: bytearray, dice: random.Random, others: tuple[bytes, ...]) -> bytes:
    if dice.random() < 0.4:  # little enough that most of these files can be read
        data[dice.randrange(40, len(data))] ^= 1 << dice.randrange(8)
        return bytes(data)
    for _ in range(dice.choice((1, 1, 2, 4))):
        at = dice.randrange(len(data))
        how = dice.randrange(6)
        if how == 0:
            for _ in range(dice.choice((1, 4, 40))):
                data[dice.randrange(len(data))] = dice.randrange(256)
        elif how == 1:
            del data[max(at, 60) :]
        elif how == 2:
            other = dice.choice(others)
            begin = dice.randrange(len(other))
            data[at : at + dice.choice((0, 4, 64, 1000))] = other[begin : begin + 400]
        elif how == 3:
            del data[at : at + dice.choice((1, 4, 100))]
        else:
            numbers = (*NUMBERS, len(data), max(len(data) - 4, 0), dice.randrange(len(data)))
            for _ in range(dice.choice((1, 3, 10))):
                place = dice.randrange(max(len(data) // 4, 1)) * 4
                data[place : place + 4] = struct.pack("<I", dice.choice(numbers))
        if not data:
            return b"\0"
    return bytes(data)


def lines_changed(lines: list[bytes], dice: random.Random) -> bytes:
    """Lines of a profile left out, twice, at other places, or with another number in them."""
    for _ in range(dice.choice((1, 3, 10, 40))):
        at, to = dice.randrange(len(lines)), dice.randrange(len(lines))
        how = dice.randrange(5)
        if how == 0 and len(lines) > 2:
            del lines[at]
        elif how == 1:
            lines.insert(to, lines[at])
        elif how == 2:
            lines.insert(to, lines.pop(at))
        elif how == 3:
            lines[to] = lines[at][: len(lines[at]) // 2] + lines[to][len(lines[to]) // 2 :]
        else:
            number = dice.choice((b"-1", b"0", b"7", b"9" * 15, b"-" + b"9" * 15, b"9" * 40, b""))
            lines[at] = re.sub(rb"[0-9]+", number, lines[at], count=dice.randrange(1, 5))
    return b"\n".join(lines)


def fields_changed(data: bytes, dice: random.Random) -> bytes:
    """A record whose JSON is changed inside, in an archive that is whole."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        texts = [i.filename for i in old.infolist() if old.read(i)[:1] == b"{"]
        chosen = {dice.choice(texts) for _ in range(dice.choice((1, 1, 2)))}
        for item in old.infolist():
            content = old.read(item)
            if item.filename in chosen:
                if dice.random() < 0.05:
                    continue
                content = text_changed(content, dice)
            new.writestr(item.filename, content)
    return made.getvalue()


def text_changed(content: bytes, dice: random.Random) -> bytes:
    tree = json.loads(content)
    holders = [holder for holder in containers(tree) if holder]
    for _ in range(dice.choice((1, 3, 10, 100)) if holders else 0):
        change(holders, dice)
    text = json.dumps(tree)
    how = dice.randrange(10)
    at = dice.randrange(len(text))
    if how == 0:
        text = text[:at]
    elif how == 1:
        text = (
            text[:at]
            + dice.choice(("\\ud800", "\\", '"', "NaN", "9" * 5000, "{", "\x00"))
            + text[at:]
        )
    elif how == 2:
        text = text.replace('"name"', dice.choice(('"$type"', '"name": 1, "name"')), 3)
    raw = text.encode()
    return raw[:at] + b"\xff\xed\xa0\x80" + raw[at:] if how == 3 else raw


def change(holders: list, dice: random.Random) -> None:
    """One value somewhere in a tree becomes another, goes away, or is one that was elsewhere."""
    holder, other = dice.choice(holders), dice.choice(holders)
    keys = list(holder) if isinstance(holder, dict) else range(len(holder))
    if not keys:
        return
    key = dice.choice(keys)
    how = dice.random()
    text = json.dumps(other)
    if how < 0.15:
        del holder[key]
    elif how < 0.3 and len(text) < 5000:
        holder[key] = json.loads(text)
    elif how < 0.4 and isinstance(holder, list):
        holder.extend(holder[:50])
    elif how < 0.4:
        holder[dice.choice(("\ud800", "-1", "9" * 20, "", "$type", "a/b"))] = holder.pop(key)
    else:
        holder[key] = dice.choice(HOSTILE)


def containers(tree: object) -> Iterator[dict | list]:
    todo = [tree]
    while todo:
        one = todo.pop()
        if isinstance(one, (dict, list)):
            yield one
            todo += one.values() if isinstance(one, dict) else one


@cache
def partner(kind: str) -> Trace | Program:
    """What a mutated file is linked with at once: the other half of the real pair."""
    name = {
        "record": "etdump/demo_str_x4.etdp", "dump": "etrecord/demo_str.etrecord",
        "torq": "torq/tiny_cnn.mlir", "chrome": "torq/tiny_cnn.mlir",
        "tsv": "etrecord/demo_str.etrecord", "map": "etdump/demo_str_x4.etdp",
        "perfetto": "torq/tiny_cnn.mlir",
    }[kind]  # fmt: skip
    return open_file(str(DATA / name))


def use(path: Path, kind: str) -> bool:
    """Read a file and do what the application does at once with it; whether it could be read."""
    try:
        item = open_file(str(path))
    except UnreadableFile:
        return False
    workspace = Workspace()
    workspace.add(partner(kind))
    workspace.add(item)
    said = [info_text(workspace), json.dumps(info(workspace))]
    for trace in workspace.traces:
        said += workspace.warnings(trace)
        for program in workspace.programs:
            table = link(trace, program)
            said += slice_labels(table)[1]
            said += [found.detail for found in table.links]
        said += what_follows(workspace, trace)
    for program in workspace.programs:
        for one in program.operators:
            said += [one.label, *one.ops, *one.aten]
            said += [f"{frame.path}:{frame.line}" for frame in one.frames]
    "".join(said).encode()  # a text that cannot be encoded can be neither shown nor written
    return True


def what_follows(workspace: Workspace, trace: Trace) -> list[str]:
    """Other views of a trace, statistics and tables; the texts that they show."""
    table, events = workspace.links(trace), trace.untimed
    native = trace.slices.columns.get(NATIVE_DURATION)
    assert native is None or (native.values >= 0).all()
    for shown in (aligned_runs(trace), mean_run(trace)):
        assert (shown.slices.end >= shown.slices.start).all()
        Costs(replace(table, trace=shown)).table()
    slice_columns(SliceTableSource(table, Fraction(1), 0, ("p",) * len(trace.tracks)))
    untimed_columns(table, "p")
    assert (events.after < len(trace.slices)).all()
    assert (events.run < len(trace.runs)).all()
    statistics = event_statistics(table)
    found = [statistics.name(row) for row in range(len(statistics))]
    return [*found, *statistics.block_titles, *(value_text(events, i) for i in range(len(events)))]


def inspect(path: Path, kind: str) -> None:
    """Both answers of `opscope inspect`, the official one as far as it goes."""
    dump, record = (path, None) if kind == "dump" else (DATA / "etdump/demo_str_x4.etdp", path)
    with contextlib.suppress(UnreadableFile, InspectorError):
        found = inspector_record.read(str(record)) if record else None
        answer = official_inspector.answer(*inspector_events.read(str(dump)), found)
        list(answer.sheet(include_metadata=True).grid())
        json.dumps(answer.as_json())
    with contextlib.suppress(UnreadableFile):
        workspace = Workspace()
        trace = workspace.open(str(dump))
        if record:
            workspace.open(str(record))
        if isinstance(trace, Trace):
            answers = InspectorAnswers(event_statistics(workspace.links(trace)))
            answers.sheet(include_metadata=True).write_tsv(io.BytesIO())
            json.dumps(answers.as_json())


@pytest.mark.parametrize("kind", ["record", "map", "dump", "torq", "chrome", "tsv", "perfetto"])
def test_a_mutated_file_gives_a_result_or_the_one_error(kind, tmp_path):
    path = tmp_path / f"mutated.{kind}"
    outcomes = {True: 0, False: 0}
    for seed in range(FILES // 2):
        data = mutated(kind, seed)
        path.write_bytes(data)
        is_measured = seed % 10 == 0
        if is_measured:
            tracemalloc.start()
        began = time.process_time()
        try:
            with warnings.catch_warnings(action="error"):
                outcomes[use(path, kind)] += 1
                if kind in ("record", "dump"):
                    inspect(path, kind)
        except Exception as error:
            raise AssertionError(f"{kind} {seed}: {error!r}") from error
        finally:
            took, peak = time.process_time() - began, 0
            if is_measured:
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
        assert took < SLOWEST, f"{kind} {seed} took {took:.1f} s"
        assert peak < MEMORY[0] * len(data) + MEMORY[1], f"{kind} {seed} took {peak:,} bytes"
    print(f"{kind}: {outcomes[True]} read, {outcomes[False]} refused")
    assert min(outcomes.values()) > 0


def built(seed: int) -> list[Run]:
    """Runs of known names in no order, at times that no clock would tell."""
    dice = random.Random(f"built {seed}")

    def event() -> dict:
        start = min(dice.choice(TIMES) + dice.choice((0, dice.randrange(100))), 2**64 - 1)
        near = min(start + dice.randrange(1000), 2**64 - 1)
        times = start, dice.choice((start, near, near, dice.choice(TIMES)))
        if dice.random() < 0.4:
            chain = dice.choice((0,) * 9 + (-1,))
            return delegate(dice.choice(IDENTIFIERS), dice.randrange(3), *times, chain=chain)
        name = dice.choice(NAMES)
        if "::" in name:
            return framework(name, *times)
        return operator(name, dice.randrange(-1, 3), *times)

    names = ("Execute", "Execute", "Default", None)
    return [
        Run(dice.choice(names), [event() for _ in range(dice.randrange(12))])
        for _ in range(dice.randrange(6))
    ]


def test_a_dump_of_any_events_at_any_times_is_read(tmp_path):
    for seed in range(FILES):
        path = write_dump(tmp_path / "built.etdp", built(seed))
        try:
            with warnings.catch_warnings(action="error"):
                if not use(path, "dump"):
                    with pytest.raises(UnreadableFile, match=r"ETDump (has no|can be shown)"):
                        open_file(str(path))
        except Exception as error:
            raise AssertionError(f"built {seed}: {error!r}") from error
