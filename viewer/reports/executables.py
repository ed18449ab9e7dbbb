"""Facts about program files (`.pte`), as `opscope info` prints them: plain data and text."""

from __future__ import annotations

from collections import Counter
from typing import Any

from viewer.model.text import bytes_text, one_line
from viewer.model.times import plain_spaces
from viewer.program.executable.executable import (
    Delegate,
    Executable,
    ExecutableMethod,
    InstructionKind,
)

Facts = dict[str, Any]

_MOST_TOLD = 10  # delegates of a method, and types of nodes, that the text lists


def executable_facts(executable: Executable) -> Facts:
    """Return what is known of a program file only; sizes are in bytes.

    methods: name -> instruction counts by kind, `planned_bytes` with each memory by its id, and
    delegates with their nodes; `debug_handle` is None for a node that XNNPACK inserted. sizes:
    bytes by kind of part.
    """
    return {
        "size": executable.size,
        "methods": {method.name: _method(method) for method in executable.methods},
        "sizes": {str(kind): size for kind, size in executable.part_sizes().items()},
        "parts": [
            {"kind": str(part.kind), "name": part.name, "size": part.size}
            for part in executable.parts
        ],
    }


def _method(method: ExecutableMethod) -> Facts:
    return {
        "instructions": {kind.name.lower(): n for kind, n in _counts(method).items()},
        "tensors": len(method.tensors),
        "planned_bytes": method.planned_bytes,
        "memories": list(method.buffer_sizes),
        "delegates": [_delegate(delegate) for delegate in method.delegates],
    }


def _delegate(delegate: Delegate) -> Facts:
    return {
        "backend": delegate.backend,
        "size": delegate.size,
        "nodes": [
            {"type": n.type, "debug_handle": None if n.is_inserted else n.debug_handle}
            for n in delegate.nodes
        ],
        "unread": delegate.unread,
    }


def executable_lines(executable: Executable) -> list[str]:
    """Return the facts about one program file for people, a line each."""
    lines = []
    for method in executable.methods:
        counts = ", ".join(
            plain_count(n, kind.name.lower().replace("_", " "))
            for kind, n in _counts(method).items()
        )
        lines += [
            f"  {one_line(method.name)}: {plain_count(len(method.instructions), 'instruction')}"
            + (f" ({counts})" if counts else ""),
            f"    planned memory: {bytes_text(method.planned_bytes)} for "
            f"{plain_count(len(method.tensors), 'tensor')}",
        ]
        delegates = method.delegates[:_MOST_TOLD]
        lines += [f"    delegate {i}: {delegate_text(each)}" for i, each in enumerate(delegates)]
        rest = len(method.delegates) - len(delegates)
        lines += [f"    and {plain_count(rest, 'delegate')} more"] if rest else []
    sizes = ", ".join(f"{k} {bytes_text(n)}" for k, n in executable.part_sizes().items())
    lines.append(f"  {bytes_text(executable.size)}: {sizes}")
    return [plain_spaces(line) for line in lines]


def delegate_text(delegate: Delegate) -> str:
    """Return "XnnpackBackend, 1.2 kB, 3 nodes: 2 XNNConv2d, XNNAdd"."""
    text = f"{one_line(delegate.backend)}, {bytes_text(delegate.size)}"
    if delegate.unread:
        return f"{text}, nodes could not be read: {delegate.unread}"
    if not delegate.nodes:
        return text
    types = Counter(node.type for node in delegate.nodes).most_common()
    type_texts = [name if n == 1 else f"{n} {name}" for name, n in types[:_MOST_TOLD]]
    more = [f"{len(types) - _MOST_TOLD} more types"] if len(types) > _MOST_TOLD else []
    return f"{text}, {plain_count(len(delegate.nodes), 'node')}: {', '.join([*type_texts, *more])}"


def _counts(method: ExecutableMethod) -> dict[InstructionKind, int]:
    """How many instructions there are of each kind that occurs."""
    kind_counts = Counter(instruction.kind for instruction in method.instructions)
    return {kind: kind_counts[kind] for kind in InstructionKind if kind_counts[kind]}


def plain_count(count: int, thing: str) -> str:
    """Return a count with its noun, without separators: "1234 slices"."""
    return f"{count} {thing}{'' if count == 1 else 's'}"
