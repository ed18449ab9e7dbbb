"""Which record belongs to which dump, in any order of opening, and what is said where none does."""

import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest

from viewer.formats import UnreadableFile, open_file
from viewer.model.trace import Trace
from viewer.program.graph import Program, Tensor
from viewer.workspace import Workspace

DATA = Path(__file__).parent / "data"
TORQ = Path(__file__).parent.parent / "resources" / "samples" / "torq_compile"


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
    assert "agreement 0.00 on 6 compared" in said


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
    assert "fit in part only: agreement 0.73 on 44 compared" in warnings(workspace)
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
    workspace.clear()
    assert (workspace.paths, workspace.span_ns()) == ([], 0)
    workspace.add(read("demo_str_x4.etdp"))
    assert chosen(workspace) == {"demo_str_x4.etdp": None}


def test_each_file_starts_at_zero():
    workspace = opened("demo_str_x4.etdp", "cnn_portable_x1.etdp")
    for trace in workspace.traces:
        assert trace.start + workspace.offset_ns(trace) == 0
    assert workspace.span_ns() == max(t.end - t.start for t in workspace.traces)


def test_sources_are_found_beside_the_opened_files():
    workspace = Workspace()
    workspace.open(str(TORQ.parent / "delegate_handle_map" / "demo_str.etrecord"))
    found = workspace.source("/home/user/models/models.py")
    assert found is not None
    assert found.shown == str(TORQ.parent / "delegate_handle_map" / "models.py")
    assert workspace.source("/home/user/nothing.py") is None


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
