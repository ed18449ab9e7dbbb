"""The fuzzer itself: what it makes, that it notices a defect, and a few inputs of every kind."""

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.paths import DATA
from tests.reliability.fuzz import checks, inspect_answers, oracles, protobuf_changes, totals
from tests.reliability.fuzz.broken import Broken
from tests.reliability.fuzz.engine import Engine
from tests.reliability.fuzz.kinds import KINDS, input_of, samples_of
from tests.reliability.fuzz.minimize import minimized
from viewer.formats import open_file
from viewer.formats.table import reader
from viewer.workspace.workspace import Workspace

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("name", KINDS)
def test_a_seed_gives_the_same_inputs(name):
    def made(seed: int) -> list[bytes]:
        dice = random.Random(seed)
        return [input_of(KINDS[name], (), dice) for _ in range(20)]

    if name not in ("etrecord",):  # archives of samples keep the order of hashes
        assert made(1) == made(1)
    assert made(1) != made(2)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_some_inputs_are_read_and_some_refused_and_nothing_is_wrong(name, tmp_path):
    kind, dice = KINDS[name], random.Random(5)
    oracles.prepare(tmp_path)
    path, outcomes = tmp_path / f"input{kind.suffix}", []
    for number in range(60):
        path.write_bytes(input_of(kind, (), dice))
        result = checks.read(path, kind)
        defect = result.defect
        if result.is_read and defect is None and number % 6 == 0:
            defect = checks.use(path, kind, result.item)
        assert defect is None, defect.text
        outcomes.append(result.is_read)
    assert any(outcomes)
    assert name in ("settings", "mlir") or not all(outcomes)


def test_what_takes_too_long_is_a_defect_with_the_function(tmp_path, monkeypatch):
    def endless(path, progress, cancelled):
        while True:
            pass

    monkeypatch.setattr(checks, "MOST_SECONDS", 0.1)
    monkeypatch.setattr(reader, "read", endless)
    path = tmp_path / "input.csv"
    path.write_bytes((DATA / "table_csv/two_threads.csv").read_bytes())
    defect = checks.read(path, KINDS["table"]).defect
    assert defect is not None
    assert defect.text.startswith("TooSlow: more than 0 s of processor time at formats/")


def broken() -> Iterator[tuple[str, dict[str, object]]]:
    trace = open_file(str(DATA / "table_csv/two_threads.csv"))
    slices = trace.slices
    yield "a slice ends before it starts", {"end": slices.start - 1}
    yield "slices.name has another length", {"name": slices.name[:-1]}
    yield "a key that is not in the keys", {"key": slices.key + np.uint32(1000)}
    yield "row_ptr is no CSR", {"row_ptr": slices.row_ptr[::-1].copy()}
    yield "the order is no permutation", {"order": np.zeros_like(slices.key)}
    yield "the order is no preorder", {"row_depth": slices.row_depth + np.uint32(1)}
    yield "a row on no track", {"row_track": slices.row_track + np.uint32(7)}


@pytest.mark.parametrize(("what", "columns"), list(broken()), ids=lambda value: str(value)[:30])
def test_columns_that_do_not_fit_together_are_noticed(what, columns):
    trace = open_file(str(DATA / "table_csv/two_threads.csv"))
    oracles.check_trace(trace)
    with pytest.raises(Broken, match=what):
        oracles.check_trace(replace(trace, slices=replace(trace.slices, **columns)))


def test_a_message_is_taken_apart_and_put_together_again():
    for sample in samples_of(KINDS["perfetto"]):
        tree = protobuf_changes.parsed(sample)
        if tree is not None:
            assert protobuf_changes.written(tree) == sample
    assert protobuf_changes.parsed(b"\x0a\xff") is None


def test_an_input_is_made_as_small_as_its_defect_allows():
    data = b"one\ntwo\nthree\nfour x\nfive\nsix\n"
    assert minimized(data, lambda some: b"x" in some, 10.0) == b"x"
    assert minimized(data, lambda some: False, 10.0) == data


def test_busy_ticks_count_an_instant_once_per_track(tmp_path):
    path = tmp_path / "overlap.csv"
    spans = [("a", 0, 100), ("a", 10, 20), ("a", 50, 100), ("b", 0, 7), ("b", 20, 5)]
    rows = "".join(f"p,{thread},x,{start},{length}\n" for thread, start, length in spans)
    path.write_text(f"process,thread,name,start_ns,dur_ns\n{rows}")
    trace = open_file(str(path))
    assert totals.busy_ticks(trace) == 150 + 12


def test_a_whole_that_is_not_the_busy_time_is_noticed(monkeypatch):
    workspace = Workspace()
    trace = workspace.open(str(DATA / "table_csv/two_threads.csv"))
    totals.check_totals(workspace.links(trace))
    monkeypatch.setattr(totals, "busy_ticks", lambda trace: 10**15)
    with pytest.raises(Broken, match="names are not the busy time"):
        totals.check_totals(workspace.links(trace))


def test_both_answers_of_inspect_are_checked(monkeypatch):
    path = DATA / "etdump/demo_str_x4.etdp"
    inspect_answers.check_inspect(path, KINDS["etdump"])
    inspect_answers.check_inspect(DATA / "etrecord/demo_str.etrecord", KINDS["etrecord"])
    for module, name in (("official", "answer"), ("InspectorAnswers", "as_json")):
        with monkeypatch.context() as patch:
            patch.setattr(getattr(inspect_answers, module), name, lambda *_: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                inspect_answers.check_inspect(path, KINDS["etdump"])


def test_the_engine_names_the_one_file_of_many_that_differs(tmp_path, monkeypatch):
    trace = open_file(str(DATA / "table_csv/two_threads.csv"))
    engine = Engine(tmp_path / "engine.pftrace")
    for number in range(5):
        engine.add(trace, b"%d" % number)
    monkeypatch.setattr(
        engine,
        "_difference",
        lambda sources: "differs" if any(s.tracks[0].process[0] == "3" for s in sources) else "",
    )
    assert engine.ask() == ("differs", b"3")
    assert engine.ask() == ("", b"")
