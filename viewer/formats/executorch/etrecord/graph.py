"""Reads the graphs of an ETRecord (torch's serialized export) as graph nodes, and its maps to them.

One program is one JSON object with the graph, its signature and its module list, in the edge
dialect and in ATen. Facts that are not in the format's specification:

* A lowered module is a whole program as JSON text in the first input of its call, and branches of
  control flow are graphs inside inputs. Their nodes are included with those of the enclosing graph
  and state their branch; the emitter maps no instruction to them.
* `from_node` is again JSON text, nested once per export pass. The ATen node is the ancestor whose
  graph is `export_graph_id`. That id is a memory address that may have been reused, so a name
  counts only if the ATen program contains it.

JSON converted all keys of the maps to strings and tuples to arrays. For each method and instruction
id, `debug_handle_map` has one debug handle (kernels) or an array of them (delegate calls, with
duplicates). For the instruction id of each delegate call, `delegate_map` has the backend's name and
what it returned: an object of identifiers, an empty one (always for XNNPACK), or null.

`nn_module_stack` has the modules around a node: "key,path,type;key,path,type". Keys of a ModuleDict
may have any letters, commas and semicolons too, and nothing is escaped. What tells the entries
apart is that a type is a name with dots, and that torch makes the key from the path:

* non-strict export: "L__self__" and the path; once more for each export of an exported module
* strict export: the `id()` of the module; "L__self__" for the outermost module
* up to torch 2.3: the path as Python writes it, with "_" for all but letters and digits:
  "L__self___blocks_0" for "L['self'].blocks.0"
* of a later call of the same module, "@1" is added

If that leaves several readings, only the one whose paths are all modules of the model counts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from viewer.codecs.json_values import InvalidJson, Parsed, mapping, sequence, text, whole_number
from viewer.dataclasses import dataclass
from viewer.formats.executorch.etrecord.dataflow import (
    GraphScope,
    GraphTensors,
    NodeFlows,
    NodeNames,
    Origins,
    Rounds,
    kept_values,
    op_name,
    settings_of,
    union,
    united,
    value_names,
)
from viewer.program.debug_handles import DelegateMap, Identifier
from viewer.program.frames import Frame, parse_frames
from viewer.program.program import NO_HANDLE, GraphNode, Tensor

Complain = Callable[[str, str], None]  # kind of a problem, and its location or value


def instruction_handles(value: Any, complain: Complain) -> dict[int, tuple[int, ...]]:
    """Instruction id -> debug handles of one method; invalid entries are reported."""
    handles_of = {}
    for key, entry in mapping(value).items():
        instruction, handles = whole_number(key), _handles(entry)
        if instruction is None or handles is None:
            complain("invalid entry in debug_handle_map: expected instruction -> handles", key)
        else:
            handles_of[instruction] = handles
    return handles_of


def delegate_maps(value: Any, complain: Complain) -> dict[int, DelegateMap]:
    """Instruction id of a delegate call -> its map, for one method; reports invalid entries."""
    delegate_map_of = {}
    for key, entry in mapping(value).items():
        instruction = whole_number(key)
        if instruction is None or not isinstance(entry, dict):
            complain("invalid entry in delegate_map: expected instruction -> map", key)
            continue
        stated = entry.get("delegate_map")
        entries: dict[Identifier, tuple[int, ...]] | None = None
        if isinstance(stated, dict):
            entries = {}
            for identifier, listed in stated.items():
                handles = _handles(listed)
                if handles is None:
                    complain("an identifier's debug handles are not numbers", identifier)
                else:
                    entries[identifier] = handles
        delegate_map_of[instruction] = DelegateMap(text(entry.get("name")), entries)
    return delegate_map_of


def output_counts(value: Any, complain: Complain) -> dict[int, int]:
    """Instruction id of a delegate call -> the number of its results; reports invalid entries."""
    counts = {}
    for key, entry in mapping(value).items():
        instruction, count = whole_number(key), whole_number(entry)
        if instruction is None or count is None or count < 1:
            complain("invalid number of outputs of a delegate call", key)
        else:
            counts[instruction] = count
    return counts


def _handles(value: Any) -> tuple[int, ...] | None:
    numbers = [whole_number(v) for v in (value if isinstance(value, list) else [value])]
    handles = [v for v in numbers if v is not None]
    return tuple(handles) if len(handles) == len(numbers) else None


Modules = tuple[tuple[str, str], ...]  # (path, type), outermost first

# Shown as the module of a node whose modules are not clear.
UNKNOWN: Modules = (("(unknown module)", ""),)
# torch's marker on nodes that a pass created outside any module.
_NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"
_ROOT, _SELF = "L__self__", "L['self']."
# Where a class is defined in a function, its name has "<locals>".
_TYPE = re.compile(r"[\w.<>]+")
_CALL = re.compile(r"@\d{1,9},")
# An id is an address, so that it has more digits than the keys of lists.
_ID = re.compile(r"(?:L__self__)*\d{6,20}(?:@\d{1,9})?")
_IDS_INSIDE = re.compile(r";(?:L__self__)*\d{6,20}(?:@\d{1,9})?,")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9]")
_PLAIN_PATH = re.compile(r"[\w.]*")
# What strict export makes of a key with quotes: d._modules["g'h"].
_SUBSCRIPT = re.compile(r"\._modules\[(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')\]")
# No model is nested as deep as this; the text is cut at every pair of semicolons.
_MOST_LETTERS, _MOST_PARTS = 16_384, 128


def modules_of(stack: str, names: Collection[str] = ()) -> Modules | None:
    """The modules around a node; None if its text can be read in no way, or in several.

    names: the paths of all modules of the model, where the file lists them.
    """
    if not stack:
        return ()
    if len(stack) > _MOST_LETTERS or stack.count(";") >= _MOST_PARTS:
        return None
    readings = list(islice(_readings(stack, names, lambda _: True), 2))
    if len(readings) > 1:
        readings = list(islice(_readings(stack, names, names.__contains__), 2))
    elif not readings:
        readings = [*_plain(stack)]
    if len(readings) != 1:
        return None
    return tuple((path, type_) for path, type_ in readings[0] if path != _NO_MODULE)


def _readings(
    stack: str, names: Collection[str], counts: Callable[[str], bool]
) -> Iterator[Modules]:
    """Every way to cut the text into entries whose paths count."""
    ends = [i for i, letter in enumerate(stack) if letter == ";"] + [len(stack)]
    starts = [0, *(end + 1 for end in ends[:-1])]
    # By start: the entries there after which the rest can be read too, and the start of that.
    entries: list[dict[tuple[tuple[str, str], int], None]] = [{} for _ in starts]
    for i in reversed(range(len(starts))):
        for j in range(i, len(ends)):
            if j + 1 == len(starts) or entries[j + 1]:
                for path, type_ in _entries(stack[starts[i] : ends[j]], names):
                    if counts(path):
                        entries[i][(path, type_), j + 1] = None
    todo: list[tuple[int, Modules]] = [(0, ())]
    while todo:
        start, before = todo.pop()
        if start == len(starts):
            yield before
        else:
            todo += [(after, (*before, entry)) for entry, after in entries[start]]


def _entries(text: str, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """The paths and types that a text can state as one entry."""
    rest, comma, type_ = text.rpartition(",")
    if not comma or _TYPE.fullmatch(type_) is None:
        return
    if rest == f"{_NO_MODULE},{_NO_MODULE}":
        yield _NO_MODULE, type_
        return
    key, comma, path = rest.partition(",")
    if comma and _ID.fullmatch(key):
        # Any path fits an id, also one over the entries that follow.
        path = _SUBSCRIPT.sub(_subscript, path)
        if path in names or _IDS_INSIDE.search(path) is None:
            yield path, type_
    root = 0
    while True:
        for path in _repeated(rest[root:]):
            if root or path:
                yield path, type_
        if not rest.startswith(_ROOT, root):
            break
        root += len(_ROOT)
    for path in _spelled(rest):
        yield path, type_


def _repeated(text: str) -> Iterator[str]:
    """The path of "path,path" or "path@1,path"."""
    half = len(text) // 2
    if text[half : half + 1] == "," and text[:half] == text[half + 1 :]:
        yield text[:half]
    for call in _CALL.finditer(text) if "@" in text else ():
        if text[: call.start()] == text[call.end() :]:
            yield text[: call.start()]


def _spelled(text: str) -> Iterator[str]:
    """The path of "key,path" whose key is the path with "_" for all but letters and digits."""
    if call := _CALL.search(text):
        text = f"{text[: call.start()]},{text[call.end() :]}"
    for before in ("", _SELF):
        middle = (len(text) - 1 + len(before)) // 2
        path = text[middle + 1 :]
        if middle >= 0 and text[middle : middle + 1] == "," and len(before) + len(path) == middle:
            key = _NOT_IN_NAMES.sub("_", before + path)
            if path and key == text[:middle] and key != path:
                yield path.removeprefix(_SELF)


def _plain(stack: str) -> Iterator[Modules]:
    """The reading of a text without odd letters, whose keys are none of torch's."""
    parts = [part.split(",") for part in stack.split(";")]
    if all(
        len(part) == 3 and _PLAIN_PATH.fullmatch(part[1].strip()) and part[2].strip()
        for part in parts
    ):
        yield tuple((path.strip(), type_.strip()) for _, path, type_ in parts)


