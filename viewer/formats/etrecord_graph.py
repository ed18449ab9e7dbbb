"""The graphs of an ETRecord: torch's serialized export, read as graph nodes.

One program is one JSON object with the graph, its signature and its module list; the shape is the
same for the edge dialect and for ATen. Facts that are not in the text of the format:

* unions are one key per object since 0.4; in 0.1 to 0.3 all keys are there and the unset ones null;
  nightlies of torch 2.2 write {"$type", "$value"};
* nodes have names since 1.0. Before, a node is called like its only output, and one with several
  outputs is called as torch.fx would when it loads the program: the target with underscores, and
  _1, _2 where that is taken;
* a lowered module is a whole program as JSON text in the first input of its call, and branches of
  control flow are graphs inside inputs. Their nodes are members of the graph around them, and say
  in which branch they lie: the emitter maps no instruction to them;
* `from_node` is JSON text again, nested once per export pass. The ATen node is the ancestor whose
  graph is `export_graph_id`. That id is an address which may have been used again, so a name counts
  only if the ATen program has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from viewer.formats.etrecord_maps import Complain
from viewer.formats.json_values import NotJson, Parsed, mapping, sequence, text, whole_number
from viewer.program.graph import NO_HANDLE, Frame, GraphNode, Tensor, parse_frames

_DTYPES = {
    1: "u8", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "f16", 7: "f32", 8: "f64", 9: "c32",
    10: "c64", 11: "c128", 12: "bool", 13: "bf16", 14: "u16", 15: "f8e5m2", 16: "f8e4m3fn",
}  # fmt: skip
_DELEGATE_CALL = "executorch_call_delegate"
_NOT_OPERATORS = (_DELEGATE_CALL, "memory.alloc", "_operator.getitem")
_BRACKET = re.compile(r"[\[\]()]")
_BRACKET_OR_COMMA = re.compile(r"[\[\](),]")
_OUT_VARIANT = re.compile(r"torch\.ops\.\w+\.\w+\.\w*out")
_DEEPEST = 20
# The graphs inside the inputs of control flow, in order; a loop over slices has its body alone.
_PARTS = {"cond": ("true branch", "false branch"), "while_loop": ("condition", "body")}
# Views are no instructions of their own, so `to_executorch()` leaves them their debug handles.
_VIEW = "executorch.exir.memory.view"
_HIGHER_ORDER = "torch.ops.higher_order."
# torch's own mark on nodes that a pass made outside of any module.
_NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"
_TENSOR_LISTS = frozenset(("as_tensors", "as_nested_tensors", "as_optional_tensors"))
# What a placeholder stands for, by the kind of its input specification.
_KEPT_VALUES = {
    "parameter": "parameter_name",
    "buffer": "buffer_name",
    "tensor_constant": "tensor_constant_name",
}


@dataclass(frozen=True, slots=True)
class AtenOrigin:
    """The ATen program that edge nodes came from: its graph's id and its nodes' names."""

    graph_id: int
    names: frozenset[str]


class GraphReader:
    """Reads the programs of one record; texts that many nodes share are taken apart once."""

    def __init__(self, complain: Complain) -> None:
        self._complain = complain
        self._frames: dict[str, tuple[Frame, ...]] = {}
        self._modules: dict[str, tuple[tuple[str, str], ...]] = {}
        self._origins: dict[str, str] = {}

    def operators(
        self,
        program: Any,
        origin: AtenOrigin | None = None,
        instruction_handles: Mapping[int, tuple[int, ...]] | None = None,
    ) -> list[GraphNode]:
        """The nodes of an edge program that have a debug handle, inner graphs included.

        instruction_handles: given for a program whose handles were overwritten by instruction ids,
        to translate them back. Nodes that it does not have get `NO_HANDLE`, and so do those of
        branches, whose instruction ids count from 0 in each.
        """
        walk = _Walk(self, program, origin, False, instruction_handles)
        return list(walk.nodes())

    def all_nodes(self, program: Any) -> list[GraphNode]:
        """All calls of a program, those without a debug handle with `NO_HANDLE`."""
        return list(_Walk(self, program, None, True, None).nodes())

    # -- used by the walk --------------------------------------------------------------------

    def complain(self, kind: str, where: str = "") -> None:
        self._complain(kind, where)

    def frames(self, stack_trace: str) -> tuple[Frame, ...]:
        if stack_trace not in self._frames:
            self._frames[stack_trace] = parse_frames(stack_trace)
        return self._frames[stack_trace]

    def modules(self, stack: str) -> tuple[tuple[str, str], ...]:
        if stack not in self._modules:
            self._modules[stack] = tuple(_modules(stack))
        return self._modules[stack]

    def aten(self, from_node: str, origin: AtenOrigin) -> str:
        if str(origin.graph_id) not in from_node:
            return ""
        if from_node not in self._origins:
            try:
                self._origins[from_node] = _ancestor(Parsed(from_node).value, origin)
            except NotJson as error:
                self._complain("a node's from_node is not valid JSON", str(error))
                self._origins[from_node] = ""
        return self._origins[from_node]


class _Walk:
    """One program on its way to nodes."""

    def __init__(
        self,
        reader: GraphReader,
        program: Any,
        origin: AtenOrigin | None,
        keep_all: bool,
        instruction_handles: Mapping[int, tuple[int, ...]] | None,
    ) -> None:
        self._reader = reader
        self._program = program
        self._origin = origin
        self._keep_all = keep_all
        self._instructions = instruction_handles

    def nodes(self) -> Iterator[GraphNode]:
        return self._of_program(self._program, 0, self._instructions)

    def _of_program(
        self,
        program: Any,
        depth: int,
        instructions: Mapping[int, tuple[int, ...]] | None,
        branch: str = "",
    ) -> Iterator[GraphNode]:
        module = mapping(mapping(program).get("graph_module"))
        kept = _kept_values(mapping(module.get("signature")))
        return self._of_graph(mapping(module.get("graph")), depth, kept, instructions, branch)

    def _of_graph(
        self,
        graph: dict[str, Any],
        depth: int,
        kept: Mapping[str, str],
        instructions: Mapping[int, tuple[int, ...]] | None,
        branch: str,
    ) -> Iterator[GraphNode]:
        """The nodes in order, those of inner graphs before the call that holds them."""
        if depth > _DEEPEST:
            self._reader.complain(f"graphs are nested more than {_DEEPEST} deep: left out")
            return
        values = _Values(mapping(graph.get("tensor_values")), kept)
        names = _NodeNames()
        for argument in sequence(graph.get("inputs")):
            for name in _value_names(argument):
                names.take(name)
        for raw in sequence(graph.get("nodes")):
            node = mapping(raw)
            target = text(node.get("target"))
            arguments = [mapping(item).get("arg") for item in sequence(node.get("inputs"))]
            yield from self._inside(arguments, target, depth, instructions, branch)
            results = sequence(node.get("outputs"))
            name = names.of_node(node, target, results)
            metadata = mapping(node.get("metadata"))
            overwritten = None if target == _VIEW else instructions
            handle = self._handle(metadata, depth, overwritten)
            if target.endswith(_NOT_OPERATORS) or (handle is None and not self._keep_all):
                continue
            origin = self._origin
            yield GraphNode(
                name=name,
                op=_op_name(target),
                debug_handle=NO_HANDLE if handle is None else handle,
                frames=self._reader.frames(text(metadata.get("stack_trace"))),
                modules=self._reader.modules(text(metadata.get("nn_module_stack"))),
                source_op=_source_op(metadata),
                inputs=values.tensors(arguments),
                outputs=values.tensors(results),
                aten=self._reader.aten(text(metadata.get("from_node")), origin) if origin else "",
                branch=branch,
            )

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
    ) -> Iterator[GraphNode]:
        graphs = 0
        for argument in arguments:
            kind, content = union(argument)
            if kind == "as_graph":
                inner = mapping(mapping(content).get("graph"))
                part = _part(target, graphs)
                yield from self._of_graph(inner, depth + 1, {}, instructions, part)
                graphs += 1
            elif kind == "as_string" and target.endswith(_DELEGATE_CALL):
                try:
                    lowered = Parsed(text(content))
                except NotJson as error:
                    self._reader.complain(
                        "a lowered module is not valid JSON: left out", str(error)
                    )
                    continue
                for oddity in lowered.oddities:
                    self._reader.complain(oddity, "lowered module")
                # Its nodes were never emitted one by one: they keep their debug handles.
                original = mapping(lowered.value).get("original_module")
                yield from self._of_program(original, depth + 1, None, branch)


class _NodeNames:
    """The names of one graph's nodes, as torch.fx gives them out: each only once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def of_node(self, node: dict[str, Any], target: str, results: list[Any]) -> str:
        """The stated name, or that which loading the program would give."""
        stated = text(node.get("name"))
        if stated:
            return stated
        kind, content = union(results[0]) if len(results) == 1 else ("", None)
        if kind in ("as_tensor", "as_sym_int", "as_sym_bool", "as_sym_float"):
            only = text(mapping(content).get("name")) or text(mapping(content).get("as_name"))
            if only:
                return self.take(only)
        name = self.take(_fx_name(target))
        for result in results:
            for each in _value_names(result):
                self.take(each)
        return name

    def take(self, wanted: str) -> str:
        """The wanted name, or with the next free number behind it."""
        match = _NUMBERED.fullmatch(wanted)
        base = match[1] if match else wanted
        number = self._last.get(base, 0)
        if match and wanted not in self._taken:
            number = max(number, int(match[2]))
        name = wanted
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        self._last[base] = number
        return name


