"""Links the identities of a trace to the operators of a program, each with a reason.

Nothing is guessed: a delegate identifier is looked up by its exact text in the map of its own call,
and a kernel that contradicts its debug handle stays unlinked with that reason.

Methods such as prefill and decode often have the same list of instructions, and an ETDump does not
name the one that ran. They agree on an instruction if its nodes are alike in each: the same
operators of the edge dialect, from the same calls in the same lines of the same modules. Then it is
linked to the operators of the first method, which stand for those of the others. Shapes may differ,
so no amount of work is derived from them. Of a call of a delegate, which runs many nodes, the
source calls, lines and modules must be the same: views between them may differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from viewer.analysis.links.link_table import Link, LinkState, LinkTable, Reason
from viewer.analysis.links.logged_identities import is_outside_calls, scope_identities
from viewer.analysis.links.mlir_locations import TextPositions, operators_at, positions_of, unplaced
from viewer.dataclasses import replace
from viewer.model.text import listed
from viewer.model.trace import KeyKind, Trace
from viewer.program.debug_handles import DelegateMap, Via, is_of_whole_call
from viewer.program.executables import XNNPACK, Executable
from viewer.program.program import Dispatch, GraphNode, Method, Program, base_name

if TYPE_CHECKING:
    from viewer.analysis.links.match import TraceMatch
    from viewer.analysis.nodes.executed_program import ExecutedProgram
    from viewer.analysis.nodes.instruction_nodes import KernelNodes


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
        f"operators here, and the ETDump does not name the one that ran: {_listed_methods(what)}",
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
    return distinct.pop() if len(distinct) == 1 else _listed_methods(texts)


def _listed_methods(texts: Mapping[str, str]) -> str:
    listed = [f"{name}: {text}" for name, text in list(texts.items())[:_NAMED]]
    more = len(texts) - len(listed)
    return "; ".join(listed + ([f"and {more} more methods"] if more else []))


NO_RECORD = "No matching ETRecord is open"


def unlinked(trace: Trace, why: str = "", dispatches: Sequence[Dispatch] = ()) -> LinkTable:
    """Return the link table of a trace without a program; `why` is the detail of linkable keys.

    dispatches: the open debug info, to say why an action or job is not in it.
    """
    detail = why or NO_RECORD
    alone = Link(Reason.NO_PROGRAM, detail)
    identifiers = trace.keys.identifier
    numbered = np.isin(trace.keys.kind, (_ACTION, _JOB))
    absent = unplaced(trace, dispatches)

    def answer(key: int) -> Link:
        if numbered[key]:
            return _without_debug_info(absent, key)
        return _not_linkable(trace, key) or (
            _WHOLE_CALL if is_of_whole_call(identifiers[key]) else alone
        )

    # A file can have as many names as slices, and the answer for a name alone is always the same.
    links = [_NO_IDENTITY] * len(trace.keys)
    for key in np.flatnonzero(trace.keys.kind != _PLAIN).tolist():
        links[key] = answer(key)
    return LinkTable(trace, None, None, tuple(links))


def link(
    trace: Trace,
    program: Program,
    trace_match: TraceMatch | None = None,
    dispatches: Sequence[Dispatch] = (),
    *,
    insisted: bool = False,
    executable: Executable | None = None,
) -> LinkTable:
    """Link every key of a trace to the operators of a program.

    trace_match: how well they match, if it is known.

    dispatches: the open debug info, to say why an action or job is not in it. insisted: the user
    chose the program, so kernels are linked by their debug handles whatever their names.
    executable: the program file that ran; it links XNNPACK's events and kernels in branches.
    """
    from viewer.analysis.links.match import match_trace
    from viewer.analysis.nodes.executed_program import ExecutedProgram

    trace_match = trace_match or match_trace(trace, program)
    linker = _Linker(trace, program, trace_match, unplaced(trace, dispatches), insisted)
    if executable is not None:
        linker.ran = ExecutedProgram(trace, executable)
    links = tuple(map(linker.link, range(len(trace.keys))))
    return LinkTable(trace, program, trace_match, links, executable=executable)


_BY_ENTRY = {
    Via.EXACT: Reason.BY_IDENTIFIER, Via.NODE_ID: Reason.BY_NODE_ID, Via.TENSOR: Reason.BY_TENSOR
}  # fmt: skip
# Plain integers, because looking up an enum member takes longer than linking a key.
_OPERATOR_CALL, _DELEGATE_EVENT = int(KeyKind.OPERATOR_CALL), int(KeyKind.DELEGATE_EVENT)
_FRAMEWORK, _CONTROL, _PLAIN = int(KeyKind.FRAMEWORK), int(KeyKind.CONTROL), int(KeyKind.PLAIN)
_GAP, _LOCATION = int(KeyKind.UNATTRIBUTED), int(KeyKind.LOCATION)
_ACTION, _JOB = int(KeyKind.ACTION), int(KeyKind.JOB)
# Each of these ran one node. A call or event of a delegate ran all of its nodes.
_ONE_NODE = (_OPERATOR_CALL, int(KeyKind.KERNEL))
_NO_DEBUG_INFO = Link(
    Reason.NO_DEBUG_INFO,
    "The file has a number, but no location. Open the dispatch's debug info "
    "(torq-compile --torq-debug-info=DIR)",
)


def _without_debug_info(absent: Mapping[int, tuple[bool, str]], key: int) -> Link:
    """Return the link of an action or job that got no location."""
    if key not in absent:
        return _NO_DEBUG_INFO
    is_open, why = absent[key]
    return Link(Reason.NOT_IN_DEBUG_INFO if is_open else Reason.NO_DEBUG_INFO, why)


_NO_IDENTITY = Link(Reason.NO_IDENTITY, "The file has no operator ID for this slice")
_OUTSIDE = Link(
    Reason.OUTSIDE_CALLS, "The delegate logged this outside its calls, e.g. during load"
)
_WHOLE_CALL = Link(
    Reason.WHOLE_CALL, "Covers the entire delegate call; such events are in no debug handle map"
)
_UNATTRIBUTED = Link(
    Reason.UNATTRIBUTED,
    "The delegate logged nothing for this part of its call: setup, copies, or operators that it "
    "does not time",
)
_UNKNOWN_PLACE = Link(Reason.UNKNOWN_LOCATION, "The compiler recorded no source location")


def _not_linkable(trace: Trace, key: int) -> Link | None:
    keys = trace.keys
    kind = int(keys.kind[key])
    if kind == _PLAIN:
        return _NO_IDENTITY
    if kind == _FRAMEWORK:
        name = trace.strings[int(keys.name[key])]
        return Link(Reason.FRAMEWORK, f"{name} is a scope of the runtime, not an operator")
    if kind == _CONTROL:
        name = trace.strings[int(keys.name[key])]
        return Link(Reason.CONTROL, f"{name} moves values or control; it has no operator")
    if kind == _DELEGATE_EVENT and is_outside_calls(trace, key):
        return _OUTSIDE
    if kind == _GAP:
        return _UNATTRIBUTED
    if kind == _LOCATION and not positions_of(keys.location[key]):
        return _UNKNOWN_PLACE
    return None


class _Linker:
    def __init__(
        self,
        trace: Trace,
        program: Program,
        trace_match: TraceMatch,
        absent: Mapping[int, tuple[bool, str]],
        insisted: bool,
    ) -> None:
        self.trace = trace
        self.ran: ExecutedProgram | None = None
        self._insisted = insisted
        self._absent = absent
        self.keys = trace.keys
        self.program = program
        self.trace_match = trace_match
        self._kind: list[int] = trace.keys.kind.tolist()
        self._scope: list[int] = trace.keys.scope.tolist()
        self._id: list[int] = trace.keys.instruction.tolist()
        self._logged = scope_identities(trace)
        self._texts = TextPositions(program)
        self._methods = [self._method(scope) for scope in range(len(trace.scopes))]
        # A kernel and the OPERATOR_CALL around it share a link, by (scope, instruction, method).
        self._ran_kernels: dict[tuple[int, int, str], Link] = {}
        self._kernel_nodes_of: dict[tuple[int, str], KernelNodes] = {}  # by scope and method
        self._calls: dict[tuple[str, int], Link] = {}
        self._by_kind: dict[int, Callable[[int, Method], Link]] = {
            KeyKind.OPERATOR_CALL: self._operator,
            KeyKind.KERNEL: self._operator,
            KeyKind.DELEGATE_CALL: self._delegate_call,
            KeyKind.DELEGATE_EVENT: self._delegate_event,
        }

    def link(self, key: int) -> Link:

        refused = _not_linkable(self.trace, key)
        if refused:
            return refused
        kind = self._kind[key]
        if kind in (_ACTION, _JOB):
            return _without_debug_info(self._absent, key)
        if kind == _LOCATION and not self.program.text_lines:
            return _no_identifier(self.trace)
        location = self.keys.location[key]
        if kind == _LOCATION or (self.program.text_lines and location is not None):
            return self._location(location) if positions_of(location) else _UNKNOWN_PLACE
        method = self._methods[self._scope[key]]
        if isinstance(method, Link):
            return method
        if isinstance(method, Method):
            return self._by_kind[kind](key, method)
        links = {method.name: self._by_kind[kind](key, method) for method in method}
        return agreed(self.program, links, is_whole=kind not in _ONE_NODE)

    def _method(self, scope: int) -> Method | tuple[Method, ...] | Link:
        """Return the method of a scope, or all that it may be.

        If the program has none of it, return a link that says why its keys are unlinked.
        """
        undecided = self.trace_match.undecided[scope]
        if undecided:
            methods = [method for name in undecided if (method := self.program.method(name))]
            if len(methods) == len(undecided):
                return tuple(methods)
            absent = [name for name in undecided if self.program.method(name) is None]
            return Link(
                Reason.METHOD_UNDECIDED,
                f"The methods {' and '.join(undecided)} have the same instructions, and the "
                f"{self.program.title} has no {' and no '.join(absent)}",
            )
        method = self.program.method(self.trace_match.methods[scope] or "")
        if method is None and not any(m.is_mapped for m in self.program.methods):
            return Link(
                Reason.NOT_IN_MAP,
                f"The {self.program.title} maps no instruction to any debug handle",
            )
        if method is None:
            stated = self.trace.scopes[scope].method
            name = f"method {stated}" if stated else "method that matches these inferences"
            return Link(Reason.NO_METHOD, f"The {self.program.title} has no {name}")
        return method

    def _instruction(self, key: int, method: Method) -> Link:
        instruction = self._id[key]
        if instruction not in method.handles:
            return self._unmapped(key, instruction, method)
        handles = method.handles[instruction]
        return self._found(
            method,
            handles,
            Reason.BY_INSTRUCTION,
            f"Instruction {instruction} → debug handle{_numbers(handles)}",
        )

    def _operator(self, key: int, method: Method) -> Link:
        """Link a kernel or its OPERATOR_CALL, unless the kernel contradicts its handle."""
        scope, instruction = self._scope[key], self._id[key]
        place = scope, instruction, method.name
        if place not in self._ran_kernels:
            ran = self._ran(key)
            linked = self._kernels(key, method, ran) if ran else self._instruction(key, method)
            self._ran_kernels[place] = self._with_nodes(linked, scope, instruction, method)
        return self._ran_kernels[place]

    def _with_nodes(self, linked: Link, scope: int, instruction: int, method: Method) -> Link:
        """Return the link of an instruction with the graph nodes that it ran, if they are known."""
        nodes = self._kernel_nodes(scope, method).nodes(instruction) if linked.operators else ()
        if not nodes:
            return linked
        every = sum(len(self.program.operators[i].nodes) for i in linked.operators)
        if len(nodes) == 1:
            what = f"node {self.program.nodes[nodes[0]].name}, one of its {every}"
        else:
            what = f"one of {len(nodes)} nodes with this operator, of its {every}"
        return replace(linked, detail=f"{linked.detail}. It ran {what}", nodes=nodes)

    def _kernel_nodes(self, scope: int, method: Method) -> KernelNodes:
        from viewer.analysis.nodes.instruction_nodes import KernelNodes

        place = scope, method.name
        if place not in self._kernel_nodes_of:
            kernels = self._logged[scope].kernels
            self._kernel_nodes_of[place] = KernelNodes(self.program, method, kernels)
        return self._kernel_nodes_of[place]

    def _kernels(self, key: int, method: Method, ran: set[str]) -> Link:
        """Return the link of an instruction that ran kernels, after comparing their names."""
        linked = self._instruction(key, method)
        if not linked.operators or linked.reason is Reason.BY_BRANCH:
            return linked
        names = {name for handle in linked.handles for name in method.kernel_names(handle)}
        if not ran & names:
            return self._other_kernels(key, linked, sorted(ran), sorted(names))
        recorded = {n for i in linked.operators for n in self.program.operators[i].base_names}
        kernel = " / ".join(sorted(ran & names))
        if not ran & recorded:
            return replace(
                linked,
                reason=Reason.REPLACED,
                detail=f"{linked.detail}. A transform pass replaced {', '.join(sorted(recorded))} "
                f"with {kernel}",
            )
        return linked

    def _other_kernels(self, key: int, linked: Link, ran: list[str], names: list[str]) -> Link:
        """Return the link of an instruction whose kernels its debug handles do not name."""
        kernels, operators = " / ".join(ran), ", ".join(names)
        if self._id[key] in self.trace_match.replaced[self._scope[key]]:
            why = f"A pass, or another version of the model, replaced {operators} with {kernels}"
            return replace(linked, reason=Reason.REPLACED, detail=f"{linked.detail}. {why}")
        if self._insisted:
            why = f"You chose this ETRecord; {kernels} ran instead of {operators}"
            return replace(linked, reason=Reason.CHOSEN_RECORD, detail=f"{linked.detail}. {why}")
        return Link(
            Reason.OTHER_OPERATOR,
            f"The kernel {kernels} is not an operator of debug handle{_numbers(linked.handles)} "
            f"({operators})",
            near=linked.operators,
        )

    def _ran(self, key: int) -> set[str]:
        """Return the names of the kernels that the instruction of a key logged."""
        return self._logged[self._scope[key]].kernels.get(self._id[key], set())

    def _unmapped(self, key: int, instruction: int, method: Method) -> Link:
        """Return the link of an instruction that is not in the map, with the reason if known."""
        from viewer.analysis.links.match import WRITE_BACK

        if method.delegates_only:
            return self._beyond_delegates(key, instruction)
        node = self.ran.branch_node(instruction, self.program, method) if self.ran else None
        if node is not None and self.ran is not None:
            branch = self.program.nodes[node].branch
            operator = self.program.operator_of_node(node)
            where = f"in the {branch}" if branch else f"around the body of {operator.name}"
            where = f"{self.ran.name} has instruction {instruction} {where}"
            handles = (operator.debug_handle,) if operator.debug_handle >= 0 else ()
            nodes = (node,) if len(operator.nodes) > 1 else ()
            return Link(Reason.BY_BRANCH, where, handles, (operator.index,), nodes=nodes)
        view = self.ran.view_node(instruction, self.program, method) if self.ran else None
        if view is not None and self.ran is not None:
            where = f"{self.ran.name} has instruction {instruction} as the view"
            return self._at_node(Reason.BY_VIEW, where, view)
        missing = f"The ETRecord has no debug handle for instruction {instruction}"
        ran = self._ran(key)
        logged = self._logged[self._scope[key]]
        if logged.jumps and ran & method.in_branches.keys():
            near = {op.index: op for name in ran for op in method.in_branches.get(name, ())}
            branches = dict.fromkeys(
                node.branch
                for _, operator in sorted(near.items())
                for node in operator.nodes
                if node.branch and base_name(node.op) in ran
            )
            return Link(
                Reason.IN_BRANCH,
                f"{missing}, as it is inside control flow; {' / '.join(sorted(ran))} is in the "
                f"{' and the '.join(branches)}",
                near=tuple(sorted(near)),
            )
        if ran == {WRITE_BACK}:
            return Link(
                Reason.NOT_IN_MAP,
                f"{missing}: {WRITE_BACK} writes back a buffer or the state of a loop, which "
                "export adds without one",
            )
        if self._kind[key] == _OPERATOR_CALL and not ran and logged.kernels:
            return Link(
                Reason.NOT_IN_MAP,
                f"{missing}, and no kernel ran in it: probably a primitive of the runtime, such "
                "as a view or arithmetic on sizes",
            )
        return Link(Reason.NOT_IN_MAP, f"{missing}; instructions that export adds late have none")

    def _at_node(self, reason: Reason, where: str, node: int) -> Link:
        """Return the link of an instruction that ran one node, by the program file."""
        operator = self.program.operator_of_node(node)
        handles = (operator.debug_handle,) if operator.debug_handle >= 0 else ()
        nodes = (node,) if len(operator.nodes) > 1 else ()
        where = f"{where} {self.program.nodes[node].name}"
        return Link(reason, where, handles, (operator.index,), nodes=nodes)

    def _beyond_delegates(self, key: int, instruction: int) -> Link:
        """Return the link of a key that a debug handle map file does not cover."""
        what = "operators outside delegates"
        if self._kind[key] == KeyKind.DELEGATE_CALL:
            what = f"the operators of the delegate call at instruction {instruction}"
        return Link(Reason.ONLY_DELEGATES, f"A debug handle map does not include {what}")

    def _delegate_call(self, key: int, method: Method) -> Link:
        linked = self._instruction(key, method)
        delegate = method.delegate_at(self._id[key])
        backend = delegate.backend if delegate else ""
        kernel_nodes = self._kernel_nodes(self._scope[key], method)
        nodes = kernel_nodes.delegated(linked.handles, self._id[key])
        return replace(linked, backend=backend, nodes=nodes)

    def _delegate_event(self, key: int, method: Method) -> Link:
        linked = self._unselected_event(key, method)
        if linked.nodes:
            return linked
        kernel_nodes = self._kernel_nodes(self._scope[key], method)
        nodes = kernel_nodes.delegated(linked.handles, self._id[key])
        return replace(linked, nodes=nodes) if nodes else linked

    def _unselected_event(self, key: int, method: Method) -> Link:
        """Return the link of a delegate event to all nodes of its operators."""
        identifier = self.keys.identifier[key]
        instruction = self._id[key]
        if instruction < 0:
            return self._identifier_anywhere(identifier, method)
        # The link of a delegate call, cached because each of its events needs it.
        place = (method.name, instruction)
        if place not in self._calls:
            handles = method.handles.get(instruction, ())
            self._calls[place] = self._found(method, handles, Reason.BY_INSTRUCTION, "")
        call = self._calls[place]
        delegate = method.delegate_at(instruction)
        if is_of_whole_call(identifier) and not (delegate and delegate.find(identifier)):
            backend = delegate.backend if delegate else ""
            return replace(_WHOLE_CALL, near=call.operators, backend=backend)
        by_node = self._xnnpack_node(key, method, call)
        if by_node is not None and not (delegate and delegate.is_filled):
            return by_node
        if delegate is None:
            return Link(
                Reason.NO_DELEGATE_MAP,
                f"The {self.program.title} has no delegate at instruction {instruction}",
                near=call.operators,
            )
        if instruction not in method.delegates and delegate.find(identifier) is None:
            # The map applies to any call: this call may belong to another backend.
            return replace(_in_no_map(identifier, method), near=call.operators)
        return self._in_map(identifier, delegate, method, call.operators)

    def _xnnpack_node(self, key: int, method: Method, call: Link) -> Link | None:
        """Return the link of an event that XNNPACK logged, None if no program file has its call."""
        from viewer.analysis.nodes.xnnpack_operators import operators_behind, short_type

        logged = None if self.ran is None else self.ran.xnnpack_nodes(key, method.name)
        if logged is None or self.ran is None:
            return None
        if isinstance(logged, str):
            detail = f"{self.ran.name} does not show which node this is: {logged}"
            return Link(Reason.NOT_ALIGNED, detail, near=call.operators, backend=XNNPACK)
        what = f"{listed(list(dict.fromkeys(node.type for node in logged)))} in {self.ran.name}"
        xnnpack_nodes = [node for node in logged if not node.is_inserted]
        if not xnnpack_nodes:
            detail = f"{what}, inserted by XNNPACK's export"
            return Link(Reason.INSERTED, detail, near=call.operators, backend=XNNPACK)
        handles = tuple(dict.fromkeys(node.debug_handle for node in xnnpack_nodes))
        detail = f"{what} → debug handle{_numbers(handles)}"
        linked = self._found(method, handles, Reason.BY_XNNPACK_NODE, detail)
        # Quantize nodes also have the handle of a neighbor: the type distinguishes them.
        every = [i for op in linked.operators for i in self.program.node_numbers(op)]
        names = frozenset[str]().union(
            *(operators_behind(short_type(x.type)) for x in xnnpack_nodes)
        )
        nodes = tuple(i for i in every if base_name(self.program.nodes[i].op) in names)
        if len(nodes) == len(every):
            nodes = ()
        return replace(linked, near=call.operators, backend=XNNPACK, nodes=nodes)

    def _identifier_anywhere(self, identifier: int | str, method: Method) -> Link:
        """Link an identifier without an instruction if it is unambiguous in the method."""
        holders = {i: d for i, d in method.delegates.items() if d.handles(identifier) is not None}
        answers = {d.handles(identifier) for d in holders.values()}
        if len(answers) > 1:
            return Link(
                Reason.IDENTIFIER_AMBIGUOUS,
                f"Identifier {identifier!r} stands for different operators in the delegates at "
                f"instructions {', '.join('*' if i < 0 else str(i) for i in holders)}; add a "
                "column instruction_id",
            )
        if holders:
            return self._in_map(identifier, next(iter(holders.values())), method, ())
        filled = [d for d in method.delegates.values() if d.is_filled]
        if not filled:
            names = sorted({d.backend for d in method.delegates.values()}) or ["The backend"]
            return Link(Reason.NO_DELEGATE_MAP, f"{' and '.join(names)} wrote no debug handle map")
        return _in_no_map(identifier, method)

    def _in_map(
        self, identifier: int | str, delegate: DelegateMap, method: Method, near: tuple[int, ...]
    ) -> Link:
        backend = delegate.backend or "The backend"
        if not delegate.is_filled:
            return Link(
                Reason.NO_DELEGATE_MAP,
                f"{backend} wrote no debug handle map",
                near=near,
                backend=delegate.backend,
            )
        entry = delegate.find(identifier)
        if entry is None:
            return Link(
                Reason.IDENTIFIER_UNKNOWN,
                f"{backend} logged {identifier!r}, which is not in its debug handle map",
                near=near,
                backend=delegate.backend,
            )
        exact = entry.via is Via.EXACT
        key = repr(identifier) if exact else f"{entry.via.value} {entry.key!r}"
        linked = self._found(
            method,
            entry.handles,
            _BY_ENTRY[entry.via],
            f"{backend} maps {key} → debug handle{_numbers(entry.handles)}",
        )
        return replace(linked, near=near, backend=delegate.backend)

    def _found(self, method: Method, handles: tuple[int, ...], reason: Reason, detail: str) -> Link:
        operators = [method.by_handle[h] for h in dict.fromkeys(handles) if h in method.by_handle]
        if not operators:
            return Link(
                Reason.NOT_IN_GRAPH,
                f"The ETRecord's graph has no operator with debug handle{_numbers(handles)}"
                if handles
                else f"The {self.program.title} names no debug handle for it",
                handles,
            )
        return Link(reason, detail, handles, tuple(op.index for op in operators))

    def _location(self, location: str) -> Link:
        positions = operators_at(location, self._texts)
        if not positions:
            places = ", ".join(f"{p.file}:{p.line}:{p.col}" for p in positions_of(location))
            return Link(Reason.NOT_IN_TEXT, f"No operation starts at {places}")
        places = ", ".join(f"{p.line}:{p.col}" for p in positions.values())
        return Link(Reason.BY_LOCATION, f"Operation at {places}", (), tuple(positions))


def _in_no_map(identifier: int | str, method: Method) -> Link:
    return Link(
        Reason.IDENTIFIER_UNKNOWN,
        f"Identifier {identifier!r} is in no debug handle map of {method.name}",
    )


def _no_identifier(trace: Trace) -> Link:
    """Return the link of a slice with only a location, which no ETRecord contains."""
    column = trace.identifier_column
    missing = (
        f"The column {column} has no value here" if column else "No column of identifiers is chosen"
    )
    return Link(
        Reason.LOCATION_ALONE,
        f"{missing}; without identifiers, locations can be linked only to an MLIR text",
    )


def _numbers(handles: tuple[int, ...]) -> str:
    distinct = list(dict.fromkeys(handles))
    return f"{'s' if len(distinct) > 1 else ''} {', '.join(map(str, distinct))}"
