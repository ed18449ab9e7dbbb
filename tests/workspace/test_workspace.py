"""Which record belongs to which dump, in any order of opening, and what is said where none does."""

import itertools
import json
import os
import random
import shutil
from copy import copy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.building.builder import TraceBuilder
from viewer.model.times import ClockRate, RateOrigin, tick_to_ns
from viewer.model.trace import Clock, KeyKind, Trace
from viewer.program.program import Program, Tensor
from viewer.program.sources.files import Substitution
from viewer.record import DelegateInstance, write_debug_handle_map
from viewer.workspace.link_choices import Choices, apply
from viewer.workspace.workspace import Workspace

DATA = Path(__file__).parents[1] / "data"
TORQ = DATA / "torq"
SAMPLE = Path(__file__).parents[2] / "resources" / "samples" / "delegate_handle_map"


def read(name: str) -> Trace | Program:
    folder = {".etdp": DATA / "etdump", ".etrecord": DATA / "etrecord"}.get(Path(name).suffix, TORQ)
    return open_file(str(folder / name))


def opened(*names: str) -> Workspace:
    workspace = Workspace()
    for name in names:
        workspace.add(read(name))
    return workspace


def chosen(workspace: Workspace) -> dict[str, str | None]:
    """Trace -> the program it is linked to, by file name."""
    found = {}
    for trace in workspace.traces:
        program = workspace.links(trace).program
        found[Path(trace.path).name] = program and Path(program.path).name
    return found


def warnings(workspace: Workspace) -> str:
    return "\n".join(w for t in workspace.traces for w in workspace.warnings(t))


def test_every_dump_finds_its_record_in_any_order():
    pairs = {
        "demo_str_x4.etdp": "demo_str.etrecord",
        "demo_manual_int_x4.etdp": "demo_manual_int.etrecord",
        "cnn_xnnpack_x10.etdp": "cnn_teal_xnnpack.etrecord",
        "cond_portable_x5.etdp": "cond_toedge_portable.etrecord",
        "multi_forward_decode_portable_x3.etdp": "multi_forward_decode_toedge_portable.etrecord",
    }
    items = [read(n) for pair in pairs.items() for n in pair]
    items.append(read("multi_forward_decode_teal_xnnpack.etrecord"))  # fits anything delegated
    for seed in range(20):
        random.Random(seed).shuffle(items)
        workspace = Workspace()
        for item in items:
            workspace.add(item)
        assert chosen(workspace) == pairs
        assert warnings(workspace) == ""


def test_one_record_serves_many_dumps_in_any_order():
    dumps = ("cnn_portable_x1.etdp", "cnn_portable_x10.etdp", "cnn_runtimeapi_x3.etdp")
    items = [read(name) for name in (*dumps, "cnn_toedge_portable.etrecord")]
    for order in itertools.permutations(items):
        workspace = Workspace()
        for item in order:
            workspace.add(item)
            for trace in workspace.traces:
                workspace.links(trace)  # as the window asks after every drop
        assert chosen(workspace) == dict.fromkeys(dumps, "cnn_toedge_portable.etrecord")
        assert warnings(workspace) == ""


def test_files_of_different_ages_and_models_find_only_their_own():
    old, mid = DATA / "etrecord" / "0.6.0", DATA / "etrecord" / "1.0.1"
    pairs = {
        old / "cnn_portable_x3.etdp": old / "cnn_portable.etrecord",
        old / "demo_str_x3.etdp": old / "demo_str.etrecord",
        mid / "cnn_ge_xnnpack_x3.etdp": mid / "cnn_ge_xnnpack.etrecord",
    }
    items = [open_file(str(path)) for pair in pairs.items() for path in pair]
    items.append(read("demo_manual_int.etrecord"))
    for order in itertools.islice(itertools.permutations(items), 0, 5040, 97):
        workspace = Workspace()
        for item in order:
            workspace.add(item)
        for trace in workspace.traces:
            program = workspace.links(trace).program
            assert program is not None
            assert Path(program.path) == pairs[Path(trace.path)]


def test_a_record_opened_after_the_links_were_asked_for_is_used():
    workspace = opened("demo_str_x4.etdp")
    assert chosen(workspace) == {"demo_str_x4.etdp": None}
    workspace.add(read("demo_str.etrecord"))
    assert chosen(workspace) == {"demo_str_x4.etdp": "demo_str.etrecord"}


def test_a_record_of_another_model_is_not_linked_and_that_is_said():
    workspace = opened("demo_str_x4.etdp", "demo_generated_int.etrecord")
    assert chosen(workspace) == {"demo_str_x4.etdp": None}
    said = warnings(workspace)
    assert "demo_str_x4.etdp and demo_generated_int.etrecord do not belong together" in said
    assert "agreement 0.00 on 6 names compared" in said