_NUMBERED = re.compile(r"([A-Za-z_]\w*?)_([0-9]{1,9})")
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NO_IDENTIFIER = re.compile(r"[^0-9A-Za-z_]+")


def _fx_name(target: str) -> str:
    """ "executorch.exir.dialects.edge.ops.aten.eq.Scalar" as "aten_eq_scalar"."""
    path = _op_name(target)
    if target.startswith("torch.ops."):  # an operator of torch is called without its namespace
        path = path.partition(".")[2]
    path = path.removeprefix("_operator.")
    return _NO_IDENTIFIER.sub("_", _INNER_CAPITAL.sub("_", path).lower()) or "_unnamed"


class _Values:
    """The tensors of one graph by name, each made once."""

    def __init__(self, described: dict[str, Any], kept: Mapping[str, str]) -> None:
        self._described = described
        self._kept = kept
        self._made: dict[str, Tensor] = {}

    def tensors(self, arguments: list[Any]) -> tuple[Tensor, ...]:
        names = [name for argument in arguments for name in _tensor_names(argument)]
        for name in names:
            if name not in self._made:
                self._made[name] = self._tensor(name)
        return tuple([self._made[name] for name in names])

    def _tensor(self, name: str) -> Tensor:
        meta = mapping(self._described.get(name))
        sizes = meta.get("sizes")
        shape = tuple(_size(s) for s in sizes) if isinstance(sizes, list) else None
        dtype = _DTYPES.get(whole_number(meta.get("dtype")) or 0, "")
        return Tensor(name, dtype, shape, self._kept.get(name, ""))