def _subscript(match: re.Match[str]) -> str:
    try:
        return f".{ast.literal_eval(match[1])}"
    except (ValueError, SyntaxError):
        return match[0]


_DELEGATE_CALL = "executorch_call_delegate"
# Memory for a result, which an out variant takes like an input.
_ALLOC = "memory.alloc"
_NOT_OPERATORS = (_DELEGATE_CALL, _ALLOC, "_operator.getitem")
_OUT_VARIANT = re.compile(r"torch\.ops\.\w+\.\w+\.\w*out")
_DEEPEST = 20
_MOST_SHOWN = 80  # letters of a text that cannot be decoded
# The graphs inside the inputs of control flow, in order; a loop over slices has only its body.
_PARTS = {"cond": ("true branch", "false branch"), "while_loop": ("condition", "body")}
# Views are not separate instructions, so `to_executorch()` does not overwrite their debug handles.
_VIEW = "executorch.exir.memory.view"
_HIGHER_ORDER = "torch.ops.higher_order."


# Yields nodes one by one, and returns the origins of the graph's outputs.
_Nodes = Generator[GraphNode, None, list[Origins]]


@dataclass(frozen=True, slots=True)
class AtenOrigin:
    """The ATen program that edge nodes came from: its graph id and its node names."""

    graph_id: int
    names: frozenset[str]


