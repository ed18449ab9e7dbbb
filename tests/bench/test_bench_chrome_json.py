"""Speed and memory of reading Chrome traces, beside json.loads and trace_processor.

-s shows the figures. trace_processor has its WebAssembly build, as users of the Perfetto UI have.
OPSCOPE_BENCH_EVENTS sets the size (200,000 unless set). Each reading has a process of its own, as
its peak memory counts; it reads as the window and the commands do, once all is imported.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.builders import bench_sizes
from tests.builders.chrome_damage import DAMAGES
from tests.paths import DATA, ROOT
from tests.peers.trace_processor import TraceProcessor
from viewer.formats import open_file

pytestmark = pytest.mark.nightly

TS = re.compile(r'"ts": (\d+)')
EVENTS = bench_sizes.size(200_000, 10_000, "OPSCOPE_BENCH_EVENTS")
MEASURE = """
import json, sys, time
how, path = sys.argv[1:]
from viewer.formats import open_file
from viewer.formats.memory import retain_freed
def peak():
    return 1024 * int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
retain_freed()
open_file("tests/data/chrome_json/kineto_cpu.json")
before, began = peak(), time.process_time()
if how == "json":
    count = len(json.load(open(path))["traceEvents"])
else:
    trace = open_file(path)
    count = len(trace.slices)
    assert trace.problems == (), trace.problems
