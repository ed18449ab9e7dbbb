"""The output of `opscope sizes`: the bytes of program files, as data and as text. No Qt.

The data is a stable contract for scripts; the text is derived from it. Sizes are bytes. The sizes
of the parts of a file add up to the file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from viewer.analysis.sizes.file_parts import FilePart, FileParts, file_parts
from viewer.analysis.sizes.groups import (
    Duplicates,
    GroupKey,
    SizeGroup,
    duplicates,
    groups,
    kind_text,
    module_text,
    operators_text,
)
from viewer.analysis.sizes.stored_items import ItemKind
from viewer.codecs.reading import Cancelled, never_cancelled
from viewer.model.text import bytes_text, one_line
from viewer.model.times import counted, group_digits, plain_spaces
from viewer.reports.columns import row_lines
from viewer.reports.info import HEAD, Facts
from viewer.workspace.program_of_executable import program_of_executable
from viewer.workspace.workspace import Workspace

NOTHING = "no open file is a program file (.pte): only these have parts with sizes"
_MOST_ROWS = 30  # parts or groups of a file that the text lists
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
        facts["groups"] = [_group_facts(file, group, place) for group in groups(file, by)]
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


def _group_facts(file: FileParts, group: SizeGroup, place: dict[int, int]) -> Facts:
    return {
        "label": group.label,
        "bytes": group.size,
        "total_bytes": group.total,
        "share": round(group.total / file.size, 6) if file.size else None,
        "parts": [place[i] for i in group.parts],
    }


def sizes_text(facts: Facts) -> str:
    """Format the facts for people."""
    if not facts["files"]:
        return NOTHING
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
        rows += [_part_row(part, file["bytes"]) for part in own_parts[:_MOST_ROWS]]
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
    for group in file["groups"][:_MOST_ROWS]:
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


def _rest(count: int, thing: str, most: int = _MOST_ROWS) -> list[str]:
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