def test_an_unfinished_record_is_not_linked_since_nothing_can_be_compared():
    workspace = opened("cond_portable_x5.etdp", "broken_partial_save.etrecord")
    assert chosen(workspace) == {"cond_portable_x5.etdp": None}
    assert "cannot be checked" in warnings(workspace)
    assert "do not belong together" not in warnings(workspace)
    workspace.add(read("cond_toedge_portable.etrecord"))
    assert chosen(workspace) == {"cond_portable_x5.etdp": "cond_toedge_portable.etrecord"}
    assert warnings(workspace) == ""


def test_equivalent_records_are_as_good_as_one():
    for record in ("cnn_standalone_deepcopy.etrecord", "cnn_toedge_portable.etrecord"):
        workspace = opened("cnn_portable_x1.etdp", record)
        assert warnings(workspace) == ""
        assert chosen(workspace) == {"cnn_portable_x1.etdp": record}
    names = ("cnn_standalone_deepcopy.etrecord", "cnn_toedge_portable.etrecord")
    assert chosen(opened("cnn_portable_x1.etdp", *names))["cnn_portable_x1.etdp"] in names


def test_records_of_other_shapes_are_not_equivalent():
    """A wider model has the same operators at the same lines."""
    workspace = opened("cnn_portable_x1.etdp", "cnn_standalone_deepcopy.etrecord")
    program = workspace.programs[0]
    (method,) = program.methods
    first, *rest = method.operators
    wide = replace(first.nodes[0], outputs=(Tensor("y", "f32", (1, 16, 16, 16)),))
    operators = (replace(first, nodes=(wide,)), *rest)
    workspace.add(
        replace(program, path="wide.etrecord", methods=(replace(method, operators=operators),))
    )
    assert chosen(workspace) == {"cnn_portable_x1.etdp": None}
    assert "about equally well: choose one" in warnings(workspace)


def test_records_that_fit_alike_but_link_differently_leave_the_choice_to_the_user():
    names = ("multi_encode_decode_portable_x3.etdp", "multi_encode_decode_toedge_portable.etrecord",
             "multi_forward_decode_toedge_portable.etrecord")  # fmt: skip
    for order in itertools.permutations(names):
        workspace = opened(*order)
        assert chosen(workspace) == {names[0]: None}
        assert "about equally well: choose one" in warnings(workspace)


def test_an_explicit_choice_wins_and_is_warned_about():
    workspace = opened("demo_str_x4.etdp", "demo_str.etrecord", "demo_generated_int.etrecord")
    trace = workspace.traces[0]
    wrong = next(p for p in workspace.programs if "generated" in p.path)
    assert not workspace.is_explicit(trace)
    workspace.pair(trace.path, wrong.path)
    assert workspace.is_explicit(trace)
    assert chosen(workspace) == {"demo_str_x4.etdp": "demo_generated_int.etrecord"}
    assert "because you chose so" in warnings(workspace)
    workspace.decide_by_agreement(trace.path)
    assert not workspace.is_explicit(trace)
    assert chosen(workspace) == {"demo_str_x4.etdp": "demo_str.etrecord"}


def test_a_record_that_fits_in_part_is_linked_and_doubted():
    workspace = opened("lstm_portable_x1.etdp", "gru_toedge_portable.etrecord")
    assert chosen(workspace) == {"lstm_portable_x1.etdp": "gru_toedge_portable.etrecord"}
    assert "fit in part only: agreement 0.73 on 44 names compared" in warnings(workspace)
    workspace.add(read("lstm_toedge_portable.etrecord"))
    assert chosen(workspace) == {"lstm_portable_x1.etdp": "lstm_toedge_portable.etrecord"}
    assert warnings(workspace) == ""


def test_only_open_files_can_be_paired():
    workspace = opened("demo_str_x4.etdp", "demo_str.etrecord")
    dump, record = workspace.paths
    with pytest.raises(ValueError, match="is not an open record"):
        workspace.pair(dump, "other.etrecord")
    with pytest.raises(ValueError, match="is not an open profile"):
        workspace.pair(record, dump)


def test_what_cannot_be_checked_is_linked_with_a_warning():
    workspace = opened(
        "multi_forward_decode_xnnpack_x3.etdp", "multi_forward_decode_teal_xnnpack.etrecord"
    )
    assert None not in chosen(workspace).values()
    assert "Execute 1 and Execute 2" in warnings(workspace)
    assert "may be of decode or forward" in warnings(workspace)


