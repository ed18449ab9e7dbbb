"""Which record belongs to which dump, in any order of opening, and what is said where none does."""

import itertools
import json
import os
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders.workspaces import (
    DATA,
    DEMO,
    EVENTS,
    JOBS,
    STR,
    TORQ,
    chosen,
    handles,
    in_force,
    opened,
    read,
    warnings,
    with_torq,
    workspace_of,
)
from tests.paths import SAMPLES
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.program.program import Tensor
from viewer.program.source_files import Substitution
from viewer.record import DelegateInstance, write_debug_handle_map
from viewer.workspace.workspace import Workspace

SAMPLE = SAMPLES / "delegate_handle_map"


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 20), marks=pytest.mark.nightly)])
def test_every_dump_finds_its_record_in_any_order(seeds):
    pairs = {
        "demo_str_x4.etdp": "demo_str.etrecord",
        "demo_manual_int_x4.etdp": "demo_manual_int.etrecord",
        "cnn_xnnpack_x10.etdp": "cnn_teal_xnnpack.etrecord",
        "cond_portable_x5.etdp": "cond_toedge_portable.etrecord",
        "multi_forward_decode_portable_x3.etdp": "multi_forward_decode_toedge_portable.etrecord",
    }
    items = [read(n) for pair in pairs.items() for n in pair]
    items.append(read("multi_forward_decode_teal_xnnpack.etrecord"))  # fits anything delegated
    for seed in seeds:
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


@pytest.mark.slow
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
    assert "demo_str_x4.etdp does not match demo_generated_int.etrecord" in said
    assert "(match 0.00, 6 names compared)" in said


def test_an_unfinished_record_is_not_linked_since_nothing_can_be_compared():
    workspace = opened("cond_portable_x5.etdp", "broken_partial_save.etrecord")
    assert chosen(workspace) == {"cond_portable_x5.etdp": None}
    assert "cannot be checked" in warnings(workspace)
    assert "does not match" not in warnings(workspace)
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
    assert "about equally well. Choose one" in warnings(workspace)


def test_records_that_fit_alike_but_link_differently_leave_the_choice_to_the_user():
    names = ("multi_encode_decode_portable_x3.etdp", "multi_encode_decode_toedge_portable.etrecord",
             "multi_forward_decode_toedge_portable.etrecord")  # fmt: skip
    for order in itertools.permutations(names):
        workspace = opened(*order)
        assert chosen(workspace) == {names[0]: None}
        assert "about equally well. Choose one" in warnings(workspace)


def test_of_records_that_fit_alike_one_with_the_profiles_name_belongs_to_it(tmp_path):
    names = ("multi_encode_decode_portable_x3.etdp", "multi_encode_decode_toedge_portable.etrecord",
             "multi_forward_decode_toedge_portable.etrecord")  # fmt: skip
    copies = [tmp_path / name for name in ("model.etdp", "model.etrecord", "other.etrecord")]
    for name, copy in zip(names, copies, strict=True):
        shutil.copy(DATA / ("etdump" if name.endswith(".etdp") else "etrecord") / name, copy)
    for order in itertools.permutations(copies):
        workspace = workspace_of(*order)
        assert chosen(workspace) == {"model.etdp": "model.etrecord"}


def test_an_explicit_choice_wins_and_is_warned_about():
    workspace = opened("demo_str_x4.etdp", "demo_str.etrecord", "demo_generated_int.etrecord")
    trace = workspace.traces[0]
    wrong = next(p for p in workspace.programs if "generated" in p.path)
    assert not workspace.is_explicit(trace)
    workspace.pair(trace.path, wrong.path)
    assert workspace.is_explicit(trace)
    assert chosen(workspace) == {"demo_str_x4.etdp": "demo_generated_int.etrecord"}
    assert "because you chose so" in warnings(workspace)
    workspace.match_automatically(trace.path)
    assert not workspace.is_explicit(trace)
    assert chosen(workspace) == {"demo_str_x4.etdp": "demo_str.etrecord"}


def test_a_record_that_fits_in_part_is_linked_and_doubted():
    workspace = opened("lstm_portable_x1.etdp", "gru_toedge_portable.etrecord")
    assert chosen(workspace) == {"lstm_portable_x1.etdp": "gru_toedge_portable.etrecord"}
    assert "match only in part (match 0.73, 44 names compared)" in warnings(workspace)
    workspace.add(read("lstm_toedge_portable.etrecord"))
    assert chosen(workspace) == {"lstm_portable_x1.etdp": "lstm_toedge_portable.etrecord"}
    assert warnings(workspace) == ""


def test_only_open_files_can_be_paired():
    workspace = opened("demo_str_x4.etdp", "demo_str.etrecord")
    dump, record = workspace.paths
    with pytest.raises(ValueError, match="is not an open ETRecord"):
        workspace.pair(dump, "other.etrecord")
    with pytest.raises(ValueError, match="is not an open profile"):
        workspace.pair(record, dump)


def test_what_cannot_be_checked_is_linked_with_a_warning():
    workspace = opened(
        "multi_forward_decode_converts_x3.etdp", "multi_forward_decode_teal_xnnpack.etrecord"
    )
    assert None not in chosen(workspace).values()
    assert "Execute 1 and Execute 2" in warnings(workspace)
    assert "may have run decode or forward" in warnings(workspace)


def test_what_cannot_be_checked_is_not_called_a_mismatch():
    workspace = opened("demo_str_x4.etdp", "tiny_cnn.mlir")
    workspace.pair(*workspace.paths)
    assert "does not match" not in warnings(workspace)


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
    assert (workspace.paths, workspace.traces) == ([], [])
    workspace.add(read("demo_str_x4.etdp"))
    assert chosen(workspace) == {"demo_str_x4.etdp": None}