class GraphReader:
    """Reads the programs of one ETRecord; texts that many nodes share are parsed once."""

    def __init__(self, complain: Complain) -> None:
        self._complain = complain
        self._frames: dict[str, tuple[Frame, ...]] = {}
        self._modules: dict[str, Modules] = {}
        self._origins: dict[str, str] = {}

    def operators(
        self,
        program: Any,
        origin: AtenOrigin | None = None,
        instruction_handles: Mapping[int, tuple[int, ...]] | None = None,
        flows: NodeFlows | None = None,
    ) -> list[GraphNode]:
        """The nodes of an edge program that have a debug handle, including inner graphs.

        instruction_handles: for a program whose handles were overwritten by instruction ids, to
        translate them back. Nodes without an entry get `NO_HANDLE`, and so do those in branches,
        whose instruction ids start from 0 in each. flows: records the inputs of each node.
        """
        walk = _Walk(self, program, origin, False, instruction_handles, flows)
        return list(walk.nodes())

    def all_nodes(self, program: Any) -> list[GraphNode]:
        """All calls of a program; those without a debug handle have `NO_HANDLE`."""
        return list(_Walk(self, program, None, True, None).nodes())

    # -- called by _Walk ---------------------------------------------------------------------

    def complain(self, kind: str, where: str = "") -> None:
        self._complain(kind, where)

    def frames(self, stack_trace: str) -> tuple[Frame, ...]:
        if stack_trace not in self._frames:
            self._frames[stack_trace] = parse_frames(stack_trace)
        return self._frames[stack_trace]

    def modules(self, stack: str, names: frozenset[str]) -> Modules:
        if stack not in self._modules:
            decoded = modules_of(stack, names)
            if decoded is None:
                self._complain(
                    "the modules of a node are not clear, because of the letters in their names",
                    stack[:_MOST_SHOWN],
                )
            self._modules[stack] = UNKNOWN if decoded is None else decoded
        return self._modules[stack]

    def aten(self, from_node: str, origin: AtenOrigin) -> str:
        if str(origin.graph_id) not in from_node:
            return ""
        if from_node not in self._origins:
            try:
                self._origins[from_node] = _ancestor(Parsed(from_node).value, origin)
            except InvalidJson as error:
                self._complain("a node's from_node is not valid JSON", str(error))
                self._origins[from_node] = ""
        return self._origins[from_node]