def test_what_cannot_be_checked_is_not_called_a_mismatch():
    workspace = opened("demo_str_x4.etdp", "tiny_cnn.mlir")
    workspace.pair(*workspace.paths)
    assert "do not belong together" not in warnings(workspace)


def test_torq_files_find_their_text_in_any_order():
    names = ("compile_c0_callsite.csv", "runtime_r0_nss.csv", "tiny_cnn.mlir")
    for order in itertools.permutations(names):
        workspace = opened(*order)
        assert chosen(workspace) == dict.fromkeys(names[:2], "tiny_cnn.mlir")
        assert warnings(workspace) == ""


def test_texts_and_records_are_not_mixed_up():
    workspace = opened("compile_c0_callsite.csv", "demo_str_x4.etdp", "demo_str.etrecord",
                       "tiny_cnn.mlir")  # fmt: skip
    assert chosen(workspace) == {
        "compile_c0_callsite.csv": "tiny_cnn.mlir", "demo_str_x4.etdp": "demo_str.etrecord",
    }  # fmt: skip


def test_opening_the_same_file_again_replaces_it():
    workspace = opened("demo_str_x4.etdp", "demo_str.etrecord", "demo_str_x4.etdp")
    assert (len(workspace.traces), len(workspace.programs)) == (1, 1)
    assert chosen(workspace) == {"demo_str_x4.etdp": "demo_str.etrecord"}


def test_what_cannot_be_read_changes_nothing(tmp_path):
    workspace = opened("demo_str_x4.etdp", "demo_str.etrecord")
    before = workspace.paths
    bad = tmp_path / "bad.etdp"
    bad.write_bytes(b"\xff\xd8\xff\xe0" * 10)
    for path in (bad, tmp_path, tmp_path / "gone.etdp"):
        with pytest.raises(UnreadableFile):
            workspace.open(str(path))
    assert workspace.paths == before
    assert chosen(workspace) == {"demo_str_x4.etdp": "demo_str.etrecord"}


def test_closing_everything_forgets_everything():
    workspace = opened("demo_str_x4.etdp", "demo_str.etrecord")
    workspace.pair(*workspace.paths)
    workspace = Workspace(workspace.choices.lasting)
    assert (workspace.paths, workspace.clocks.span_ns()) == ([], 0)
    workspace.add(read("demo_str_x4.etdp"))
    assert chosen(workspace) == {"demo_str_x4.etdp": None}


def test_each_file_starts_at_zero():
    workspace = opened("demo_str_x4.etdp", "cnn_portable_x1.etdp")
    for trace in workspace.traces:
        assert trace.start + workspace.clocks.offset_ns(trace) == 0
    assert workspace.clocks.span_ns() == max(t.end - t.start for t in workspace.traces)


# -- clocks ----------------------------------------------------------------------------------------

MHZ_100, MHZ_800 = Fraction(10), Fraction(5, 4)


def test_a_rate_that_no_file_states_is_chosen_and_taken_back():
    workspace = opened("compile_c0_callsite.csv")
    (trace,) = workspace.traces
    before = trace.slices.end.copy()
    assert workspace.clocks.rate(trace) == ClockRate("cycle", MHZ_800, RateOrigin.ASSUMED)
    assert workspace.clocks.span_ns() == trace.end * 5 // 4
    workspace.set_clock(trace.path, MHZ_100)
    assert workspace.clocks.rate(trace) == ClockRate("cycle", MHZ_100, RateOrigin.CHOSEN)
    assert workspace.clocks.span_ns() == trace.end * 10
    assert (trace.slices.end == before).all()
    workspace.set_clock(trace.path, MHZ_800)
    assert workspace.clocks.rate(trace).origin is RateOrigin.CHOSEN
    workspace.set_clock(trace.path, None)
    assert workspace.clocks.rate(trace).origin is RateOrigin.ASSUMED


def test_a_stated_rate_cannot_be_chosen():
    workspace = opened("runtime_r0_nss.csv")
    with pytest.raises(ValueError, match="states the rate of its clock"):
        workspace.set_clock(workspace.traces[0].path, MHZ_100)
    with pytest.raises(ValueError, match="is not an open profile"):
        workspace.set_clock("other.csv", MHZ_100)
    assert workspace.clocks.ns_per_tick(workspace.traces[0]) == 1000


@pytest.mark.parametrize(
    ("rate", "why"),
    [(Fraction(0), "cannot last 0 ns"), (Fraction(-1), "cannot last -1 ns"),
     (Fraction(2**62, 2**62 - 1), "cannot last"), (Fraction(2**62), "292 years")],
)  # fmt: skip
def test_a_rate_with_which_no_time_can_be_told_is_refused(rate, why):
    workspace = opened("compile_c0_callsite.csv")
    with pytest.raises(ValueError, match=why):
        workspace.set_clock(workspace.traces[0].path, rate)


