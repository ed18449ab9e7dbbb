"""What `opscope info` says of a program file, as data and as text."""

from tests.builders.pte_writer import DELEGATE, Method, write_program
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.model.times import plain_spaces
from viewer.reports.info import delegate_text, info, info_text

FILES = DATA / "pte"


def opened(path):
    return workspace_of(path)


def test_the_data_has_instructions_delegates_memory_and_sizes():
    (file,) = info(opened(FILES / "dyn_x.pte"))["files"]
    assert (file["kind"], file["format"], file["generation"]) == (
        "executable", "ExecuTorch program", "1.0+",
    )  # fmt: skip
    assert (file["slices"], file["clock"], file["problems"]) == (0, None, [])
    forward = file["methods"]["forward"]
    assert forward["instructions"] == {"kernel_call": 6, "delegate_call": 3}
    assert (forward["planned_bytes"], forward["memories"]) == (944, [0, 944])
    assert forward["delegates"][2] == {
        "backend": "XnnpackBackend", "size": 432, "unread": "",
        "nodes": [{"type": "XNNAdd", "debug_handle": 11}],
    }  # fmt: skip
    assert file["sizes"]["delegates"] == sum(each["size"] for each in forward["delegates"])
    assert sum(part["size"] for part in file["parts"]) == file["size"] == 6412


def test_a_node_that_xnnpack_inserted_has_no_debug_handle():
    (file,) = info(opened(FILES / "mobile_x.pte"))["files"]
    first = file["methods"]["forward"]["delegates"][0]["nodes"][0]
    assert first == {"type": "XNNStaticTranspose", "debug_handle": None}


def test_the_text_names_what_runs_and_what_the_bytes_are_for():
    lines = info_text(opened(FILES / "part_x.pte")).splitlines()[1:]
    assert lines[:4] == [
        "  ExecuTorch program 1.0+",
        "  forward: 9 instructions (5 kernel calls, 4 delegate calls)",
        "    planned memory: 1.2 kB for 12 tensors",
        "    delegate 0: XnnpackBackend, 1.1 kB, 3 nodes: 2 XNNStaticTranspose, XNNConv2d",
    ]
    assert lines[-1].startswith("  11 kB: program 4.0 kB, constants 8 B, delegates 4.0 kB, ")


def test_the_text_says_why_nodes_were_not_read_and_counts_problems(tmp_path):
    method = Method(
        instructions=[(DELEGATE, 0, [0])],
        tensors=[(6, [1], None)],
        delegates=[("XnnpackBackend", True, 0)],
    )
    workspace = opened(write_program(tmp_path / "a.pte", method, segments=[bytes(64)]))
    (delegate,) = workspace.executables[0].methods[0].delegates
    assert plain_spaces(delegate_text(delegate)) == (
        "XnnpackBackend, 64 B, nodes could not be read: its data is not an XNNPACK graph "
        "(neither "
        "XN00 nor XN01)"
    )
    assert "  problem: 1 x nodes of an XNNPACK delegate could not be read" in info_text(workspace)


def test_many_delegates_are_counted(tmp_path):
    method = Method(delegates=[("Own", True, 0)] * 14)
    path = write_program(tmp_path / "a.pte", method, segments=[bytes(5)])
    assert "    and 4 delegates more" in info_text(opened(path)).splitlines()
