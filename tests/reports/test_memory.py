"""What `opscope memory` says, as data and as text."""

import pytest

from tests.builders.pte_writer import KERNEL, Method, write_program
from tests.builders.workspaces import workspace_of
from tests.paths import DATA
from viewer.reports.program_files import NO_MEMORY_PLANS, memory_facts, memory_text

FILES = DATA / "pte"


@pytest.fixture(scope="module")
def facts():
    return memory_facts(workspace_of(FILES / "part_x.pte", FILES / "part_x.etrecord"))


def test_a_method_has_its_peak_its_arena_and_bytes_per_instruction(facts):
    (method,) = facts["methods"]
    assert method["name"] == "forward"
    assert (method["peak_bytes"], method["peak_instruction"]) == (1156, 2)
    assert (method["arena_bytes"], method["memories"]) == (1232, [0, 1232])
    assert method["fragmentation"] == pytest.approx(1 - 1156 / 1232, abs=1e-6)
    assert len(method["live"]) == method["instructions"] == 9
    assert method["live"] == method["live_by_memory"]["1"]
    assert method["not_in_plan"] == ["XnnpackBackend: memory that the delegate allocates"]


def test_tensors_have_their_operator_place_and_lifetime(facts):
    (method,) = facts["methods"]
    cumsum = next(row for row in method["tensors"] if row["operator"] == "cumsum")
    assert cumsum["kernel"] == "aten::cumsum.out"
    assert (cumsum["first"], cumsum["last"], cumsum["origin"]) == (2, 3, None)
    entry = next(row for row in method["tensors"] if row["origin"] == "input")
    assert (entry["operator"], entry["kernel"]) == (None, None)
    live = [
        sum(row["bytes"] for row in method["tensors"] if row["first"] <= at <= row["last"])
        for at in range(method["instructions"])
    ]
    assert live == method["live"]


def test_without_an_etrecord_the_kernel_stands_for_the_operator():
    (method,) = memory_facts(workspace_of(FILES / "part_x.pte"))["methods"]
    assert method["program"] is None
    assert {row["operator"] for row in method["tensors"]} == {None}
    assert "aten::cumsum.out" in memory_text({"methods": [method]})


def test_the_record_of_another_program_is_not_used():
    (method,) = memory_facts(workspace_of(FILES / "part_x.pte", FILES / "llama.etrecord"))[
        "methods"
    ]
    assert method["program"] is None


def test_the_text_has_peak_arena_and_the_tensors_in_use_then(facts):
    lines = memory_text(facts).splitlines()
    assert lines[0] == "part_x.pte · forward: 9 instructions"
    assert lines[1] == "  peak    1.2 kB (1 156 B) at instruction 2"
    assert lines[2] == "  arena   1.2 kB (1 232 B), 6.2 % unused at the peak"
    held = [line for line in lines if line.startswith("  *")]
    assert any("cumsum" in line for line in held)
    assert lines[-1] == "  * in use at the peak"


def test_programs_without_planned_memory_say_so(tmp_path):
    path = write_program(tmp_path / "a.pte", Method(instructions=[(KERNEL, 0, [])]))
    assert "no planned memory" in memory_text(memory_facts(workspace_of(path)))


def test_nothing_to_report_is_one_sentence():
    assert memory_text(memory_facts(workspace_of(FILES / "part_x.etrecord"))) == NO_MEMORY_PLANS
