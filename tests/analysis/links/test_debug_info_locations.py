"""Actions and jobs get the locations of their debug info, and nothing is matched by guessing."""

from copy import copy
from pathlib import Path

import pytest

from tests.builders.torq_host_trace import DISPATCH, EXECUTION, host_trace, recompiled, renamed
from viewer.analysis.links.link_table import Reason
from viewer.analysis.links.mlir_locations import dispatch_of_scopes, located, misfit
from viewer.formats import open_file
from viewer.model.trace import KeyKind, Trace
from viewer.program.program import Program
from viewer.workspace.workspace import Workspace

LOWERED = "tiny_cnn.lowered_generic.mlir"


@pytest.fixture
def torq(data) -> Path:
    return data / "torq"


def program(path: Path) -> Program:
    made = open_file(str(path))
    assert isinstance(made, Program)
    return made


def workspace(*items: Trace | Path) -> Workspace:
    made = Workspace()
    for item in items:
        made.add(item if isinstance(item, Trace) else open_file(str(item)))
    return made


def locations(trace: Trace) -> dict[tuple[str, int], str]:
    """(name, number) -> location, of the keys that have one."""
    keys = trace.keys
    return {
        (trace.strings[int(keys.name[k])], int(keys.instruction[k])): keys.location[k]
        for k in range(len(keys))
        if keys.location[k]
    }


def linked(made: Workspace) -> dict[str, tuple[str, ...]]:
    """Name of each key of the first trace -> what operators it is linked to."""
    table = made.links(made.traces[0])
    strings = table.trace.strings
    return {
        f"{strings[int(table.trace.keys.name[k])]} {int(table.trace.keys.instruction[k])}": tuple(
            op.op for op in table.operators(k)
        )
        for k in range(len(table.trace.keys))
    }


def reasons(made: Workspace) -> dict[Reason, str]:
    return {link.reason: link.detail for link in made.links(made.traces[0]).links}


def test_actions_and_jobs_get_the_location_of_their_operation(torq):
    trace = host_trace()
    made = located(trace, program(torq / LOWERED).dispatches)
    found = locations(made)
    assert found["NSS_WAIT", 8] == 'loc(callsite("tiny_cnn.mlir":15:10 at "tiny_cnn.mlir":2:3))'
    assert found["job 2", 2] == found["NSS_WAIT", 8]
    assert found["HOST_COPY", 2] == 'loc("tiny_cnn.mlir":2:3)'
    assert found["DEALLOC", 14] == "loc(unknown)"
    assert len(found) == len(EXECUTION) + 4
    assert set(made.keys.kind.tolist()) == {KeyKind.LOCATION}
    # All else is shared with what was read.
    assert made.slices is trace.slices
    assert made.strings is trace.strings
    assert locations(trace) == {}


def test_without_debug_info_a_trace_is_the_same_object(torq):
    trace = host_trace()
    assert located(trace, ()) is trace
    other = program(torq / LOWERED).dispatches
    compiled = open_file(str(torq / "compile_c3_taskid_mtu.csv"))
    # Every row that has no location there has none in the debug info either.
    assert located(compiled, other) is compiled


def test_with_the_input_open_actions_link_to_its_operators(torq):
    made = workspace(host_trace(), torq / LOWERED, torq / "tiny_cnn.mlir")
    assert linked(made)["job 0 0"] == ("tosa.clamp", "tosa.conv2d")
    assert linked(made)["NSS_WAIT 10"] == ("tosa.max_pool2d",)
    assert linked(made)["DEALLOC 15"] == ()
    assert made.warnings(made.traces[0]) == []


def test_with_debug_info_alone_actions_link_to_the_lowered_operations(torq):
    made = workspace(host_trace(), torq / LOWERED)
    found = linked(made)
    assert found["NSS_WAIT 4"] == ("torq_hl.wait_program",)
    assert found["HOST_COPY 2"] == ("torq_hl.host_copy",)
    assert found["job 0 0"] == ("torq_hl.start_program",)
    table = made.links(made.traces[0])
    key = next(k for k in range(len(table.trace.keys))
               if int(table.trace.keys.instruction[k]) == 13)  # fmt: skip
    (operator,) = table.operators(key)
    assert operator.source.line == 273
    assert made.warnings(made.traces[0]) == []


def test_the_order_of_opening_does_not_matter_and_unchanged_traces_stay_the_same_object(torq):
    made = workspace(host_trace())
    assert reasons(made).keys() == {Reason.NO_DEBUG_INFO}
    made.add(program(torq / "tiny_cnn.mlir"))
    before = made.traces[0]
    made.add(program(torq / LOWERED))
    after = made.traces[0]
    assert after is not before
    assert linked(made)["job 2 2"] == ("tosa.cast",)
    made.add(open_file(str(torq / "compile_c3_taskid_mtu.csv")))
    assert made.traces[0] is after
    copied = copy(made)
    copied.add(program(torq / LOWERED))
    assert copied.traces[0] is after


def test_debug_info_of_another_dispatch_is_not_used_and_that_is_said(torq, tmp_path):
    made = workspace(
        host_trace(), torq / "tiny_cnn.mlir", renamed(torq / LOWERED, tmp_path, "main_dispatch_7")
    )
    assert reasons(made)[Reason.NO_DEBUG_INFO] == (
        f"The open debug info is for main_dispatch_7, but this ran in {DISPATCH}"
    )


def test_a_file_called_after_the_dispatch_is_its_debug_info(torq, tmp_path):
    """The compiler calls the file so; the function in it may have another name."""
    path = renamed(torq / LOWERED, tmp_path, "inner")
    path = path.rename(tmp_path / f"{DISPATCH}.mlir")
    made = workspace(host_trace(), path, torq / "tiny_cnn.mlir")
    assert linked(made)["job 2 2"] == ("tosa.cast",)


