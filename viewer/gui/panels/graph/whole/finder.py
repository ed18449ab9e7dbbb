"""Which groups and operators of a whole model have a text in their names. No Qt."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.analysis.delegates.delegation import Instance
from viewer.gui.panels.graph.names import tag_of
from viewer.program.program import Program
from viewer.render.graph.model_tree import GroupKind, GroupTree


def searched_texts(tree: GroupTree, program: Program, calls: Sequence[Instance]) -> list[str]:
    """Return the text of every node that is searched, in small letters.

    Of an operator its label and the names of its graph nodes, of a module its path and class, of a
    delegate call its name, of a run nothing.
    """
    found = []
    paths: list[str] = []
    for node, (name, detail) in enumerate(zip(tree.names, tree.details, strict=True)):
        operator, call, parent = (
            int(column[node]) for column in (tree.operator, tree.call, tree.parent)
        )
        around = paths[parent] if parent > 0 else ""
        if operator >= 0:
            own = program.operators[operator]
            text = " ".join((own.label, *(each.name for each in own.nodes)))
            paths.append("")
        elif call >= 0:
            text = tag_of(calls[call])
            paths.append(around)
        elif tree.kind[node] == GroupKind.RUN:
            text = ""
            paths.append(around)
        else:
            paths.append(f"{around}.{name}" if around else name if node else "")
            text = f"{paths[-1]} {detail}"
        found.append(text.casefold())
    return found


def hits(texts: Sequence[str], wanted: str) -> list[int]:
    """Return the nodes whose texts have all words that are wanted, in the order of the tree."""
    words = wanted.casefold().split()
    if not words:
        return []
    return [node for node, text in enumerate(texts) if all(word in text for word in words)]
