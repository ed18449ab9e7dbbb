"""The texts of the Sizes panel: cells, tips, key figures and summaries. No Qt."""

from __future__ import annotations

from collections.abc import Callable

from viewer.analysis.programs.part_pairs import PairedBy
from viewer.analysis.sizes.file_parts import FilePart, FileParts
from viewer.analysis.sizes.groups import kind_text, module_text, operators_text, users_text
from viewer.gui.panels.base.slice_facts import MISSING
from viewer.gui.panels.sizes.answer import Copies, SizesAnswer
from viewer.gui.panels.sizes.tree import SizeTree
from viewer.model.text import bytes_text, display_name, one_line
from viewer.model.times import (
    MINUS,
    NARROW_SPACE,
    counted,
    format_share,
    group_digits,
    percent_digits,
)
from viewer.render.boxes.treemap import Rest

ARROW = " → "
_SHORT_HASH = 16  # characters
_MOST_NAMES = 4  # copies that a tip lists
BIGGER, SMALLER, EQUAL = "slower", "faster", "no_change"  # the marks of changes


def name_text(part: FilePart) -> str:
    """Return the name of a part: its parameter, else what the file calls it, else its kind.

    Named data of XNNPACK has a hash for a name, which is shortened and has its role before it.
    """
    name = one_line(part.name)
    if part.names or not part.role:
        return name or kind_text(part.kind)
    short_name = name.removeprefix(f"{part.role}_")  # "scale_5faa62ef7..."
    return part.role if part.role == name else f"{part.role} · {short_name[:_SHORT_HASH]}…"


def shape_text(part: FilePart) -> str:
    """Return the shape of a part: "8 × 3"; "" if not known."""
    if part.shape is None or not part.dtype:
        return ""
    return " × ".join(map(str, part.shape)) or "scalar"


def dtype_text(part: FilePart) -> str:
    """Return the dtype of a part, "" if not known."""
    return one_line(part.dtype)


def user_text(parts: FileParts, part: FilePart) -> str:
    """Return the operators of a part; its kernels, nodes or backends if they are not known."""
    return one_line(operators_text(parts, part) or users_text(part))


def both(answer: SizesAnswer, row: int, text: Callable[[FileParts, FilePart], str]) -> str:
    """Return a text of a row: that of A, or "A → B" if those of both files differ."""
    texts = dict.fromkeys(text(*side) for side in answer.sides(row))
    return ARROW.join(text or MISSING for text in texts) if any(texts) else ""


def kind_of(answer: SizesAnswer, row: int) -> str:
    """Return the kind of a row."""
    return both(answer, row, lambda _, part: kind_text(part.kind))


def name_of(answer: SizesAnswer, row: int) -> str:
    """Return the name of a row; that of A, if both files have it."""
    return name_text(answer.part(row))


def tensor_of(answer: SizesAnswer, row: int) -> str:
    """Return the dtype and shape of a row: "f32 8 × 3"."""
    return both(answer, row, lambda _, part: f"{dtype_text(part)} {shape_text(part)}".strip())


def operator_of(answer: SizesAnswer, row: int) -> str:
    """Return what uses a row."""
    return both(answer, row, user_text)


def module_of(answer: SizesAnswer, row: int) -> str:
    """Return the module of a row."""
    return both(answer, row, lambda parts, part: one_line(module_text(parts, part)))


# -- changes -------------------------------------------------------------------------------------


def signed_bytes(change: int) -> str:
    """Return a difference in bytes: "+1.2 kB", "0 B"."""
    sign = "+" if change > 0 else MINUS if change < 0 else ""
    return f"{sign}{bytes_text(abs(change))}"


def exact_bytes(size: int) -> str:
    """Return "1.2 kB (1 156 B)"."""
    exact = f"{group_digits(size)}{NARROW_SPACE}B"
    return exact if size < 1000 else f"{bytes_text(size)} ({exact})"


def ratio_text(a: int, b: int) -> str:
    """Return the change from A to B in percent: "+12.0 %"; which file has it, if only one has."""
    if not a or not b:
        return "only in B" if not a else "only in A"
    share = b / a - 1
    sign = "+" if share > 0 else MINUS if share < 0 else ""
    return f"{sign}{percent_digits(abs(share))}{NARROW_SPACE}%"


def verdict_of(change: int) -> str:
    """Return the mark of a change."""
    return BIGGER if change > 0 else SMALLER if change < 0 else EQUAL


# -- boxes ---------------------------------------------------------------------------------------


def box_name(answer: SizesAnswer, tree: SizeTree, box: Rest) -> str:
    """Return the name of a node, or of the rest of its members."""
    if box.skip > 0:
        return f"{group_digits(len(tree.sizes.inside(box.node)) - box.skip)} smaller"
    row = int(tree.row[box.node])
    if row >= 0:
        return name_of(answer, row)
    return one_line(tree.label[box.node]) or display_name(answer.a.executable.path)


def box_bytes(tree: SizeTree, box: Rest) -> tuple[int, int, int]:
    """Return the bytes of a box in A, in B, and the larger per row."""
    columns = tree.bytes_a, tree.bytes_b, tree.sizes.size
    if box.skip <= 0:
        a, b, larger = (int(column[box.node]) for column in columns)
        return a, b, larger
    rest = tree.sizes.inside(box.node)[box.skip :]
    a, b, larger = (int(column[rest].sum()) for column in columns)
    return a, b, larger