def test_each_file_starts_at_zero():
    workspace = opened("demo_str_x4.etdp", "cnn_portable_x1.etdp")
    for trace in workspace.traces:
        assert trace.start + workspace.clocks.offset_ns(trace) == 0


# -- sources ---------------------------------------------------------------------------------------


def test_sources_are_found_beside_the_opened_files():
    workspace = workspace_of(SAMPLE / "demo_str.etrecord")
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
    assert workspace.files[text.path].found_for == workspace.traces[0].path
    workspace.pair(workspace.traces[0].path, None)
    assert chosen(workspace)["compile_c0_callsite.csv"] is None
    assert workspace.companions_of(workspace.traces[0]) == []
    workspace.add(read("tiny_cnn.mlir"))
    assert workspace.files[workspace.programs[0].path].found_for is None


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
    workspace = workspace_of(tmp_path / "compile_c0_callsite.csv")
    (said,) = workspace.open_companions()
    assert said.startswith("compile_c0_callsite.csv refers to a source that cannot be read: ")
    assert "iree-opt tiny_cnn.mlir" in said
    assert workspace.programs == []


# -- what the user chooses -------------------------------------------------------------------------

TWINS = ("multi_forward_decode_converts_x3.etdp", "multi_forward_decode_teal_xnnpack.etrecord")


def methods_of(workspace: Workspace) -> dict[str, str | None]:
    table = workspace.links(workspace.traces[0])
    return {s.name: table.method_of_scope(i) for i, s in enumerate(table.trace.scopes)}


def test_methods_that_look_alike_are_chosen_and_choosing_one_decides_no_other():
    """That two methods were loaded does not prove that both ran."""
    workspace = opened(*TWINS)
    assert methods_of(workspace) == {"Execute 1": None, "Execute 2": None, "load": None}
    workspace.choose_method(workspace.traces[0].path, "Execute 2", "decode")
    assert methods_of(workspace) == {"Execute 1": None, "Execute 2": "decode", "load": None}
    assert "Execute 1 in multi_forward_decode_converts_x3.etdp may have run" in warnings(workspace)
    workspace.choose_method(workspace.traces[0].path, "Execute 1", "forward")
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
    workspace.match_automatically(trace.path)
    assert not workspace.is_explicit(trace)
    assert methods_of(workspace)["Execute 1"] is None


def test_a_pair_can_be_refused():
    workspace = opened("demo_str_x4.etdp", "demo_str.etrecord")
    workspace.pair(workspace.traces[0].path, None)
    assert chosen(workspace) == {"demo_str_x4.etdp": None}
    assert warnings(workspace) == ""
    workspace.match_automatically(workspace.traces[0].path)
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
    workspace = workspace_of(TORQ / csv, path)
    (trace,) = workspace.traces
    assert in_force(workspace)[1] == "evidence"
    links = workspace.links(trace).links
    for i, key in enumerate(trace.slices.key.tolist()):
        assert links[key].handles == entries.get(trace.name(i), ()), trace.name(i)


def test_numbers_of_a_map_are_proposed_and_a_dump_says_that_they_prove_nothing():
    workspace = with_torq(JOBS)
    workspace.open(str(MAPS / "demo_manual_int.json"))
    assert "Numbers can match by chance, so they were not linked" in warnings(workspace)
    workspace.identify(workspace.traces[0].path, "job_id")
    assert handles(workspace) == DEMO
    assert warnings(workspace).endswith(
        "cannot be checked: they share only numbers as identifiers, which can match by chance."
    )


@pytest.mark.parametrize(
    ("dump", "program", "said"),
    [
        ("demo_str_x4.etdp", "demo_str.json", ""),
        ("demo_manual_int_x4.etdp", "demo_manual_int.json", ""),
        ("demo_str_x4.etdp", "demo_manual_int.json", "Most of the logged identifiers are not"),
        ("attn_xnnpack_x5.etdp", "demo_str.json", "Most of the logged identifiers are not"),
        ("cnn_portable_x10.etdp", "demo_str.json", "there is nothing to compare"),
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
            workspace = workspace_of(*names, profile)
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


PTE = DATA / "pte"


@pytest.mark.slow
def test_a_program_file_stands_beside_its_dump_and_record_and_changes_no_link():
    workspace = workspace_of(PTE / "custom.pte")
    assert (workspace.is_empty, workspace.paths) == (False, [str(PTE / "custom.pte")])
    for name in ("custom.etdp", "custom.etrecord"):
        workspace.open(str(PTE / name))
    assert [Path(path).name for path in workspace.paths] == [
        "custom.etdp", "custom.etrecord", "custom.pte",
    ]  # fmt: skip
    assert workspace.links(workspace.traces[0]).program is workspace.programs[0]
    assert workspace.stamp(str(PTE / "custom.pte")) is not None


def test_a_file_that_is_read_again_replaces_itself_even_as_another_kind(tmp_path):
    path, workspace = tmp_path / "model.pte", Workspace()
    shutil.copy(PTE / "custom.pte", path)
    workspace.open(str(path))
    shutil.copy(PTE / "cond.pte", path)
    workspace.open(str(path))
    (executable,) = workspace.executables
    assert len(executable.methods[0].instructions) == 21
    for other, kind in (("custom.etrecord", "programs"), ("custom.etdp", "traces")):
        shutil.copy(PTE / other, path)
        workspace.open(str(path))
        assert len(getattr(workspace, kind)) == len(workspace.paths) == 1
    shutil.copy(PTE / "custom.pte", path)
    workspace.open(str(path))
    assert len(workspace.executables) == len(workspace.paths) == 1
