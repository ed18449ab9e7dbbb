"""The output of `opscope sizes` and `opscope memory`, as data and as text. No Qt.

The data is a stable contract for scripts. Sizes are bytes; those of the parts of a file add up to
the file. Memory plans are those in the program file, which the runtime allocates when it loads it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from viewer.analysis.memory.plan import BEFORE, MemoryPlan, instruction_operators, memory_plan
from viewer.analysis.program_differences import (
    PairedBy,
    Row,
    program_differences,
)
from viewer.analysis.sizes.file_parts import FilePart, FileParts, ItemKind, file_parts
from viewer.analysis.sizes.groups import (
    Duplicates,
    GroupKey,
    duplicates,
    groups,
    kind_text,
    module_text,
    operators_text,
)
from viewer.codecs.reading import Cancelled, never_cancelled
from viewer.model.text import bytes_text, one_line
from viewer.model.times import counted, group_digits, plain_spaces
from viewer.program.executables import Executable, ExecutableMethod, InstructionKind
from viewer.program.program import Program
from viewer.reports.info import HEAD, Facts
from viewer.reports.parts import row_lines
from viewer.workspace.program_of_executable import program_of_executable
from viewer.workspace.workspace import Workspace

NO_SIZES = "no open file is a program file (.pte): only these have parts with sizes"
_MOST_PARTS = 30  # parts or groups of a file that the text lists
_MOST_COPIES = 10  # groups of equal parts that the text lists
_LONGEST = 60  # characters of a name
_SHORT_HASH = 16


def sizes_facts(
    workspace: Workspace, by: GroupKey | None = None, cancelled: Cancelled = never_cancelled
) -> Facts:
    """Return the parts of all program files, as `--json` prints them. Raises ReadCancelled.

    by: also return the parts added up by this key.
    """
    files, parts = list[Facts](), list[Facts]()
    for executable in workspace.executables:
        file = file_parts(executable, program_of_executable(workspace, executable))
        place = {number: len(parts) + row for row, number in enumerate(file.by_size)}
        files.append(_file_facts(file, by, place, cancelled))
        parts += [_part_facts(file, file.parts[i], place) for i in file.by_size]
    return {**HEAD, "files": files, "parts": parts}


def _file_facts(
    file: FileParts, by: GroupKey | None, place: dict[int, int], cancelled: Cancelled
) -> Facts:
    """The facts of one file. place: the row of each part in the list of all parts."""
    kinds = groups(file, GroupKey.KIND)
    facts: Facts = {
        "file": file.executable.path,
        "program": None if file.program is None else file.program.path,
        "bytes": file.size,
        "part_count": len(file.parts),
        "kinds": {group.label.replace(" ", "_"): group.size for group in kinds},
        "duplicates": _duplicate_facts(duplicates(file, cancelled), place),
    }
    if by is not None:
        facts["by"] = by.value
        facts["groups"] = [
            {
                "label": group.label,
                "bytes": group.size,
                "total_bytes": group.total,
                "share": round(group.total / file.size, 6) if file.size else None,
                "parts": [place[i] for i in group.parts],
            }
            for group in groups(file, by)
        ]
    return facts


def _part_facts(file: FileParts, part: FilePart, place: dict[int, int]) -> Facts:
    program, methods = file.program, file.executable.methods
    return {
        "file": file.executable.path,
        "kind": part.kind.value,
        "name": part.name or None,
        "bytes": part.size,
        "operator": operators_text(file, part) or None,
        "operators": []
        if program is None
        else [program.operators[i].label for i in part.operators],
        "module": module_text(file, part) or None,
        "kernels": list(part.users),
        "methods": [methods[i].name for i in part.methods],
        "dtype": part.dtype or None,
        "shape": None if part.shape is None or not part.dtype else list(part.shape),
        "parameters": list(part.names),
        "role": part.role or None,
        "offset": part.start if part.start >= 0 else None,
        "delegate": None if part.inside < 0 else place[part.inside],
    }


def _duplicate_facts(copies: Duplicates, place: dict[int, int]) -> Facts:
    return {
        "groups": [
            {
                "parts": [place[i] for i in group.parts],
                "bytes": group.size,
                "saved_bytes": group.saved,
            }
            for group in copies.groups
        ],
        "saved_bytes": copies.saved,
        "not_compared": copies.unread,
        "reason": copies.why or None,
    }


def sizes_text(facts: Facts) -> str:
    """Format the facts for people."""
    if not facts["files"]:
        return NO_SIZES
    texts, first = [], 0
    for file in facts["files"]:
        after = first + file["part_count"]
        lines = _file_lines(file, facts["parts"][first:after], facts["parts"])
        texts.append("\n".join(map(plain_spaces, lines)))
        first = after
    return "\n\n".join(texts)


def _file_lines(file: Facts, own_parts: Sequence[Facts], parts: Sequence[Facts]) -> list[str]:
    kinds = ", ".join(f"{kind_text(ItemKind(k))} {bytes_text(n)}" for k, n in file["kinds"].items())
    lines = [
        f"{one_line(os.path.basename(file['file']))}: {exact_bytes(file['bytes'])}",
        f"  {kinds}",
        "",
    ]
    if "groups" in file:
        lines += _group_lines(file)
    else:
        rows: list[tuple[str, ...]] = [("kind", "name", "used by", "tensor", "bytes", "share")]
        rows += [_part_row(part, file["bytes"]) for part in own_parts[:_MOST_PARTS]]
        lines += [*row_lines(rows, left=4), *_rest(len(own_parts), "smaller part")]
    return [*lines, *_duplicate_lines(file["duplicates"], parts)]


def _part_row(part: Facts, size: int) -> tuple[str, ...]:
    used_by = part["operator"] or users_of(part["kernels"])
    return (
        kind_text(ItemKind(part["kind"])),
        part_name(part),
        short_name(used_by),
        tensor_of(part),
        group_digits(part["bytes"]),
        share_text(part["bytes"], size),
    )


def _group_lines(file: Facts) -> list[str]:
    rows: list[tuple[str, ...]]
    is_tree = file["by"] == GroupKey.MODULE
    columns = ("total", "self") if is_tree else ("bytes",)
    rows = [(file["by"], "parts", *columns, "share")]
    for group in file["groups"][:_MOST_PARTS]:
        sizes = (group["total_bytes"], group["bytes"]) if is_tree else (group["bytes"],)
        rows.append(
            (
                short_name(group["label"]),
                str(len(group["parts"])),
                *map(group_digits, sizes),
                share_text(group["total_bytes"], file["bytes"]),
            )
        )
    return [*row_lines(rows, left=1), *_rest(len(file["groups"]), "smaller group")]


def _duplicate_lines(facts: Facts, parts: Sequence[Facts]) -> list[str]:
    lines = []
    if facts["groups"]:
        lines += ["", f"  equal parts: {exact_bytes(facts['saved_bytes'])} for copies"]
    for group in facts["groups"][:_MOST_COPIES]:
        group_parts = [parts[i] for i in group["parts"]]
        names = ", ".join(part_name(part) for part in group_parts[:3])
        more = f" and {len(group_parts) - 3} more" if len(group_parts) > 3 else ""
        lines.append(f"    {len(group_parts)} × {group_digits(group['bytes'])} B: {names}{more}")
    lines += _rest(len(facts["groups"]), "group of equal parts", _MOST_COPIES)
    if facts["not_compared"]:
        count = counted(facts["not_compared"], "part")
        lines.append(f"  {count} not compared by content: {facts['reason']}")
    return lines


def _rest(count: int, thing: str, most: int = _MOST_PARTS) -> list[str]:
    rest = count - most
    return [f"  and {rest} more: {thing}s (--json lists all)"] if rest > 0 else []


def part_name(part: Facts) -> str:
    """Return the name of a part; that of XNNPACK's named data, which is a hash, with its role."""
    name = part["name"] or ""
    if part["parameters"] or not part["role"]:
        return short_name(name)
    role: str = part["role"]
    hash_name = name.removeprefix(f"{role}_")  # "scale_5faa62ef7..."
    return role if role == name else f"{role} · {short_name(hash_name, _SHORT_HASH)}"