def test_a_chosen_rate_holds_for_a_file_that_is_opened_again():
    workspace = opened("compile_c0_callsite.csv")
    workspace.set_clock(workspace.traces[0].path, MHZ_100)
    workspace.add(read("compile_c0_callsite.csv"))
    assert workspace.clocks.ns_per_tick(workspace.traces[0]) == MHZ_100
    workspace = Workspace(workspace.choices.lasting)
    workspace.add(read("compile_c0_callsite.csv"))
    assert workspace.clocks.ns_per_tick(workspace.traces[0]) == MHZ_800


def test_a_copy_has_rates_of_its_own():
    workspace = opened("compile_c0_callsite.csv")
    other = copy(workspace)
    other.set_clock(workspace.traces[0].path, MHZ_100)
    assert workspace.clocks.ns_per_tick(workspace.traces[0]) == MHZ_800


def test_one_rate_for_all_files_that_state_none_and_another_for_one():
    workspace = opened("compile_c0_callsite.csv", "runtime_r0_nss.csv", "demo_str_x4.etdp")
    cycles, stated, dump = workspace.traces
    every, one = ("", MHZ_100), (dump.path, MHZ_800)
    for clocks in ((every, one), (one, every)):
        assert apply(Choices(clocks=clocks), workspace) == []
        assert [workspace.clocks.ns_per_tick(t) for t in (cycles, stated, dump)] == [
            MHZ_100, Fraction(1000), MHZ_800,
        ]  # fmt: skip
    (said,) = apply(Choices(clocks=(every,)), opened("runtime_r0_nss.csv"))
    assert said.endswith("every open profile states the rate of its clock")


def host_profile(path: str, *slices: tuple[int, int], domain: str = "boot") -> Trace:
    """A trace in µs of one clock domain: (start, end) each."""
    builder = TraceBuilder(path, "test", "", Clock("us", Fraction(1000), domain=domain))
    times = np.array(slices, np.int64).reshape(-1, 2)
    builder.add(
        track=builder.track(path, "host"), start=times[:, 0], end=times[:, 1],
        name=builder.intern("a"), key=builder.key(KeyKind.PLAIN, "a"),
    )  # fmt: skip
    return builder.build()


def test_files_of_one_clock_share_an_axis_that_begins_with_the_first_of_them():
    workspace = Workspace()
    one, two = host_profile("one", (5_000, 5_100)), host_profile("two", (5_030, 5_200))
    other = host_profile("other", (7, 9), domain="")
    for trace in (two, one, other):
        workspace.add(trace)
    starts = [tick_to_ns(t.start, Fraction(1000)) + workspace.clocks.offset_ns(t) for t in
              (one, two, other)]  # fmt: skip
    assert starts == [0, 30_000, 0]
    assert workspace.clocks.span_ns() == 200_000
    assert workspace.clocks.same_clock(one) == [two, one]
    assert workspace.clocks.same_clock(other) == [other]


def test_a_file_without_slices_does_not_move_the_others_of_its_clock():
    workspace = Workspace()
    for trace in (host_profile("one", (5_000, 5_100)), host_profile("empty")):
        workspace.add(trace)
    assert workspace.clocks.offset_ns(workspace.traces[0]) == -5_000_000
    assert workspace.clocks.span_ns() == 100_000


# -- sources ---------------------------------------------------------------------------------------


def test_sources_are_found_beside_the_opened_files():
    workspace = Workspace()
    workspace.open(str(SAMPLE / "demo_str.etrecord"))
    found = workspace.source("/home/user/models/models.py")
    assert found is not None
    assert found.shown == str(SAMPLE / "models.py")
    assert workspace.source("/home/user/nothing.py") is None


def test_a_source_is_found_where_it_was_said_to_lie(tmp_path):
    workspace = opened("demo_str_x4.etdp")
    (tmp_path / "nn").mkdir()
    (tmp_path / "nn" / "model.py").write_text("there\n")
    assert workspace.source("/build/nn/model.py") is None
    moved = Substitution("/build", str(tmp_path))
    workspace.substitute(moved)
    found = workspace.source("/build/nn/model.py")
    assert found is not None
    assert (found.shown, found.lines) == (str(tmp_path / "nn" / "model.py"), ("there",))
    assert workspace.source("/build/nn/other.py") is None
    workspace.withdraw(moved)
    assert workspace.source("/build/nn/model.py") is None


