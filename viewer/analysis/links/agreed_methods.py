"""What the methods that runs may be of agree on.

Methods such as prefill and decode often have the same list of instructions, and an ETDump does not
name the one that ran. The methods agree on an instruction if its nodes are alike in each of them:
the same operators of the edge dialect, which came from the same calls in the same lines of the same
modules. Debug handles, node names and shapes may differ. Then the instruction is linked to the
operators of the first of the methods, which stand for those of the others; only the method stays
open. Of a call of a delegate, which runs many nodes, the source calls, lines and modules must be
the same: views between them may differ.

Shapes may differ between methods, so those of an operator that stands for others say nothing about
a run: no amount of work is derived from them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from viewer.analysis.links.link_table import Link, LinkState, Reason
from viewer.model.text import listed
from viewer.program.program import GraphNode, Program

_NAMED = 3  # methods of which the details are listed


def agreed(program: Program, links: Mapping[str, Link], *, is_whole: bool) -> Link:
    """Return the link of a key to what all methods agree on, or the reason why there is none.

    links: the link of the key by each method that its runs may be of. is_whole: whether all nodes
    of a link ran, as in a call of a delegate. Otherwise one of them did.
    """
    first, *others = links.values()
    if all(link == first for link in others):
        return first
    if all(link.reason.state is LinkState.LINKED for link in links.values()):
        ran = [_what_ran(program, link, is_whole) for link in links.values()]
        if all(other == ran[0] for other in ran):
            return _linked(links)
    near = tuple(dict.fromkeys(i for link in links.values() for i in link.operators or link.near))
    reasons = {link.reason for link in links.values()}
    if len(reasons) == 1 and first.reason.state is not LinkState.LINKED:
        return replace(first, detail=_details(links), handles=(), near=near)
    what = {name: _content(program, link) for name, link in links.items()}
    return Link(
        Reason.METHOD_UNDECIDED,
        f"The methods {listed(list(links))} have the same instructions, but not the same "
        f"operators here, and the ETDump does not name the one that ran: {_listed(what)}",
        near=near,
        backend=first.backend if len({link.backend for link in links.values()}) == 1 else "",
    )


def _linked(links: Mapping[str, Link]) -> Link:
    """Return the link of the first method, which stands for those of the others."""
    first = next(iter(links.values()))
    return replace(
        first,
        detail=f"{listed(list(links))} agree on this. {_details(links)}",
        handles=first.handles if len({link.handles for link in links.values()}) == 1 else (),
    )


def _nodes(program: Program, link: Link) -> list[GraphNode]:
    numbers = link.nodes or (
        i for operator in link.operators for i in program.node_numbers(operator)
    )
    return [program.nodes[i] for i in numbers]


def _what_ran(program: Program, link: Link, is_whole: bool) -> object:
    """Return what must be the same in every method, of all nodes of a link.

    A call of a delegate may contain more views of one source call in one method than in another.
    """
    if is_whole:
        return {_identity(node) for node in _nodes(program, link)}
    return Counter((node.op, *_identity(node)) for node in _nodes(program, link))


def _identity(node: GraphNode) -> tuple[object, ...]:
    """Return the source call of a node, its line and its module."""
    line = node.source
    place = None if line is None else (line.path, line.line)
    return node.type, place, node.modules[-1:], node.branch


def _content(program: Program, link: Link) -> str:
    """Return the operators of a link, "up · linear (net.py:92)"; without any, its reason."""
    labels = []
    for i in link.operators[:_NAMED]:
        operator = program.operators[i]
        frame = operator.source
        labels.append(f"{operator.label} ({frame.path}:{frame.line})" if frame else operator.label)
    more = len(link.operators) - len(labels)
    if not labels:
        return link.reason.text
    return listed(labels + ([f"{more} more"] if more else []))


def _details(links: Mapping[str, Link]) -> str:
    """Return why each method has its link; once if that is the same."""
    texts = {name: link.detail for name, link in links.items()}
    distinct = set(texts.values())
    return distinct.pop() if len(distinct) == 1 else _listed(texts)


def _listed(texts: Mapping[str, str]) -> str:
    listed = [f"{name}: {text}" for name, text in list(texts.items())[:_NAMED]]
    more = len(texts) - len(listed)
    return "; ".join(listed + ([f"and {more} more methods"] if more else []))