def test_each_dispatch_has_its_own_debug_info(torq, tmp_path):
    other = renamed(torq / LOWERED, tmp_path, "main_dispatch_1")
    other.write_text(other.read_text().replace('mlir":15:10', 'mlir":16:10'))
    trace = host_trace([EXECUTION, EXECUTION], (DISPATCH, "main_dispatch_1"))
    made = workspace(trace, other, torq / LOWERED, torq / "tiny_cnn.mlir")
    table = made.links(made.traces[0])
    keys = table.trace.keys
    jobs = {
        table.trace.scopes[int(keys.scope[k])].name: [op.op for op in table.operators(k)]
        for k in range(len(keys))
        if table.trace.strings[int(keys.name[k])] == "job 2"
    }
    assert jobs == {DISPATCH: ["tosa.cast"], "main_dispatch_1": ["tosa.add"]}


def test_an_action_that_the_debug_info_does_not_have_says_so(torq):
    made = workspace(host_trace([[*EXECUTION, (99, "DEALLOC", 900, 901)]]), torq / LOWERED)
    assert reasons(made)[Reason.NOT_IN_DEBUG_INFO] == (
        f"The debug info of {DISPATCH} has no action 99, of 16"
    )


def test_debug_info_of_another_compilation_links_nothing_not_even_jobs(torq, tmp_path):
    """All number from 0: its job 0 would be told of this one's, whatever is in it."""
    made = workspace(host_trace(), recompiled(torq / LOWERED, tmp_path), torq / "tiny_cnn.mlir")
    said = (
        f"The profile has a HOST_COPY as action 2, the debug info of {DISPATCH} a memref.alloc: "
        "it is from another compilation"
    )
    assert reasons(made) == {Reason.NOT_IN_DEBUG_INFO: said}
    assert set(linked(made).values()) == {()}
    assert misfit(made.traces[0], made.dispatches) == said


def test_another_compilation_of_one_dispatch_keeps_the_others_linked(torq, tmp_path):
    other = renamed(torq / LOWERED, tmp_path, "main_dispatch_1")
    trace = host_trace([EXECUTION, EXECUTION], (DISPATCH, "main_dispatch_1"))
    found = [*program(recompiled(torq / LOWERED, tmp_path)).dispatches, *program(other).dispatches]
    known = {
        scope.name: dispatch is not None
        for scope, dispatch in zip(trace.scopes, dispatch_of_scopes(trace, found), strict=True)
    }
    assert (known[DISPATCH], known["main_dispatch_1"]) == (False, True)


def test_a_profile_that_names_no_dispatch_is_matched_only_if_all_of_it_fits(torq, tmp_path):
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("id;time_since_open;time_since_start\n0;100;50\n3;300;60\n")
    made = workspace(jobs, torq / LOWERED, torq / "tiny_cnn.mlir")
    assert linked(made) == {
        "job 0 0": ("tosa.clamp", "tosa.conv2d"),
        "job 3 3": ("tosa.max_pool2d",),
    }
    whole = workspace(torq / "runtime_r1_nss_noloc.csv", torq / LOWERED)
    said = f"The file does not name its dispatch, and does not match the debug info of {DISPATCH}"
    assert reasons(whole) == {Reason.NO_DEBUG_INFO: said}
    assert misfit(whole.traces[0], whole.dispatches) == said


def test_a_profile_that_names_no_dispatch_and_fits_two_is_left_alone(torq, tmp_path):
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("id;time_since_open;time_since_start\n0;100;50\n")
    other = renamed(torq / LOWERED, tmp_path, "main_dispatch_7")
    made = workspace(jobs, torq / LOWERED, other)
    assert reasons(made) == {
        Reason.NO_DEBUG_INFO: "The file does not name its dispatch, and matches each of "
        f"{DISPATCH} and main_dispatch_7"
    }


def test_a_stated_location_that_contradicts_the_debug_info_keeps_it_away(torq, tmp_path):
    header = "id;time_since_open;time_since_start;location\n"
    jobs = tmp_path / "jobs.csv"
    for line, fits in ((15, True), (16, False)):
        jobs.write_text(
            f'{header}0;100;50;loc(unknown)\n2;300;60;loc(callsite("tiny_cnn.mlir":{line}:10 at '
            '"a.mlir":9:9))\n'
        )
        made = workspace(jobs, torq / LOWERED, torq / "tiny_cnn.mlir")
        assert linked(made)["job 0 -1"] == (("tosa.clamp", "tosa.conv2d") if fits else ())


@pytest.mark.parametrize("name", ["annotated_a1_host.csv", "annotated_a3_latest.csv"])
def test_an_annotated_profile_fits_the_debug_info_that_it_was_made_of(torq, name):
    """A3 states positions without a file, "@L13C10+@L11C10": they contradict no file's."""
    trace = open_file(str(torq / name))
    found = program(torq / LOWERED).dispatches
    assert dispatch_of_scopes(trace, found) == found * len(trace.scopes)
    assert misfit(trace, found) == ""


def test_an_annotated_profile_of_other_positions_does_not_fit(torq, tmp_path):
    changed = tmp_path / "annotated.csv"
    text = (torq / "annotated_a3_latest.csv").read_text()
    changed.write_text(text.replace("@L15C10", "@L16C10"))
    assert misfit(open_file(str(changed)), program(torq / LOWERED).dispatches)


def test_the_same_text_from_two_folders_is_one_debug_info(torq, tmp_path):
    copied = tmp_path / LOWERED
    copied.write_bytes((torq / LOWERED).read_bytes())
    made = workspace(host_trace(), torq / LOWERED, copied, torq / "tiny_cnn.mlir")
    assert linked(made)["job 2 2"] == ("tosa.cast",)