def test_what_was_said_of_a_path_wins_over_an_open_text_of_that_name(tmp_path):
    (tmp_path / "tiny_cnn.mlir").write_text("another\n")
    workspace = opened("compile_c0_callsite.csv", "tiny_cnn.mlir")
    recorded = "/build/tiny_cnn.mlir"
    assert workspace.source(recorded).shown == str(TORQ / "tiny_cnn.mlir")
    workspace.substitute(Substitution("/build", str(tmp_path)))
    assert workspace.source(recorded).lines == ("another",)
    path = workspace.programs[0].path
    assert workspace.source(path).lines == workspace.programs[0].text_lines


def test_the_text_that_a_profile_names_is_opened_with_it():
    workspace = opened("compile_c0_callsite.csv", "runtime_r0_nss.csv")
    assert workspace.open_companions() == []
    assert chosen(workspace) == dict.fromkeys(
        ("compile_c0_callsite.csv", "runtime_r0_nss.csv"), "tiny_cnn.mlir"
    )
    (text,) = workspace.programs
    assert workspace.found_for(text) == workspace.traces[0].path
    workspace.pair(workspace.traces[0].path, None)
    assert chosen(workspace)["compile_c0_callsite.csv"] is None
    assert workspace.companions_of(workspace.traces[0]) == []
    workspace.add(read("tiny_cnn.mlir"))
    assert workspace.found_for(workspace.programs[0]) is None


def test_beside_a_text_that_was_asked_for_none_is_opened(tmp_path):
    (tmp_path / "mine.mlir").write_text((TORQ / "tiny_cnn.mlir").read_text())
    workspace = opened("compile_c0_callsite.csv")
    workspace.open(str(tmp_path / "mine.mlir"))
    assert workspace.open_companions() == []
    assert [Path(p.path).name for p in workspace.programs] == ["mine.mlir"]


def test_debug_info_is_no_text_that_was_asked_for_and_brings_the_one_it_names():
    workspace = opened("host_h4_latest.csv", "tiny_cnn.lowered_generic.mlir")
    assert workspace.open_companions() == []
    program = workspace.links(workspace.traces[0]).program
    assert program is not None
    assert os.path.basename(program.path) == "tiny_cnn.mlir"


def test_a_text_beside_a_profile_that_cannot_be_read_is_told(tmp_path):
    shutil.copy(TORQ / "compile_c0_callsite.csv", tmp_path)
    (tmp_path / "tiny_cnn.mlir").write_bytes(b"ML\xefR bytecode")
    workspace = Workspace()
    workspace.open(str(tmp_path / "compile_c0_callsite.csv"))
    (said,) = workspace.open_companions()
    assert said.startswith("compile_c0_callsite.csv was compiled from a text that cannot be read: ")
    assert "iree-opt tiny_cnn.mlir" in said
    assert workspace.programs == []


# -- what the user chooses -------------------------------------------------------------------------

TWINS = ("multi_forward_decode_xnnpack_x3.etdp", "multi_forward_decode_teal_xnnpack.etrecord")


def methods_of(workspace: Workspace) -> dict[str, str | None]:
    table = workspace.links(workspace.traces[0])
    return {s.name: table.method_of_scope(i) for i, s in enumerate(table.trace.scopes)}


def test_methods_that_look_alike_are_chosen_and_the_last_one_follows():
    workspace = opened(*TWINS)
    assert methods_of(workspace) == {"Execute 1": None, "Execute 2": None, "load": None}
    workspace.choose_method(workspace.traces[0].path, "Execute 2", "decode")
    assert methods_of(workspace) == {"Execute 1": "forward", "Execute 2": "decode", "load": None}
    assert "cannot be checked" in warnings(workspace)
    table = workspace.links(workspace.traces[0])
    calls = [k for k, n in enumerate(table.trace.keys.name) if "CALL" in table.trace.strings[n]]
    assert [{o.method for o in table.operators(k)} for k in calls] == [{"forward"}, {"decode"}]


def test_a_choice_is_taken_back():
    workspace = opened(*TWINS)
    trace = workspace.traces[0]
    assert not workspace.is_explicit(trace)
    workspace.choose_method(trace.path, "Execute 1", "decode")
    assert workspace.is_explicit(trace)
    workspace.decide_by_agreement(trace.path)
    assert not workspace.is_explicit(trace)
    assert methods_of(workspace)["Execute 1"] is None


