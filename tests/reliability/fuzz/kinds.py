"""The kinds of files that are fuzzed: samples, grammar and changes of structure of each."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from tests.builders.android_traces import APP, OTHER, AndroidTrace
from tests.paths import DATA
from tests.reliability.fuzz import (
    byte_changes,
    executorch_files,
    flatbuffer_changes,
    json_changes,
    line_changes,
    logs,
    own_files,
    protobuf_changes,
    runtimes,
    stacks,
    texts,
    traces,
    zip_changes,
)
from tests.reliability.fuzz.values import Dice

# Larger samples would take too long for hundreds of thousands of inputs.
LARGEST_SAMPLE = 16_000
_Change = Callable[[bytes, Sequence[bytes], Dice], bytes]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of file.

    name: of its job and of its folder in tests/data/regress. samples: glob patterns in tests/data.
    made: from scratch. change: another structure; raises ValueError for a file without any.
    partner: what such a file is linked with, a path in tests/data. runs: how many inputs a long
    campaign reads. memory: addresses that reading takes beside what all kinds may; DuckDB reserves
    some for each thread of a query.
    """

    name: str
    suffix: str
    samples: tuple[str, ...]
    made: Callable[[Dice], bytes]
    change: _Change
    partner: str = "torq/tiny_cnn.mlir"
    runs: int = 200_000
    memory: int = 0


def _lines(data: bytes, others: Sequence[bytes], dice: Dice) -> bytes:
    return line_changes.changed(data, dice)


def _json(data: bytes, others: Sequence[bytes], dice: Dice) -> bytes:
    return json_changes.changed(data, dice)


def _flatbuffer(data: bytes, others: Sequence[bytes], dice: Dice) -> bytes:
    return flatbuffer_changes.changed(data, dice)


def _zip(data: bytes, others: Sequence[bytes], dice: Dice) -> bytes:
    return zip_changes.changed(data, dice)


def _packed(change: _Change) -> _Change:
    """Return the same change for files that may be gzipped."""

    def changed(data: bytes, others: Sequence[bytes], dice: Dice) -> bytes:
        is_packed = data[:2] == b"\x1f\x8b"
        try:
            plain = gzip.decompress(data) if is_packed else data
        except (OSError, EOFError) as error:
            raise ValueError(str(error)) from error
        except Exception as error:  # zlib.error
            raise ValueError(str(error)) from error
        made = change(plain, others, dice)
        return gzip.compress(made, 1, mtime=0) if is_packed or dice.random() < 0.02 else made

    return changed


def _repacked(data: bytes, others: Sequence[bytes], dice: Dice) -> bytes:
    """Members one after another, and bytes between or behind them."""
    return data + dice.choice((b"", bytes(8), b"\n", data[:5])) + dice.choice(others)