def union(value: Any) -> tuple[str, Any]:
    """(kind, content) of a tagged union in the encoding of any generation; ("", None) if unset."""
    if isinstance(value, dict):
        if "$type" in value:
            return text(value["$type"]), value.get("$value")
        for kind in value:
            if value[kind] is not None:
                return kind, value[kind]
    return "", None


def has_instruction_ids(program: Any) -> bool:
    """Whether `to_executorch()` overwrote the debug handles of this graph with instruction ids.

    It does so to a graph that was not copied before, and leaves its operators as out variants.
    """
    graph = mapping(mapping(mapping(program).get("graph_module")).get("graph"))
    targets = [text(mapping(n).get("target")) for n in sequence(graph.get("nodes"))]
    return any(t == "memory.alloc" or _OUT_VARIANT.fullmatch(t) for t in targets)


def has_node_names(program: Any) -> bool:
    """Whether nodes are named, as they are since 1.0."""
    graph = mapping(mapping(mapping(program).get("graph_module")).get("graph"))
    return any("name" in mapping(node) for node in sequence(graph.get("nodes")))


def _kept_values(signature: dict[str, Any]) -> dict[str, str]:
    """Placeholder -> path of the parameter, buffer or constant that it stands for."""
    found = {}
    for specification in sequence(signature.get("input_specs")):
        kind, content = union(specification)
        name = text(mapping(mapping(content).get("arg")).get("name"))
        path = text(mapping(content).get(_KEPT_VALUES.get(kind, "")))
        if name and path:
            found[name] = path
    return found