def test_a_pair_can_be_refused():
    workspace = opened("demo_str_x4.etdp", "demo_str.etrecord")
    workspace.pair(workspace.traces[0].path, None)
    assert chosen(workspace) == {"demo_str_x4.etdp": None}
    assert warnings(workspace) == ""
    workspace.decide_by_agreement(workspace.traces[0].path)
    assert chosen(workspace) == {"demo_str_x4.etdp": "demo_str.etrecord"}


@pytest.mark.parametrize(
    ("scope", "method", "why"),
    [
        ("Execute 3", "decode", "has no 'Execute 3'; it has Execute 1, Execute 2, load"),
        ("Execute 1", "encode", "has no method 'encode'; it has decode, forward"),
    ],
)
def test_a_choice_that_does_not_exist_says_what_does(scope, method, why):
    workspace = opened(*TWINS)
    with pytest.raises(ValueError, match=why):
        workspace.choose_method(workspace.traces[0].path, scope, method)


# -- columns of identifiers ------------------------------------------------------------------------

TORQ_DATA = DATA / "torq"
STR, MANUAL, GENERATED = (f"demo_{x}.etrecord" for x in ("str", "manual_int", "generated_int"))
JOBS, TASKS, EVENTS = "demo_manual_int_r1.csv", "demo_generated_int_c3.csv", "demo_str_c1.csv"


def with_torq(csv: str, *records: str) -> Workspace:
    workspace = Workspace()
    workspace.add(open_file(str(TORQ_DATA / csv)))
    for name in records:
        workspace.add(read(name))
    return workspace


def in_force(workspace: Workspace) -> tuple[str | None, str]:
    found = workspace.identifiers.column(workspace.traces[0])
    return found.column, found.by.value


def handles(workspace: Workspace) -> list[tuple[int, ...]]:
    """The debug handles of every slice, in the order of the file."""
    trace = workspace.traces[0]
    links = workspace.links(trace).links
    order = np.argsort(trace.slices.source_row)
    return [links[k].handles for k in trace.slices.key[order].tolist()]


DEMO = [(1, 2), (3, 4), (5,), (5,), (5,)]


def test_words_of_a_record_link_by_themselves_in_any_order():
    for paths in itertools.permutations(
        [TORQ_DATA / EVENTS, *(DATA / "etrecord" / r for r in (STR, MANUAL))]
    ):
        workspace = Workspace()
        for path in paths:
            workspace.add(open_file(str(path)))
        assert in_force(workspace) == ("type", "evidence")
        assert chosen(workspace) == {EVENTS: STR}
        assert handles(workspace) == DEMO * 2
        assert warnings(workspace) == ""
        assert not workspace.is_explicit(workspace.traces[0])


@pytest.mark.parametrize(
    ("csv", "record", "column"), [(JOBS, MANUAL, "job_id"), (TASKS, GENERATED, "task_id")]
)
def test_numbers_are_proposed_and_link_once_they_are_chosen(csv, record, column):
    workspace = with_torq(csv, record)
    trace = workspace.traces[0]
    assert in_force(workspace) == (None, "nobody")
    assert chosen(workspace) == {csv: None}
    assert f"5 of the 5 values in column {column} of {csv}" in warnings(workspace)
    assert "Numbers match by chance too, so they were not linked" in warnings(workspace)
    assert [m.column for _, m in workspace.identifiers.candidates(trace, None)] == [column]
    workspace.identify(trace.path, column)
    assert in_force(workspace) == (column, "user")
    assert handles(workspace) == DEMO
    assert warnings(workspace) == ""
    assert workspace.is_explicit(workspace.traces[0])
    workspace.decide_by_agreement(trace.path)
    assert workspace.traces == [trace]
    assert chosen(workspace) == {csv: None}


@pytest.mark.parametrize(
    ("csv", "record"),
    [
        (EVENTS, MANUAL), (EVENTS, GENERATED), (EVENTS, "cnn_teal_xnnpack.etrecord"), (JOBS, STR),
        (TASKS, STR), ("compile_c3_taskid.csv", STR), ("compile_c0_callsite.csv", STR),
        ("runtime_r1_nss_noloc.csv", MANUAL),
    ],
)  # fmt: skip
def test_false_pairs_stay_unlinked(csv, record):
    workspace = with_torq(csv, record)
    assert chosen(workspace) == {csv: None}
    assert in_force(workspace) == (None, "nobody")


def test_a_column_of_other_things_too_is_proposed_and_links_when_both_are_chosen():
    workspace = with_torq("demo_str_dma_c1.csv", STR)
    path = workspace.traces[0].path
    assert "5 of the 7 values in column type" in warnings(workspace)
    assert "chance" not in warnings(workspace)
    workspace.identify(path, "type")
    linked = [h for h in handles(workspace) if h]
    assert linked == DEMO  # the transfers are in no map