_DUMP, _RECORD = "etdump/demo_str_x4.etdp", "etrecord/demo_str.etrecord"
KINDS = {
    kind.name: kind
    for kind in (
        Kind("perfetto", ".pftrace", ("regress/perfetto/*", "torq/reference_*/*.pb"),
            traces.perfetto,
             _packed(protobuf_changes.changed), runs=1_000_000),
        Kind("chrome", ".json", ("chrome_json/*.json", "samples/j22*", "regress/chrome/*"),
             traces.chrome, _packed(_json), runs=1_000_000),
        Kind("etdump", ".etdp", ("etdump/[!B]*.etdp", "numbers/*.etdp", "regress/etdump/*"),
             executorch_files.dump, _flatbuffer, _RECORD, 1_000_000),
        Kind("etrecord", ".etrecord", ("etrecord/*.etrecord", "pte/cond.etrecord"),
             executorch_files.record, _zip, _DUMP),
        Kind("pte", ".pte", ("pte/*.pte", "pte/*.bpte", "numbers/*.bpte"), executorch_files.program,
             _flatbuffer, "pte/cond.etdp"),
        Kind("handle_map", ".json", ("debug_handle_map/*.json",), executorch_files.handle_map,
            _json,
             _DUMP),
        Kind("inspector", ".tsv", ("inspector/*_x1*.tsv",), executorch_files.inspector_table,
            _lines,
             _RECORD),
        Kind("torq_host", ".csv", ("torq/host_*.csv",), texts.torq_host, _lines),
        Kind("torq_runtime", ".csv", ("torq/runtime_*.csv", "torq/demo_manual*.csv"),
             texts.torq_runtime, _lines),
        Kind("torq_annotated", ".csv", ("torq/annotated_*.csv",), texts.torq_annotated, _lines),
        Kind("torq_compile", ".csv", ("torq/compile_*.csv", "torq/demo_*_c?.csv"),
             texts.torq_compile, _lines),
        *(
            Kind(name, suffix, (f"regress/{name}/*", f"{name}/*.*"), made,
                 _json if suffix == ".json" else _lines)
            for name, suffix, made in runtimes.KINDS
        ),
        Kind("speedscope", ".json", ("samples/p01*", "regress/speedscope/*"), stacks.speedscope,
             _packed(_json)),
        Kind("cpu_profile", ".cpuprofile", ("regress/cpu_profile/*",), stacks.cpu_profile,
             _packed(_json)),
        Kind("firefox", ".json", ("regress/firefox/*",), stacks.firefox, _packed(_json)),
        Kind("collapsed", ".txt", ("samples/p02*", "regress/collapsed/*"), stacks.collapsed,
             _packed(_lines)),
        Kind("perf_samples", ".pftrace", ("regress/perf_samples/*",), stacks.perf_trace,
             _packed(protobuf_changes.changed)),
        Kind("old_perfetto", ".pftrace", ("regress/old_perfetto/*",), stacks.old_trace,
             _packed(protobuf_changes.changed)),
        Kind("workbook", ".xlsx", ("regress/workbook/*",), runtimes.annotated_workbook, _zip),
        Kind("zipped", ".zip", ("regress/zipped/*",), runtimes.zipped, _zip),
        Kind("log", ".log", ("logs/*", "regress/log/*"), logs.log, _lines),
        Kind("packed", ".zst", ("regress/packed/*",), logs.packed, _repacked),
        Kind("table", ".csv", ("table_csv/*",), texts.table, _lines, _RECORD),
        Kind("json_table", ".json", ("regress/json_table/*",), texts.json_table, _json),
        Kind("mlir", ".mlir", ("torq/tiny_cnn.mlir",), texts.mlir, _lines,
             "torq/compile_c3_taskid_mtu.csv"),
        Kind("session", ".opscope", ("regress/session/*",), own_files.session, _json,
             memory=6 << 30),
        Kind("columns", ".columns", ("regress/columns/*",), own_files.columns,
             own_files.columns_changed),
        Kind("settings", ".ini", ("regress/settings/*",), own_files.settings, _lines),
    )
}  # fmt: skip


@cache
def samples_of(kind: Kind) -> tuple[bytes, ...]:
    """Return the small real files of a kind; files made from scratch, if there is none."""
    found = [
        path for pattern in kind.samples for path in sorted(DATA.glob(pattern)) if path.is_file()
    ]
    small = [path.read_bytes() for path in found if 20 < path.stat().st_size <= LARGEST_SAMPLE]
    if kind.name == "perfetto":
        small += _exports()
    return tuple(small) or tuple(kind.made(Dice(number)) for number in range(10))


def _exports() -> list[bytes]:
    from viewer.export.perfetto.writer import PerfettoSource, write_perfetto
    from viewer.formats import open_file
    from viewer.model.trace import Trace

    made = [_android()]
    for name in ("etdump/SYN_qnn_like.etdp", "torq/demo_str_c1.csv", "table_csv/two_threads.csv"):
        item = open_file(str(DATA / name))
        assert isinstance(item, Trace)
        out = io.BytesIO()
        write_perfetto([PerfettoSource.of(item)], out)
        made.append(out.getvalue())
    return made


def _android() -> bytes:
    made = AndroidTrace()
    made.prints((10, APP, f"B|{APP}|a"), (12, APP, f"S|{APP}|b|1"), (20, APP, "E"))
    made.prints((21, APP, f"F|{APP}|b|1"), (22, APP, f"C|{APP}|c|3"), (23, APP, f"G|{APP}|t|g|1"))
    made.switches((10, 0, 0, APP), (30, APP, 1, OTHER), (40, OTHER, 0, 0))
    made.compact((11, 0, OTHER), (31, 1, APP), (41, 0, 0))
    made.wakes((35, APP))
    made.gpu((12, 5, 1, 3), (20, 4, 2, 4))
    data: bytes = made.trace.SerializeToString()
    return data


def input_of(kind: Kind, corpus: Sequence[bytes], dice: Dice) -> bytes:
    """Return one input: made from scratch, or a sample or earlier input with changes."""
    if dice.random() < 0.3:
        made = kind.made(dice)
        return made if dice.random() < 0.7 else byte_changes.changed(made, corpus or (made,), dice)
    samples = samples_of(kind)
    # Three of four from the corpus: what showed something new is small and leads to more.
    chosen = corpus if corpus and dice.random() < 0.75 else samples
    data = dice.choice(chosen)
    if dice.random() < 0.7:
        try:
            return kind.change(data, chosen, dice)
        except (ValueError, RecursionError):
            pass
    return byte_changes.changed(data, chosen, dice)