def tensor_of(part: Facts) -> str:
    """Return the dtype and shape of a part, "f32 8 × 3"; "" if not known."""
    if part["dtype"] is None:
        return ""
    sizes = " × ".join(map(str, part["shape"] or ())) or "scalar"
    return f"{part['dtype']} {sizes}"


def users_of(kernels: Sequence[str]) -> str:
    """Return the first kernels as one text."""
    kernel_text = " + ".join(kernels[:2])
    return f"{kernel_text} and {len(kernels) - 2} more" if len(kernels) > 2 else kernel_text


def exact_bytes(size: int) -> str:
    """Return "1.2 kB (1 156 B)"."""
    exact = f"{group_digits(size)} B"
    return exact if abs(size) < 1000 else f"{bytes_text(size)} ({exact})"


def share_text(size: int, of: int) -> str:
    """Return the share of a file: "12.3 %"."""
    share = size / of if of else 0.0
    return "< 0.1 %" if 0 < share < 0.001 else f"{100 * share:.1f} %"


def short_name(text: str, most: int = _LONGEST) -> str:
    """Return a name on one line, at most some characters."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"


_MOST_ROWS = 20  # changed rows of a table that the text lists
# Name of a table in JSON -> its title in the text.
_TABLES = {
    "kinds": "bytes by kind",
    "modules": "bytes by module",
    "operators": "bytes by operator",
    "memory": "planned bytes",
    "methods": "instructions by method",
    "instructions": "instructions",
    "kernels": "kernel calls",
    "delegates": "delegates",
    "nodes": "XNNPACK nodes",
}


def difference_problem(workspace: Workspace) -> str:
    """Return why the files of one side cannot be compared, "" if they can."""
    count = len(workspace.executables)
    return "" if count == 1 else f"needs one program file (.pte), but has {count}"


def difference_facts(a: Workspace, b: Workspace) -> Facts:
    """Return what differs between the program files of two sides, as `--json` prints it.

    Each side has one program file, and its ETRecord if there is one.
    """
    differences = program_differences(_parts(a), _parts(b))
    facts: Facts = {
        **HEAD,
        "a": _side(differences.a),
        "b": _side(differences.b),
        "paired_by": differences.paired_by.value,
    }
    for name in _TABLES:
        rows: Sequence[Row] = getattr(differences, name)
        facts[name] = [
            {
                "label": row.label,
                "label_b": row.label_b or None,
                "a": row.a,
                "b": row.b,
                "change": row.change,
            }
            for row in rows
        ]
    return facts


def _parts(workspace: Workspace) -> FileParts:
    (executable,) = workspace.executables
    return file_parts(executable, program_of_executable(workspace, executable))


def _side(parts: FileParts) -> Facts:
    return {
        "file": parts.executable.path,
        "program": None if parts.program is None else parts.program.path,
        "bytes": parts.size,
    }


def difference_text(facts: Facts) -> str:
    """Format the facts for people: the rows that differ, the largest change first."""
    a, b = facts["a"], facts["b"]
    lines = [
        f"A  {one_line(os.path.basename(a['file']))}: {exact_bytes(a['bytes'])}",
        f"B  {one_line(os.path.basename(b['file']))}: {exact_bytes(b['bytes'])}, "
        f"{_signed(b['bytes'] - a['bytes'])} B",
    ]
    if facts["paired_by"] == PairedBy.ORDER:
        lines.append(
            "Operators are paired by the order of calls: open the ETRecords of both files."
        )
    equal = []
    for name, title in _TABLES.items():
        rows = [row for row in facts[name] if row["a"] != row["b"] or row["label_b"]]
        if rows:
            lines += ["", *_table(title, rows, len(facts[name]) - len(rows))]
        elif facts[name]:
            equal.append(title)
    if equal:
        lines += ["", f"equal: {', '.join(equal)}"]
    return "\n".join(map(plain_spaces, lines))


def _table(title: str, rows: Sequence[Facts], equal: int) -> list[str]:
    table: list[tuple[str, ...]] = [(title, "A", "B", "B - A", "")]
    table += [_cells(row) for row in rows[:_MOST_ROWS]]
    lines = _padded(table)
    rest = len(rows) - _MOST_ROWS
    more = [f"{rest} more that differ (--json lists all)"] if rest > 0 else []
    more += [f"{counted(equal, 'row')} equal"] if equal else []
    return [*lines, f"  and {', '.join(more)}"] if more else lines


def _padded(table: Sequence[tuple[str, ...]]) -> list[str]:
    """The rows with the last column as text."""
    lines = row_lines([row[:-1] for row in table], left=1)
    return [f"{line}  {row[-1]}".rstrip() for line, row in zip(lines, table, strict=True)]


def _cells(row: Facts) -> tuple[str, ...]:
    a, b = row["a"], row["b"]
    only = "only in B" if a is None else "only in A" if b is None else ""
    label = short_name(row["label"])
    if row["label_b"]:
        label = f"{label} → {short_name(row['label_b'])}"
    numbers = ("" if count is None else group_digits(count) for count in (a, b))
    return (label, *numbers, _signed(row["change"]), only)


def _signed(change: int) -> str:
    return f"+{group_digits(change)}" if change > 0 else group_digits(change)


NO_MEMORY_PLANS = "no open file is a program file (.pte): only these have a memory plan"
INPUT, STATE = "input", "state"
_TITLES = ("", "written by", "tensor", "bytes", "offset", "instructions")


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
        return NO_MEMORY_PLANS
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
        table += [_storage_cells(row, row["id"] in at_peak) for row in rows[:_MOST_ROWS]]
        lines += ["", *row_lines(table, left=3)]
        rest = len(rows) - _MOST_ROWS
        lines += [f"  and {counted(rest, 'smaller tensor')} (--json lists all)"] if rest > 0 else []
        lines.append("  * in use at the peak")
    return [plain_spaces(line) for line in lines]


def _storage_cells(row: Facts, is_at_peak: bool) -> tuple[str, ...]:
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
