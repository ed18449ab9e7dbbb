"""What is logged is what the reader gives back, for any small log and for a million events."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.dumps import Clock, Logged, events_of
from viewer.cli import main
from viewer.formats import open_file
from viewer.model.trace import Trace
from viewer.record import EventTracer
from viewer.record.etdump_writer import write_etdump
from viewer.record.event_batches import EventBatches, EventKind

# -- any small log ---------------------------------------------------------------------------------

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12
) | st.sampled_from(
    ["DELEGATE_CALL", "OPERATOR_CALL", "Method::execute", "native_call_add.out", "conv (cycles)"]
)
NUMBERS = st.integers(0, 5) | st.integers(-(2**31), 2**31 - 1).filter(lambda n: n != -1)
IDENTIFIERS = TEXTS | NUMBERS
METADATA = st.binary(max_size=9)
TIMES = st.tuples(st.integers(0, 500), st.integers(0, 500)).map(sorted)
LEAVES = st.one_of(
    st.tuples(st.just("log"), IDENTIFIERS, METADATA, TIMES),
    st.tuples(st.just("allocation"), st.sampled_from(["a", "b"]), st.integers(0, 2**64 - 1)),
)
TREES = st.recursive(
    LEAVES,
    lambda inside: st.one_of(
        st.tuples(
            st.just("call"), TEXTS, st.integers(-1, 2), st.integers(0, 2**31 - 1), st.lists(inside)
        ),
        st.tuples(st.just("delegate"), IDENTIFIERS, METADATA, st.lists(inside)),
    ),
    max_leaves=12,
)
BLOCKS = st.lists(st.tuples(TEXTS | st.just("Execute"), st.lists(TREES, max_size=4)), max_size=4)


def log(blocks: list, path: Path) -> list[Logged]:
    """Log some trees of events, and tell what must be in the dump."""
    now = 0
    expected = []

    def clock() -> int:
        nonlocal now
        now += 10
        return now

    def do(tree: tuple, block: str, chain: int, instruction: int) -> None:
        match tree:
            case "log", identifier, metadata, (start, end):
                tracer.log_profiling_delegate(None, identifier, start, end, metadata)
                expected.append(Logged(block, identifier, start, end, chain, instruction, metadata))
            case "allocation", name, size:
                tracer.track_allocation(allocators[name], size)
                expected.append(Logged(block, name, size=size))
            case "call", name, own_chain, own_instruction, inside:
                with tracer.start_profiling(name, own_chain, own_instruction):
                    start = now
                    of = (chain, instruction) if own_chain < 0 else (own_chain, own_instruction)
                    for one in inside:
                        do(one, block, *of)
                expected.append(Logged(block, name, start, now, own_chain, own_instruction))
            case "delegate", identifier, metadata, inside:
                with tracer.start_profiling_delegate(delegate_debug_id=identifier) as entry:
                    start = now
                    for one in inside:
                        do(one, block, chain, instruction)
                    entry.metadata = metadata
                expected.append(Logged(block, identifier, start, now, chain, instruction, metadata))

    with EventTracer(path, clock=clock) as tracer:
        allocators = {name: tracer.track_allocator(name) for name in "ab"}
        for block, trees in blocks:
            with tracer.create_event_block(block):
                for tree in trees:
                    do(tree, block, -1, 0)
    return expected


def shown(metadata: bytes) -> str:
    """As the reader shows it: a text if it is one, else in hexadecimal."""
    try:
        text = metadata.decode()
    except UnicodeDecodeError:
        return metadata.hex()
    return text if text.replace("\n", "").replace("\t", "").isprintable() else metadata.hex()


def read(path: Path) -> list[Logged]:
    """All events of a dump in file order, as the reader has them; metadata as it is shown."""
    trace = open_file(str(path), may_be_empty=True)
    assert isinstance(trace, Trace)
    slices, keys, columns, untimed = trace.slices, trace.keys, trace.slices.columns, trace.untimed
    found = {}
    for i, row in enumerate(untimed.source_row.tolist()):
        block, name = untimed.blocks[untimed.block[i]], untimed.name.value(i)
        found[row] = Logged(block, name, size=untimed.size.value(i), metadata="")
    of_row = {run.first_row: run.name for run in sorted(trace.runs, key=lambda r: r.first_row)}
    for i, row in enumerate(slices.source_row.tolist()):
        if slices.derived is not None and slices.derived[i]:
            continue
        own = {name: column.value(i) for name, column in columns.items()}
        start, length = int(slices.start[i]), int(slices.end[i] - slices.start[i])
        if own.get("native_dur") is not None:  # outside of its call, where it is drawn instead
            start, length = own["native_start"], own["native_dur"]
        if (cumulative := own.get("cumulative_dur")) is not None:  # a pass has its own length
            start, length = start + length - cumulative, cumulative
        identifier = keys.identifier[slices.key[i]]
        called = trace.name(i) if identifier is None else identifier
        instruction = own["instruction_id"]
        chain = own.get("chain", -1 if instruction is None else 0)
        block = next(name for first, name in reversed(of_row.items()) if first <= row)
        found[row] = Logged(
            block, called, start, start + length, chain, instruction or 0, own.get("metadata") or ""
        )
    return [found[row] for row in range(len(found))]


@pytest.mark.slow
@given(BLOCKS)
def test_every_event_is_read_back_as_it_was_logged(tmp_path_factory, blocks):
    path = tmp_path_factory.getbasetemp() / "any.etdp"
    expected = log(blocks, path)
    assert events_of(path) == expected
    assert read(path) == [
        replace(
            event,
            metadata=shown(event.metadata),
            instruction=event.instruction if event.chain >= 0 else 0,  # a scope has none
        )
        for event in expected
    ]


# -- threads ---------------------------------------------------------------------------------------


def test_events_of_workers_are_parts_of_the_call_that_they_worked_for(tmp_path):
    path = tmp_path / "run.etdp"
    with EventTracer(path) as tracer, tracer.create_event_block("Execute"):
        for instruction in range(3):
            with tracer.start_profiling("DELEGATE_CALL", 0, instruction) as call:

                def work(number, of=call.instruction_id):
                    for _ in range(50):
                        with tracer.start_profiling_delegate(
                            delegate_debug_id=number, instruction_id=of
                        ):
                            pass

                workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join(timeout=60)
    trace = open_file(str(path))
    slices, keys = trace.slices, trace.keys
    whole = {
        int(keys.instruction[slices.key[i]]): (slices.start[i], slices.end[i])
        for i in range(len(slices))
        if trace.name(i) == "DELEGATE_CALL"
    }
    number = {}
    for i in range(len(slices)):
        identifier = keys.identifier[slices.key[i]]
        if identifier is not None:
            instruction = int(keys.instruction[slices.key[i]])
            assert whole[instruction][0] <= slices.start[i] <= slices.end[i]
            assert slices.end[i] <= whole[instruction][1]
            number[instruction, identifier] = number.get((instruction, identifier), 0) + 1
    assert number == {(instruction, worker): 50 for instruction in range(3) for worker in range(3)}
    assert "native_dur" not in slices.columns


# -- a million -------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_a_million_events_are_read_back(tmp_path):
    """Put into batches without the tracer, which takes 2 s for as many."""
    runs, calls = 1000, 333
    batches = EventBatches(1 << 30, None)
    at = 0
    for run in range(runs):
        begin = at
        for call in range(calls):
            number = run * calls + call
            identifier = number % 5000 if number % 2 else f"fused {number % 3000}"
            kind = EventKind.NUMBER if number % 2 else EventKind.TEXT
            metadata = b"" if number % 3 else b"%d" % number
            batches.add(kind, run, identifier, 0, call, at + 1, at + 7, metadata)
            batches.add(EventKind.OPERATOR, run, "DELEGATE_CALL", 0, call, at, at + 9)
            batches.add(EventKind.OPERATOR, run, "MOVE_CALL", 0, calls, at + 9, at + 10)
            at += 10
        batches.add(EventKind.OPERATOR, run, "Method::execute", -1, 0, begin, at)
    path = tmp_path / "million.etdp"
    write_etdump(path, ["Execute"] * runs, [], batches.snapshot())
    trace = open_file(str(path))
    slices = trace.slices
    logged = np.ones(len(slices), bool) if slices.derived is None else ~slices.derived
    row = slices.source_row[logged]
    order = np.argsort(row)
    assert np.array_equal(row[order], np.arange(runs * (3 * calls + 1)))  # 1 000 000
    start, end = slices.start[logged][order], slices.end[logged][order]
    key = slices.key[logged][order]
    in_run = np.arange(len(row)) % (3 * calls + 1)
    is_event, is_execute = (in_run % 3 == 0) & (in_run < 3 * calls), in_run == 3 * calls
    number = np.cumsum(is_event) - 1
    lengths = np.select([is_execute, is_event, in_run % 3 == 1], [10 * calls, 6, 9], 1)
    assert np.array_equal(end - start, lengths)
    assert np.array_equal(start[is_event], 10 * number[is_event] + 1)
    assert trace.keys.identifier[key[is_event]].tolist() == [
        n % 5000 if n % 2 else f"fused {n % 3000}" for n in range(runs * calls)
    ]
    assert np.array_equal(trace.keys.instruction[key[is_event]], number[is_event] % calls)
    metadata = slices.columns["metadata"]
    stated = metadata.valid[logged][order]
    assert np.array_equal(stated, is_event & (number % 3 == 0))
    texts = np.array(metadata.strings)[metadata.values[logged][order][stated]]
    assert texts.tolist() == [str(n) for n in range(0, runs * calls, 3)]
    assert trace.problems == ()
    assert len(trace.runs) == runs


# -- files -----------------------------------------------------------------------------------------


def test_info_names_the_file(tmp_path, capsys):
    path = tmp_path / "run.etdp"
    with (
        EventTracer(path, clock=Clock()) as tracer,
        tracer.create_event_block("Execute"),
        tracer.start_profiling("DELEGATE_CALL", 0, 0),
    ):
        tracer.log_profiling_delegate("Fancy Fusion", None, 12, 18)
    assert main(["info", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        str(path),
        "  ETDump, ExecuTorch 0.2 and later",
        "  2 slices on 1 track, 10\u202fns",
    ]


def test_cycles_are_opened_with_their_rate(tmp_path, capsys):
    path = tmp_path / "run.etdp"
    with EventTracer(path, clock=Clock(), unit="cycles") as tracer:
        tracer.log_profiling_delegate("Fancy Fusion", None, 0, 1000)
    assert main(["info", str(path), "--clock", f"{path}=800MHz"]) == 0
    assert "1.250\u202fµs" in capsys.readouterr().out


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "run.etdp"
    tracer = EventTracer(clock=Clock())
    tracer.end_profiling(tracer.start_profiling("one"))
    tracer.write(path)
    old = path.read_bytes()
    tracer.end_profiling(tracer.start_profiling("two"))

    def fails(*given):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("viewer.record.etdump_writer._write_batch", fails)
        with pytest.raises(OSError, match="No space left"):
            tracer.write(path)
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["run.etdp"]
    tracer.write(path)
    assert [e.what for e in events_of(path)] == ["one", "two"]


def test_more_than_a_flatbuffer_holds_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("viewer.record.etdump_writer.MOST", 1000)
    tracer = EventTracer(clock=Clock())
    for i in range(20):
        tracer.log_profiling_delegate(None, i, i, i)
    with pytest.raises(ValueError, match="an ETDump ends at 2 GiB: log fewer events"):
        tracer.write(tmp_path / "run.etdp")
    assert list(tmp_path.iterdir()) == []