print(json.dumps([count, time.process_time() - began, peak() - before]))
"""


def pytorch(i: int) -> str:
    """An operator of a PyTorch profile with shapes."""
    at = 5_904_738_195 + 3 * i
    return (
        f'{{"ph": "X", "cat": "cpu_op", "name": "aten::op_{i % 50}", "pid": 1234, "tid": {i % 8}, '
        f'"ts": {at}.{i % 1000:03}, "dur": {i % 77}.{i % 1000:03}, "args": {{"External id": {i}, '
        f'"Record function id": 0, "Input Dims": [[1, 3, {i % 40}], [64, 3, 7], []], '
        f'"Ev Idx": {i}}}}}'
    )


SAMPLE = DATA / "chrome_json/kineto_cpu.json"
REAL = re.findall(r"  (\{\n    \"ph\": \"X.*?\n  \})", SAMPLE.read_text(), re.DOTALL)


def kineto(i: int) -> str:
    """The slices of a real PyTorch profile over and over, each time 10 ms later."""
    at = i // len(REAL) * 10_000
    return TS.sub(lambda ts: f'"ts": {int(ts[1]) + at}', REAL[i % len(REAL)])


def viztracer(i: int) -> str:
    """A call as viztracer writes it."""
    at = 5_904_738_195 + 3 * i
    return (
        f'{{"pid": 4242, "tid": {i % 4}, "ts": {at}.{i % 1000:03}, "dur": {i % 5}.{i % 1000:03}, '
        f'"name": "function_{i % 300} (/app/module.py:{i % 300})", "ph": "X", "cat": "FEE"}}'
    )


def smallest(i: int) -> str:
    """No more than a slice needs."""
    return f'{{"ph":"X","name":"a{i % 9}","pid":1,"tid":1,"ts":{3 * i},"dur":2}}'


def pairs(i: int) -> str:
    """Begin and end events; a begin may come without an end at the end of the file."""
    phase = "BE"[i % 2]
    return f'{{"ph":"{phase}","name":"a{i // 2 % 9}","pid":1,"tid":{i // 2 % 4},"ts":{i}}}'


def named_alone(i: int) -> str:
    """Slices with a name of their own each, which are read one by one."""
    return f'{{"ph":"X","name":"job {i}","pid":1,"tid":1,"ts":{3 * i},"dur":2}}'


SHAPES = ("[]", "[64, 3, 7, 7]", "[[8, 3, 16, 16], [16, 3, 3, 3], [16]]", '["float", "", "Scalar"]')
PARTS = ("Input Dims", "Input type", "Concrete Inputs", "Input Strides")


def training(i: int) -> str:
    """The mixture of a PyTorch training: Python functions, operators with few of many arguments,
    flows, and decimals of any length, all within steps of code; at times two slices overlap."""
    at, random = 4_514_802_958_851_227 + 1000 * i, hash((i % 6000, 7)) & 0xFFFF
    head = f'"pid": 25520, "tid": {25520 + (i % 60 == 1)}, "ts": {at / 1000!r}'
    if i % 1200 == 0:
        step = f'"name": "forward {i // 1200 % 9}", {head}, "dur": {1_199.5 if i % 2400 else 1300}'
        return f'{{"ph": "X", "cat": "user_annotation", {step}, "args": {{"Ev Idx": {i}}}}}'
    if i % 12 == 5 and i // 24 * 24 + 17 < EVENTS:
        phase = "sf"[i // 12 % 2]
        return f'{{"ph": "{phase}", "id": {i // 24}, {head}, "cat": "fwdbwd", "name": "fwdbwd"}}'
    if i % 12 < 7:
        name = f'"module_{random % 40}.py({random % 400}): function_{random % 100}", {head}'
        numbers = f'"Python parent id": {i // 2}, "Python id": {i}, "Ev Idx": {i}'
        dur = f'"dur": {random % 800 / 1000!r}'
        return (
            f'{{"ph": "X", "cat": "python_function", "name": {name}, {dur}, "args": {{{numbers}}}}}'
        )
    more = "".join(
        f'"{part}": {SHAPES[random >> 2 * k & 3]}, '
        for k, part in enumerate(PARTS)
        if random >> k & 3
    )
    arguments = f'"External id": {i}, "Record function id": 0, {more}"Ev Idx": {i}'
    name = f'"name": "aten::op_{random % 120}", {head}, "dur": {random % 900 / 1000!r}'
    return f'{{"ph": "X", "cat": "cpu_op", {name}, "args": {{{arguments}}}}}'


def metadata(i: int) -> str:
    """Three of four events name a thread again, as in traces of MTIA."""
    if i % 4:
        known = f'"name": "thread_name", "ph": "M", "ts": 0.000, "pid": 9, "tid": {i % 40}'
        return f'{{{known}, "args": {{"name": "unit {i % 40}"}}}}'
    return (
        f'{{"ph": "X", "name": "a{i % 9}", "pid": 9, "tid": {i % 40}, "ts": {3 * i}, "dur": 400}}'
    )


def lines(kind) -> Iterator[str]:
    yield '{"schemaVersion": 1, "traceEvents": [\n'
    for i in range(EVENTS):
        yield kind(i) + (",\n" if i < EVENTS - 1 else "\n")
    yield '], "traceName": "x"}\n'


def beside(path: Path, size: int) -> str:
    """What trace_processor takes: its process has the time and the memory to itself if measured."""
    with TraceProcessor(path, alone=bench_sizes.is_measured()) as peer:
        pid = peer.pid
        spent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        seconds = sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")
        peak = 1024 * int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0])
    return (
        f"{EVENTS / seconds / 1e6:.2f} M events/s of processor time, peak {peak / size:.1f} times "
        "the file, with the engine"
    )


def read_seconds(path: Path) -> float:
    """The least processor time of three readings."""
    found = []
    for _ in range(3):
        began = time.process_time()
        open_file(str(path))
        found.append(time.process_time() - began)
    return min(found)


FAULTS = {
    "path": "C:\\work\\model",
    "folder": "C:\\work\\",
    "tab": "a\tb",
    "Latin-1": "K\udcfchler",
    **{number: number for number in ("NaN", "nan", "-inf", "Infinity")},
}


def with_fault(text: str, fault: str) -> str:
    """An event with one more argument, as a tool writes it that knows too little of JSON."""
    quote = "" if fault == FAULTS[fault] else '"'
    argument = f'"more": {quote}{FAULTS[fault]}{quote}'
    if '"args": {' in text:
        return text.replace('"args": {', f'"args": {{{argument}, ', 1)
    return f'{text[:-1]}, "args": {{{argument}}}}}'


def times_as_long(kind, damage, count: int, path: Path) -> float:
    """How many times as long reading takes with some damaged events, all over the file."""
    texts = [kind(i) for i in range(EVENTS)]
    seconds = []
    for bad in (0, count):
        for i in range(0, EVENTS, EVENTS // bad) if bad else ():
            texts[i] = damage(texts[i])
        text = '{"traceEvents": [\n' + ",\n".join(texts) + "\n]}"
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        seconds.append(read_seconds(path))
    return seconds[1] / seconds[0]


@pytest.mark.parametrize("kind", [pytorch, kineto, named_alone])
@pytest.mark.parametrize("damage", ["quote missing", "brace missing", "truncated", "behind: ]"])
@pytest.mark.parametrize("count", [1, 300, EVENTS // 10])
def test_damage(kind, damage, count, tmp_path):
    """One event at the start is damaged, or hundreds all over the file, or one of ten."""
    random = Random(1)
    times = times_as_long(
        kind, lambda text: DAMAGES[damage](text, random), count, tmp_path / "trace.json"
    )
    print(f"\n{kind.__name__}, {count} x {damage}: {times:.2f} times as long")


@pytest.mark.parametrize("kind", [pytorch, kineto, named_alone])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("share", [0.01, 0.1, 1])
def test_systematic_faults(kind, fault, share, tmp_path):
    """A tool writes a fault of strings or numbers into many events, or all."""
    times = times_as_long(
        kind, lambda text: with_fault(text, fault), int(share * EVENTS), tmp_path / "trace.json"
    )
    print(f"\n{kind.__name__}, {fault} in {share:.0%}: {times:.2f} times as long")


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is asked of /proc")
@pytest.mark.parametrize(
    "kind", [training, pytorch, kineto, viztracer, smallest, pairs, metadata, named_alone]
)
@pytest.mark.parametrize("packed", [False, True])
def test_read(kind, packed, tmp_path):
    path = tmp_path / ("trace.json.gz" if packed else "trace.json")
    text = "".join(lines(kind)).encode()
    path.write_bytes(gzip.compress(text, 1) if packed else text)
    plain = tmp_path / "plain.json"
    plain.write_bytes(text)
    size = len(text)
    del text
    print(f"\n{kind.__name__}{' gzip' if packed else ''}: {size / EVENTS:.0f} bytes an event")
    if not packed:
        print(f"  trace_processor: {beside(path, size)}")
    for how in ("ours",) if packed else ("ours", "json"):
        out = subprocess.run(
            [sys.executable, "-c", MEASURE, how, str(path if how == "ours" else plain)],
            capture_output=True, check=True, text=True, cwd=ROOT, timeout=600
        )  # fmt: skip
        count, seconds, peak = json.loads(out.stdout)
        if how == "json" or kind not in (training, pairs, metadata):
            assert count == EVENTS
        elif kind is not training:
            assert count == EVENTS // (2 if kind is pairs else 4)
        print(
            f"  {how}: {EVENTS / seconds / 1e6:.2f} M events/s of processor time, "
            f"peak {peak / size:.1f} times the file"
        )
        if how == "ours" and EVENTS >= 1_000_000:  # the interpreter's own weighs less than a tenth
            assert peak < 4 * size