class _Walk:
    """Converts one program to nodes."""

    def __init__(
        self,
        reader: GraphReader,
        program: Any,
        origin: AtenOrigin | None,
        keep_all: bool,
        instruction_handles: Mapping[int, tuple[int, ...]] | None,
        flows: NodeFlows | None = None,
    ) -> None:
        self._reader = reader
        self._program = program
        self._origin = origin
        self._keep_all = keep_all
        self._instructions = instruction_handles
        self._flows = flows or NodeFlows()
        self._module_paths = _module_paths(program)

    def nodes(self) -> Iterator[GraphNode]:
        return self._of_program(self._program, 0, self._instructions)

    def _of_program(
        self,
        program: Any,
        depth: int,
        instructions: Mapping[int, tuple[int, ...]] | None,
        branch: str = "",
        origins: Sequence[Origins] | None = None,
    ) -> _Nodes:
        module = mapping(mapping(program).get("graph_module"))
        signature_values = kept_values(mapping(module.get("signature")))
        graph = mapping(module.get("graph"))
        return self._of_graph(graph, depth, signature_values, instructions, branch, origins)

    def _of_graph(
        self,
        graph: dict[str, Any],
        depth: int,
        signature_values: Mapping[str, str],
        instructions: Mapping[int, tuple[int, ...]] | None,
        branch: str,
        origins: Sequence[Origins] | None = None,
    ) -> _Nodes:
        """Yield the nodes in order, those of inner graphs before the call that contains them.

        origins: the origins of its inputs, except parameters and the like. Returns those of its
        outputs.
        """
        if depth > _DEEPEST:
            self._reader.complain(f"graphs are nested more than {_DEEPEST} deep: left out")
            return []
        scope = GraphScope(sequence(graph.get("inputs")), signature_values, origins)
        values = GraphTensors(mapping(graph.get("tensor_values")), signature_values)
        names = NodeNames()
        allocated: set[str] = set()
        for argument in sequence(graph.get("inputs")):
            for name in value_names(argument):
                names.take(name)
        for raw in sequence(graph.get("nodes")):
            node = mapping(raw)
            target = text(node.get("target"))
            inputs = sequence(node.get("inputs"))
            arguments = [mapping(item).get("arg") for item in inputs]
            inner = yield from self._inside(arguments, target, depth, instructions, branch, scope)
            taken = united(scope.of_all(arguments))
            results = sequence(node.get("outputs"))
            name = names.of_node(node, target, results)
            metadata = mapping(node.get("metadata"))
            overwritten = None if target == _VIEW else instructions
            handle = self._handle(metadata, depth, overwritten)
            if target == _ALLOC:
                allocated.update(name for result in results for name in value_names(result))
            if target.endswith(_NOT_OPERATORS) or (handle is None and not self._keep_all):
                if target.endswith(_DELEGATE_CALL):
                    scope.put(results, inner)
                else:
                    scope.put_all(results, united([taken, *inner]))
                continue
            scope.put_all(results, self._flows.add(united([taken, *inner])))
            origin = self._origin
            yield GraphNode(
                name=name,
                op=op_name(target),
                debug_handle=NO_HANDLE if handle is None else handle,
                frames=self._reader.frames(text(metadata.get("stack_trace"))),
                modules=self._reader.modules(
                    text(metadata.get("nn_module_stack")), self._module_paths
                ),
                source_op=_source_op(metadata),
                inputs=_without(values.tensors(arguments), allocated),
                outputs=values.tensors(results),
                aten=self._reader.aten(text(metadata.get("from_node")), origin) if origin else "",
                branch=branch,
                settings=settings_of(inputs),
            )
        return scope.of_all(sequence(graph.get("outputs")))

    @staticmethod
    def _handle(
        metadata: dict[str, Any], depth: int, instructions: Mapping[int, tuple[int, ...]] | None
    ) -> int | None:
        handle = whole_number(metadata.get("debug_handle"))
        if handle is None or instructions is None:
            return handle
        original = instructions.get(handle, ()) if depth == 0 else ()
        return original[0] if len(original) == 1 else NO_HANDLE

    def _inside(
        self,
        arguments: list[Any],
        target: str,
        depth: int,
        instructions: Mapping[int, tuple[int, ...]] | None,
        branch: str,
        scope: GraphScope,
    ) -> _Nodes:
        """Yield the nodes of the graphs inside a node. Returns the origins of their results."""
        last = max((n for n, a in enumerate(arguments) if union(a)[0] == "as_graph"), default=-1)
        operands = arguments[last + 1 :] if last >= 0 else []
        rounds = Rounds(target, [scope.of(argument) for argument in operands])
        results: list[list[Origins]] = []
        for position, argument in enumerate(arguments):
            kind, content = union(argument)
            if kind == "as_graph":
                inner = mapping(mapping(content).get("graph"))
                part = _part(target, len(results))
                results.append(
                    (
                        yield from self._of_graph(
                            inner, depth + 1, {}, instructions, part, rounds.operands
                        )
                    )
                )
            elif kind == "as_string" and target.endswith(_DELEGATE_CALL):
                try:
                    lowered = Parsed(text(content))
                except InvalidJson as error:
                    self._reader.complain(
                        "a lowered module is not valid JSON: left out", str(error)
                    )
                    continue
                for warning in lowered.warnings:
                    self._reader.complain(warning, "lowered module")
                # Its nodes were never emitted one by one, so they keep their debug handles.
                original = mapping(lowered.value).get("original_module")
                origins = scope.of_all(arguments[position + 1 :])
                return (yield from self._of_program(original, depth + 1, None, branch, origins))
        if not results:
            return []
        rounds.hand_over(results[-1])
        return [origins for values in results for origins in values]