def test_what_an_mlir_text_says_of_the_slices_is_not_taken_from_them(tmp_path):
    """Locations that are found in a text mean something else, so words alone do not decide."""
    body = "module {\n  func.func @f() {\n" + "    %0 = tosa.abs %a\n" * 5 + "  }\n}\n"
    other, text = tmp_path / "other.mlir", tmp_path / "demo.mlir"
    other.write_text(body)
    text.write_text(body)
    workspace = with_torq(EVENTS, STR)
    workspace.add(open_file(str(other)))
    assert chosen(workspace) == {EVENTS: STR}
    workspace.add(open_file(str(text)))
    assert in_force(workspace) == (None, "nobody")
    assert chosen(workspace) == {EVENTS: "demo.mlir"}
    workspace.identify(workspace.traces[0].path, "type")
    assert chosen(workspace) == {EVENTS: STR}
    workspace.pair(workspace.traces[0].path, str(text))
    assert {x.reason.name for x in workspace.links(workspace.traces[0]).links} == {"BY_LOCATION"}


def test_a_choice_is_remembered_for_profiles_of_its_form():
    first = with_torq(JOBS, MANUAL)
    first.identify(first.traces[0].path, "job_id", remember=True)
    again = Workspace(first.choices.lasting)
    again.add(read(MANUAL))
    again.add(open_file(str(TORQ_DATA / JOBS)))
    assert in_force(again) == ("job_id", "memory")
    assert handles(again) == DEMO
    # Without a record that has any of its values a profile is what its file says.
    other = Workspace(first.choices.lasting)
    other.add(open_file(str(TORQ_DATA / JOBS)))
    assert in_force(other) == (None, "nobody")
    # A form with other columns is another one, and the choice can be taken back.
    other.add(read(MANUAL))
    other.decide_by_agreement(other.traces[0].path)
    assert other.choices.remembered == {}
    assert in_force(other) == (None, "nobody")
    assert len(first.choices.remembered) == 1


def test_that_no_column_is_meant_is_remembered_too():
    first = with_torq(EVENTS, STR)
    first.identify(first.traces[0].path, None, remember=True)
    assert chosen(first) == {EVENTS: None}
    assert warnings(first) == ""
    first = Workspace(first.choices.lasting)
    first.add(open_file(str(TORQ_DATA / EVENTS)))
    first.add(read(STR))
    assert in_force(first) == (None, "memory")
    assert chosen(first) == {EVENTS: None}


def test_traces_are_the_same_objects_as_long_as_nothing_changed():
    workspace = with_torq(EVENTS, STR)
    shown = workspace.traces[0]
    table = workspace.links(shown)
    workspace.add(open_file(str(TORQ_DATA / TASKS)))
    assert workspace.traces[0] is shown
    copied = copy(workspace)
    copied.identify(shown.path, None)
    assert workspace.traces[0] is shown
    assert copied.traces[0] is not shown
    assert workspace.links(shown).links == table.links


def test_a_dump_says_itself_what_its_slices_are():
    workspace = opened("demo_str_x4.etdp", STR)
    trace, path = workspace.traces[0], workspace.traces[0].path
    linked = workspace.links(trace).program
    assert workspace.identifiers.candidates(trace, linked) == []
    with pytest.raises(ValueError, match="have identities of their own"):
        workspace.identify(path, "name")


def test_columns_of_a_command_line():
    workspace = with_torq(JOBS, MANUAL)
    workspace.add(open_file(str(TORQ_DATA / TASKS)))
    jobs, tasks = (t.path for t in workspace.traces)
    assert apply(Choices(columns=((None, "job_id"), (tasks, "task_id"))), workspace) == []
    assert [workspace.identifiers.column(t).column for t in workspace.traces] == [
        "job_id",
        "task_id",
    ]
    assert apply(Choices(columns=((None, ""),)), workspace) == []
    assert [workspace.identifiers.column(t).column for t in workspace.traces] == [None, None]
    assert apply(Choices(columns=((None, "nope"),)), workspace) == [
        "--identifier-column nope: no open profile has such a column; there are job_id, name, "
        "event, location, task_id"
    ]
    (complaint,) = apply(Choices(columns=((jobs, "event"),)), workspace)
    assert complaint.endswith(
        "has no column 'event' of texts or whole numbers; it has job_id, name"
    )
    (complaint,) = apply(Choices(columns=(("gone.csv", "event"),)), workspace)
    assert complaint == "--identifier-column gone.csv=event: gone.csv is not an open profile"


# -- debug handle map files ------------------------------------------------------------------------