def _tensor_names(argument: Any) -> Sequence[str]:
    """The tensors that an argument names, itself or in lists."""
    kind, content = union(argument)
    if kind == "as_tensor":
        holders = [content]
    elif kind not in _TENSOR_LISTS:
        return ()
    elif kind == "as_tensors":
        holders = sequence(content)
    elif kind == "as_nested_tensors":
        holders = [t for inner in sequence(content) for t in sequence(inner)]
    else:
        pairs = [union(each) for each in sequence(content)]
        holders = [tensor for tag, tensor in pairs if tag == "as_tensor"]
    names = [mapping(holder).get("name") for holder in holders]
    return [name for name in names if isinstance(name, str)]


def _value_names(argument: Any) -> Iterator[str]:
    """The tensors and symbols that an argument names."""
    yield from _tensor_names(argument)
    symbol = mapping(union(argument)[1]).get("as_name")
    if isinstance(symbol, str):
        yield symbol


def _size(value: Any) -> int | str:
    """A number, or a symbol with the size it had when the model was exported: "s27 (8)"."""
    kind, content = union(value)
    if kind == "as_int" and isinstance(content, int):
        return content
    symbol = text(mapping(content).get("expr_str")) or "?"
    _, hint = union(mapping(content).get("hint"))
    return f"{symbol} ({hint})" if whole_number(hint) is not None else symbol


def _op_name(target: str) -> str:
    """ "executorch.exir.dialects.edge.ops.aten.relu.default" as "aten.relu.default"."""
    _, found, name = target.partition(".ops.")
    return name if found else target


def _part(target: str, number: int) -> str:
    """What the graph in an input of control flow is: "true branch of cond", "body of map_impl"."""
    name = target.removeprefix(_HIGHER_ORDER)
    parts = _PARTS.get(name, ())
    return f"{parts[number] if number < len(parts) else 'body'} of {name}"


def _source_op(metadata: dict[str, Any]) -> str:
    """The call in the source: torch_fn "conv2d_1;builtin_function_or_method.conv2d" -> "conv2d"."""
    call = text(metadata.get("torch_fn")).partition(";")[2].partition(".")[2]
    return call.partition(".")[0]  # without the overload of "OpOverload.sym_size.int"


def _modules(stack: str) -> Iterator[tuple[str, str]]:
    """(path, type) of nn_module_stack "key,path,type;..."; types may hold commas in brackets."""
    for entry in stack.split(";"):
        parts = entry.split(",") if _BRACKET.search(entry) is None else _cut_outside(entry)
        if len(parts) >= 3 and parts[1].strip() != _NO_MODULE:
            yield parts[1].strip(), parts[2].strip()


def _cut_outside(entry: str) -> list[str]:
    """An entry cut at the commas outside of brackets."""
    cuts, depth = [-1], 0
    for match in _BRACKET_OR_COMMA.finditer(entry):
        depth += (match[0] in "[(") - (match[0] in ")]")
        if match[0] == "," and depth <= 0:
            cuts.append(match.start())
    return [entry[a + 1 : b] for a, b in pairwise([*cuts, len(entry)])]


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