def results_of(program: Any) -> frozenset[str]:
    """The names of a program's outputs, including buffers that it mutates."""
    graph = mapping(mapping(mapping(program).get("graph_module")).get("graph"))
    return frozenset(n for value in sequence(graph.get("outputs")) for n in value_names(value))


def _module_paths(program: Any) -> frozenset[str]:
    """The paths of the modules that a program lists; not complete in programs exported again."""
    calls = sequence(mapping(mapping(program).get("graph_module")).get("module_call_graph"))
    return frozenset(text(mapping(call).get("fqn")) for call in calls)


def has_instruction_ids(program: Any) -> bool:
    """Whether `to_executorch()` overwrote the debug handles of this graph with instruction ids.

    It does so for a graph that was not copied before, and converts its operators to out variants.
    """
    graph = mapping(mapping(mapping(program).get("graph_module")).get("graph"))
    targets = [text(mapping(n).get("target")) for n in sequence(graph.get("nodes"))]
    return any(t == "memory.alloc" or _OUT_VARIANT.fullmatch(t) for t in targets)


def has_node_names(program: Any) -> bool:
    """Whether nodes have names, as they do since 1.0."""
    graph = mapping(mapping(mapping(program).get("graph_module")).get("graph"))
    return any("name" in mapping(node) for node in sequence(graph.get("nodes")))


def _without(tensors: tuple[Tensor, ...], room: set[str]) -> tuple[Tensor, ...]:
    """The tensors, except those that are memory for a result."""
    return tuple(t for t in tensors if t.name not in room) if room else tensors


def _part(target: str, number: int) -> str:
    """The name of a graph inside control flow: "true branch of cond", "body of map_impl"."""
    name = target.removeprefix(_HIGHER_ORDER)
    parts = _PARTS.get(name, ())
    return f"{parts[number] if number < len(parts) else 'body'} of {name}"


def _source_op(metadata: dict[str, Any]) -> str:
    """The source call: torch_fn "conv2d_1;builtin_function_or_method.conv2d" -> "conv2d"."""
    call = text(metadata.get("torch_fn")).partition(";")[2].partition(".")[2]
    return call.partition(".")[0]  # without the overload of "OpOverload.sym_size.int"


def _ancestor(from_node: Any, origin: AtenOrigin) -> str:
    """The name of the first ancestor that is a node of the ATen program, "" if none is."""
    todo = list(reversed(sequence(from_node)))
    while todo:
        node = mapping(todo.pop())
        name = node.get("name")
        same_graph = node.get("graph_id") == origin.graph_id
        if same_graph and isinstance(name, str) and name in origin.names:
            return name
        todo += reversed(sequence(node.get("from_node")))
    return ""