MAPS = DATA / "debug_handle_map"


def test_a_map_beside_a_torq_profile_links_its_rows_by_event_name_in_any_order():
    """Beside the rows of the file themselves: name, start, end, location, event."""
    lines = [line.split(",") for line in (TORQ / EVENTS).read_text().splitlines()]
    entries = json.loads((MAPS / "demo_str.json").read_text())["methods"]["forward"]["*"]["entries"]
    expected = [tuple(dict(entries)[line[-1]]) for line in lines]
    for paths in itertools.permutations([TORQ / EVENTS, MAPS / "demo_str.json"]):
        workspace = Workspace()
        for path in paths:
            workspace.add(open_file(str(path)))
        assert handles(workspace) == expected == DEMO * 2
        assert in_force(workspace) == ("type", "evidence")
        assert warnings(workspace) == ""


@pytest.mark.parametrize(
    ("csv", "named"),
    [
        ("compile_c3_taskid.csv", ["Slice 0", "Slice 1", "CSS"]),
        ("compile_c1_css_cdma.csv", ["conv2d", "depthwise_conv2d"]),
        ("host_h4_latest.csv", ["HOST_COPY", "ALLOC"]),
        ("annotated_a3_latest.csv", ["torq_hl.start_program", "torq_hl.host_copy"]),
        ("runtime_r0_nss.csv", ["job 3"]),
    ],
)
def test_a_map_may_name_a_part_of_what_a_torq_profile_has(csv, named, tmp_path):
    path = tmp_path / "map.json"
    entries = {name: (i, i + 100) for i, name in enumerate(named)}
    write_debug_handle_map(path, DelegateInstance(entries, "Torq"))
    workspace = Workspace()
    workspace.open(str(TORQ / csv))
    workspace.open(str(path))
    (trace,) = workspace.traces
    assert in_force(workspace)[1] == "evidence"
    links = workspace.links(trace).links
    for i, key in enumerate(trace.slices.key.tolist()):
        assert links[key].handles == entries.get(trace.name(i), ()), trace.name(i)


def test_numbers_of_a_map_are_proposed_and_a_dump_says_that_they_prove_nothing():
    workspace = with_torq(JOBS)
    workspace.open(str(MAPS / "demo_manual_int.json"))
    assert "Numbers match by chance too, so they were not linked" in warnings(workspace)
    workspace.identify(workspace.traces[0].path, "job_id")
    assert handles(workspace) == DEMO
    assert warnings(workspace).endswith(
        "cannot be checked: the identifiers that they share are numbers, which match by chance too."
    )


@pytest.mark.parametrize(
    ("dump", "program", "said"),
    [
        ("demo_str_x4.etdp", "demo_str.json", ""),
        ("demo_manual_int_x4.etdp", "demo_manual_int.json", ""),
        ("demo_str_x4.etdp", "demo_manual_int.json", "Its maps do not have most of the"),
        ("attn_xnnpack_x5.etdp", "demo_str.json", "Its maps do not have most of the"),
        ("cnn_portable_x10.etdp", "demo_str.json", "they have nothing to compare"),
    ],
)
def test_a_map_beside_a_dump_is_linked_where_it_fits(dump, program, said):
    workspace = opened(dump)
    workspace.open(str(MAPS / program))
    assert chosen(workspace) == {dump: None if said else program}
    assert said in warnings(workspace)


def test_a_record_goes_before_a_map_that_knows_no_more_in_any_order():
    for names in itertools.permutations([MAPS / "demo_str.json", DATA / "etrecord" / STR]):
        for profile in (DATA / "etdump" / "demo_str_x4.etdp", TORQ / EVENTS):
            workspace = Workspace()
            for path in (*names, profile):
                workspace.open(str(path))
            assert chosen(workspace) == {profile.name: STR}
            assert warnings(workspace) == ""


def test_a_map_that_fits_goes_before_a_record_that_does_not():
    workspace = opened("demo_str_x4.etdp", "demo_generated_int.etrecord")
    workspace.open(str(MAPS / "demo_str.json"))
    assert chosen(workspace) == {"demo_str_x4.etdp": "demo_str.json"}


def test_a_map_needs_no_operators():
    """Without `operators` they are called by their debug handles."""
    workspace = opened("demo_manual_int_x4.etdp")
    workspace.open(str(MAPS / "demo_manual_int.json"))
    (program,) = workspace.programs
    assert [o.label for o in program.operators] == [f"debug handle {n}" for n in range(1, 6)]
    table = workspace.links(workspace.traces[0])
    assert {len(table.operators(k)) for k in range(len(table.links))} == {0, 1, 2, 5}
