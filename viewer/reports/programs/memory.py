"""The output of `opscope memory`: the memory plans of program files, as data and as text. No Qt.

The data is a stable contract for scripts; the text is derived from it. Sizes are bytes. All figures
are those of the plan in the program file, which the runtime allocates when it loads the program.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from viewer.analysis.memory.plan import MemoryPlan, instruction_operators, memory_plan
from viewer.analysis.memory.storages import BEFORE
from viewer.model.text import one_line
from viewer.model.times import counted, group_digits, plain_spaces
from viewer.program.executable.executable import Executable, ExecutableMethod, InstructionKind
from viewer.program.program import Program
from viewer.reports.columns import row_lines
from viewer.reports.info import HEAD, Facts
from viewer.reports.programs.sizes import exact_bytes
from viewer.workspace.program_of_executable import program_of_executable
from viewer.workspace.workspace import Workspace

NOTHING = "no open file is a program file (.pte): only these have a memory plan"
INPUT, STATE = "input", "state"
_TITLES = ("", "written by", "tensor", "bytes", "offset", "instructions")
_MOST_ROWS = 20  # storages of a method that the text lists


def memory_facts(workspace: Workspace) -> Facts:
    """Return the plans of all methods of all program files, as `--json` prints them."""
    methods = []
    for executable in workspace.executables:
        program = program_of_executable(workspace, executable)
        methods += [_method_facts(executable, method, program) for method in executable.methods]
    return {**HEAD, "methods": methods}


def _method_facts(
    executable: Executable, method: ExecutableMethod, program: Program | None
) -> Facts:
    plan = memory_plan(method)
    operators = {} if program is None else instruction_operators(program, method)
    outside, unknown = int(plan.outside.sum()), plan.unknown_tensors
    sentences = [f"{counted(outside, 'tensor')} beyond the end of their memory"] if outside else []
    if unknown:
        sentences.append(f"{counted(unknown, 'planned tensor')} unused, or of unknown size")
    return {
        "file": executable.path,
        "program": None if program is None else program.path,
        "name": method.name,
        "instructions": len(method.instructions),
        "peak_bytes": plan.peak,
        "peak_instruction": None if plan.peak_instruction < 0 else plan.peak_instruction,
        "arena_bytes": plan.arena,
        "memories": list(method.buffer_sizes),
        "fragmentation": None if plan.fragmentation is None else round(plan.fragmentation, 6),
        "live": plan.live.tolist(),
        "live_by_memory": {str(memory): live.tolist() for memory, live in plan.live_of.items()},
        "at_peak": [int(plan.method.tensors.value[plan.storages.tensor[i]]) for i in plan.at_peak],
        "tensors": [_storage_facts(plan, i, program, operators) for i in range(len(plan.storages))],
        "not_in_plan": _not_in_plan(method),
        "problems": sentences,
    }


def _storage_facts(
    plan: MemoryPlan,
    number: int,
    program: Program | None,
    operators: Mapping[int, tuple[int, ...]],
) -> Facts:
    storages, tensors = plan.storages, plan.method.tensors
    tensor, writer = int(storages.tensor[number]), int(storages.writer[number])
    operator_numbers = operators.get(writer, ())
    labels = [] if program is None else [program.operators[i].label for i in operator_numbers]
    return {
        "id": int(tensors.value[tensor]),
        "tensor": plain_spaces(tensors.text(tensor)),
        "operator": " + ".join(labels) or None,
        "kernel": kernel_text(plan.method, writer) or None,
        "origin": origin(plan, number) or None,
        "memory": int(storages.memory[number]),
        "offset": int(storages.offset[number]),
        "bytes": int(storages.size[number]),
        "first": int(storages.first[number]),
        "last": int(storages.last[number]),
        "views": int((storages.of_tensor == number).sum()) - 1,
    }


def origin(plan: MemoryPlan, number: int) -> str:
    """Return why a storage is in use before the first instruction, "" if it is not."""
    if plan.storages.is_state[number]:
        return STATE
    return INPUT if plan.storages.writer[number] == BEFORE else ""


def kernel_text(method: ExecutableMethod, instruction: int) -> str:
    """Return the kernel or the backend of an instruction, "" if it is no call."""
    if not 0 <= instruction < len(method.instructions):
        return ""
    return method.instructions[instruction].name


def _not_in_plan(method: ExecutableMethod) -> list[str]:
    """The memory that exists and that no program file states."""
    backends = [
        instruction.name
        for instruction in method.instructions
        if instruction.kind is InstructionKind.DELEGATE_CALL
    ]
    return [f"{name}: memory that the delegate allocates" for name in dict.fromkeys(backends)]


def memory_text(facts: Facts) -> str:
    """Format the facts for people."""
    if not facts["methods"]:
        return NOTHING
    return "\n\n".join("\n".join(_method_lines(method)) for method in facts["methods"])


def largest_first(tensors: Iterable[Facts]) -> list[Facts]:
    """Return tensors of a method, the largest first; equal ones by when and where they are."""
    return sorted(tensors, key=lambda row: (-row["bytes"], row["first"], row["offset"]))


def _method_lines(method: Facts) -> list[str]:
    name = f"{one_line(os.path.basename(method['file']))} · {one_line(method['name'])}"
    lines = [f"{name}: {counted(method['instructions'], 'instruction')}"]
    if method["peak_instruction"] is None:
        lines.append("  no planned memory")
    else:
        unused = method["fragmentation"] or 0.0
        peak, arena = (exact_bytes(method[name]) for name in ("peak_bytes", "arena_bytes"))
        lines += [
            f"  peak    {peak} at instruction {method['peak_instruction']}",
            f"  arena   {arena}, {_percent(unused)} unused at the peak",
        ]
    lines += [f"  {text}: not in the plan" for text in map(one_line, method["not_in_plan"])]
    lines += [f"  problem: {text}" for text in method["problems"]]
    rows = largest_first(method["tensors"])
    if rows:
        at_peak = set(method["at_peak"])
        table: list[tuple[str, ...]] = [_TITLES]
        table += [_row(row, row["id"] in at_peak) for row in rows[:_MOST_ROWS]]
        lines += ["", *row_lines(table, left=3)]
        rest = len(rows) - _MOST_ROWS
        lines += [f"  and {counted(rest, 'smaller tensor')} (--json lists all)"] if rest > 0 else []
        lines.append("  * in use at the peak")
    return [plain_spaces(line) for line in lines]


def _row(row: Facts, is_at_peak: bool) -> tuple[str, ...]:
    writer = row["origin"] or " · ".join(filter(None, (row["operator"], row["kernel"])))
    return (
        "*" if is_at_peak else "",
        one_line(writer),
        row["tensor"],
        group_digits(row["bytes"]),
        group_digits(row["offset"]),
        f"{row['first']} - {row['last']}",
    )


def _percent(share: float) -> str:
    return "less than 0.1 %" if 0 < share < 0.001 else f"{100 * share:.1f} %"