def box_size_text(answer: SizesAnswer, tree: SizeTree, box: Rest) -> str:
    """Return the size of a box; "A → B" if two files differ there."""
    a, b, _ = box_bytes(tree, box)
    if not answer.is_compared or a == b:
        return bytes_text(a)
    return ARROW.join(bytes_text(n) if n else MISSING for n in (a, b))


def box_share_text(answer: SizesAnswer, tree: SizeTree, box: Rest) -> str:
    """Return the share of a box in its file; in a comparison its change."""
    a, b, _ = box_bytes(tree, box)
    if answer.is_compared:
        return ratio_text(a, b) if a != b else ""
    return format_share(a, answer.a.size) if answer.a.size else ""


def tip_lines(
    answer: SizesAnswer, tree: SizeTree, box: Rest, copies: Copies | None
) -> tuple[str, ...]:
    """Return the lines about a box below the mouse, the first one as a title."""
    a, b, _ = box_bytes(tree, box)
    lines = [box_name(answer, tree, box)]
    if answer.is_compared:
        lines.append(f"A {exact_bytes(a) if a else MISSING} · B {exact_bytes(b) if b else MISSING}")
        lines.append(f"{signed_bytes(b - a)}, {ratio_text(a, b)}" if a != b else "no change")
    else:
        share = f", {format_share(a, answer.a.size)}" if answer.a.size else ""
        lines.append(f"{exact_bytes(a)}{share}")
    row = int(tree.row[box.node]) if box.skip <= 0 else -1
    if row < 0:
        rows = int(tree.count[box.node])
        if box.skip > 0:
            rows = int(tree.count[tree.sizes.inside(box.node)[box.skip :]].sum())
        return (*lines, f"{counted(rows, 'part')} · double-click to zoom in")
    return (*lines, *row_lines(answer, row, copies))


def row_lines(answer: SizesAnswer, row: int, copies: Copies | None) -> tuple[str, ...]:
    """Return what is known of a row except its size."""
    part = answer.part(row)
    kind = kind_of(answer, row)
    tensor = tensor_of(answer, row)
    lines = [" · ".join(filter(None, (kind if name_of(answer, row) != kind else "", tensor)))]
    module, users = module_of(answer, row), operator_of(answer, row)
    lines.append(f"used by {users}" if users else "")
    lines.append(f"in {module}" if module else "")
    if part.start >= 0:
        lines.append(f"offset {group_digits(part.start)}")
    lines.append(copies_line(answer, row, copies))
    return tuple(line for line in lines if line)


def copies_line(answer: SizesAnswer, row: int, copies: Copies | None) -> str:
    """Return which other parts have the same bytes as a row, "" if none have."""
    if copies is None or not copies.count[row]:
        return ""
    same = [i for i in (copies.first == copies.first[row]).nonzero()[0].tolist() if i != row]
    names = ", ".join(name_of(answer, i) for i in same[:_MOST_NAMES])
    more = f" and {group_digits(len(same) - _MOST_NAMES)} more" if len(same) > _MOST_NAMES else ""
    return f"same bytes as {names}{more}"


# -- summaries -----------------------------------------------------------------------------------


def figures(answer: SizesAnswer) -> tuple[tuple[str, str], ...]:
    """Return the key figures, as number and caption: the size of a file, or the change of two."""
    a, b = answer.a, answer.b
    if b is None:
        return ((bytes_text(a.size), display_name(a.executable.path)),)
    change = b.size - a.size
    ratio = ratio_text(a.size, b.size) if change else "no change"
    return ((signed_bytes(change), ratio),)


def copies_text(answer: SizesAnswer, copies: Copies | None) -> str:
    """Return how many bytes are in copies of other parts."""
    if copies is None:
        return "Looking for duplicate weights…"
    where = " in A" if answer.is_compared else ""
    text = f"No duplicate weights{where}"
    if copies.extra:
        extra = counted(copies.extra, "part")
        share = format_share(copies.saved, answer.a.size)
        verb = "is a copy" if copies.extra == 1 else "are copies"
        text = f"{extra}{where} {verb} of other parts: {bytes_text(copies.saved)} ({share}) wasted"
    if copies.unread:
        text += f" · {counted(copies.unread, 'part')} not compared: {one_line(copies.why)}"
    return text


def beside_text(answer: SizesAnswer) -> str:
    """Return what is missing, and what to do about it; "" if nothing is."""
    parts = []
    missing = [
        name
        for name, file_parts in (("A", answer.a), ("B", answer.b))
        if file_parts is not None and file_parts.program is None
    ]
    if missing:
        of = f" of {' and '.join(missing)}" if answer.is_compared else ""
        parts.append(f"Open the matching ETRecord{of} to see parameters, operators and modules")
    if answer.pairs is not None and answer.pairs.paired_by is PairedBy.ORDER:
        parts.append("Parts are paired by the order of calls")
    return " · ".join(parts)


def count_text(answer: SizesAnswer, count: int) -> str:
    """Return how many parts there are, and how many of them are shown by a filter."""
    whole = counted(len(answer), "part")
    return whole if count == len(answer) else f"{group_digits(count)} of {whole}"
