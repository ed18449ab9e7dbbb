"""Exports a model: its program as the reader of ETRecords states it, constants and times.

Every operator keeps the identities of the lines that it came from, with the lines that called
these, the elements of lists and the passes of loops: two operators with a common identity are the
same, or parts of the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from tests.builders.edits.constants import contents
from tests.builders.edits.operators import (
    DELEGATED,
    KINDS,
    MODULES,
    TORCH_LINES,
    Shape,
    edge_of,
    parameters,
)
from tests.builders.edits.source import (
    Block,
    Layer,
    Line,
    Model,
    size_of,
)
from tests.builders.edits.texts import line_numbers, text_of
from viewer.program.dataflow import ExternalInput, MethodFlow
from viewer.program.debug_handles import DelegateMap
from viewer.program.frames import Frame
from viewer.program.program import GraphNode, Method, Operator, Program, Tensor, base_name

# The time of a call without work, and of an element of a result, in ns.
_CALL, _ELEMENT, _DELEGATED = 200, 0.9, 0.3


@dataclass(frozen=True)
class Stage:
    """An element of a list that ran. of: the list; uid: the element; operators: what it ran."""

    of: str
    uid: str
    operators: tuple[int, ...]


@dataclass(frozen=True)
class Exported:
    """A program, and what is true about it.

    identities: per operator. stages: the elements of all lists, in the order in which they ran.
    times: (method, instruction) -> ns. constants: path of a parameter -> its bytes.
    """

    program: Program
    identities: tuple[frozenset[str], ...]
    stages: tuple[Stage, ...]
    times: dict[tuple[str, int], int]
    constants: dict[str, bytes]


@dataclass(frozen=True)
class _Value:
    tensor: Tensor
    makers: frozenset[int] = frozenset()  # the operators that computed it

    @property
    def shape(self) -> Shape:
        assert self.tensor.shape is not None
        return tuple(map(int, self.tensor.shape))


@dataclass(frozen=True)
class _Place:
    """Where a call is: sizes, modules around it, frames above it, and identities of these."""

    path: str
    sizes: dict[str, int]
    modules: tuple[tuple[str, str], ...]
    frames: tuple[Frame, ...]
    chain: tuple[str, ...]


@dataclass
class _Draft:
    """An operator before it has an instruction."""

    kind: str
    nodes: list[GraphNode]
    takes: set[int]
    outside: list[ExternalInput]
    identities: frozenset[str]


def exported(model: Model) -> Exported:
    """Export a model."""
    return _Export(model).exported()


class _Export:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._lines = line_numbers(model)
        self._constants: dict[str, bytes] = {}
        self._stages: list[Stage] = []
        self._drafts: list[_Draft] = []
        self._names = Counter[str]()
        self._source_names = Counter[str]()
        self._first = 0  # of the method
        self._times: dict[tuple[str, int], int] = {}

    def exported(self) -> Exported:
        methods, identities = [], list[frozenset[str]]()
        for name, entry in self._model.entries.items():
            self._first, self._drafts = len(identities), []
            self._names.clear()
            self._source_names.clear()
            sizes = {**self._model.sizes, **entry.root.sizes}
            inputs = [
                _Value(Tensor(key, self._dtype, tuple(size_of(s, sizes) for s in shape)))
                for key, shape in entry.inputs.items()
            ]
            place = _Place("", sizes, (), (), (name,))
            results = self._block(entry.root, place, inputs)
            methods.append(self._method(name, [value.tensor.name for value in results]))
            identities += [draft.identities for draft in self._drafts]
        program = Program("/home/user/net.etrecord", "ETRecord", "1.2+", tuple(methods))
        return Exported(
            program, tuple(identities), tuple(self._stages), self._times, self._constants
        )

    @property
    def _dtype(self) -> str:
        return self._model.dtype

    # -- lines -------------------------------------------------------------------------------

    def _block(self, block: Block, place: _Place, inputs: Sequence[_Value]) -> list[_Value]:
        code = self._model.types[block.type]
        kind = f"{code.file.rpartition('/')[2].removesuffix('.py')}.{block.type}"
        place = replace(
            place,
            sizes={**place.sizes, **block.sizes},
            modules=(*place.modules, (place.path, kind)),
        )
        values = dict(zip(code.arguments, inputs, strict=False))
        numbers = iter(self._lines[block.type])
        results: list[_Value] = []
        for item in code.lines:
            number = next(numbers)
            if isinstance(item, Line):
                results = self._line(item, block, place, values, number, {})
                continue
            starts = list[int]()
            body = [(inner, next(numbers)) for inner in item.body]
            if item.over.startswith("self."):
                attribute = item.over.removeprefix("self.")
                elements = block.parts[attribute]
                assert isinstance(elements, list)
                for i, element in enumerate(elements):
                    starts.append(self._count)
                    inside = replace(place, chain=(*place.chain, element.uid))
                    names = {item.element: (element, f"{attribute}.{i}")}
                    for inner, number in body:
                        self._line(inner, block, inside, values, number, names, i)
                    operators = tuple(range(starts[-1], self._count))
                    of = "/".join((*place.chain, item.body[0].uid))
                    self._stages.append(Stage(of, element.uid, operators))
                continue
            for i in range(size_of(item.over, place.sizes)):
                inside = replace(place, chain=(*place.chain, str(i)))
                for inner, number in body:
                    self._line(inner, block, inside, values, number, {}, i)
        return results

    @property
    def _count(self) -> int:
        return self._first + len(self._drafts)

    def _line(
        self,
        line: Line,
        block: Block,
        place: _Place,
        values: dict[str, _Value],
        number: int,
        elements: dict[str, tuple[Block, str]],
        step: int = 0,
    ) -> list[_Value]:
        code = self._model.types[block.type]
        frame = Frame(code.file, number, "forward", text_of(line))
        inputs = [
            self._buffer(place, name) if name.startswith("self.") else values[name]
            for name in line.arguments
        ]
        inside = replace(place, frames=(*place.frames, frame))
        if line.call == "outputs":  # return a, b
            results = inputs
        elif line.attribute or line.call in elements:
            part: Layer | Block | list[Block]
            if line.attribute:
                part, path = block.parts[line.attribute], line.attribute
            else:
                part, path = elements[line.call]
            inside = replace(inside, path=f"{place.path}.{path}" if place.path else path)
            if isinstance(part, Layer):
                results = self._layer(part, line, inside, inputs)
            else:
                assert isinstance(part, Block)
                chain = (*place.chain, line.uid) if line.uid else place.chain
                results = self._block(part, replace(inside, chain=chain), inputs)
        elif line.call == "skip" and inputs[0].shape != inputs[1].shape:
            results = [inputs[1]]
        else:
            results = self._operator(line.call, line, inside, inputs, [], dict(line.settings), step)
        values.update(zip(line.results, results, strict=False))
        return results

    def _buffer(self, place: _Place, name: str) -> _Value:
        """A buffer of the module, as wide as the model: "self.gain"."""
        attribute = name.removeprefix("self.")
        path = f"{place.path}.{attribute}" if place.path else attribute
        shape = (place.sizes["c"],)
        self._keep(path, ("/".join(place.chain),), "weight", shape)
        return _Value(Tensor("b_" + path.replace(".", "_"), self._dtype, shape, path))

    def _layer(self, layer: Layer, line: Line, place: _Place, inputs: list[_Value]) -> list[_Value]:
        kind, path = layer.kind, place.path
        taken = inputs[0].shape[1 if kind in ("conv", "batch_norm") else -1]
        settings: dict[str, int | str] = {**layer.settings}
        if kind in ("conv", "linear", "embedding"):
            settings["out"] = taken if layer.out is None else size_of(layer.out, place.sizes)
        if settings.get("groups") == 0:  # depthwise
            settings["groups"] = settings["out"] = taken
        if "count" in settings:
            settings["count"] = size_of(settings["count"], place.sizes)
        type_ = KINDS[kind].layer or MODULES[kind]
        place = replace(place, modules=(*place.modules, (path, type_)))
        if kind in TORCH_LINES:
            file, number, text = TORCH_LINES[kind]
            frames = (*place.frames, Frame(file, number, "forward", text))
            place = replace(place, frames=frames)
        keeps = []
        for name, role, shape in parameters(kind, taken, settings):
            self._keep(f"{path}.{name}", layer.weights or (path,), role, shape)
            letter = "b" if name.startswith("running") else "p"
            tensor = Tensor(
                f"{letter}_{path}.{name}".replace(".", "_"), self._dtype, shape, f"{path}.{name}"
            )
            keeps.append(tensor)
        if self._model.quantized and kind in ("conv", "linear"):
            for name in ("quantize", "dequantize"):
                made = self._operator(name, replace(line, uid="", origins=()), place, inputs, [],
                                      {}, 0)  # fmt: skip
                dtype = "i8" if name == "quantize" else self._dtype
                self._retype(made[0], dtype)
                inputs = [replace(made[0], tensor=replace(made[0].tensor, dtype=dtype))]
        return self._operator(kind, line, place, inputs, keeps, settings, 0)

    def _retype(self, value: _Value, dtype: str) -> None:
        draft = self._drafts[-1]
        tensor = replace(value.tensor, dtype=dtype)
        draft.nodes[-1] = replace(draft.nodes[-1], outputs=(tensor,))

    def _keep(self, path: str, weights: tuple[str, ...], role: str, shape: Shape) -> None:
        self._constants[path] = contents(self._model, path, weights, role, shape)

    # -- operators ---------------------------------------------------------------------------

    def _operator(
        self,
        kind: str,
        line: Line,
        place: _Place,
        inputs: list[_Value],
        keeps: list[Tensor],
        settings: dict[str, int | str],
        step: int,
    ) -> list[_Value]:
        about = KINDS[kind]
        index = self._count
        shapes = about.shapes([value.shape for value in inputs], settings)
        aten = _numbered(self._source_names, about.source)
        edge = edge_of(kind, len(inputs[0].shape), self._model.partition)
        tensors = [value.tensor for value in inputs]
        nodes: list[GraphNode] = []
        recorded = _recorded_settings(kind, settings, step)
        for number, op in enumerate(edge):
            is_last = number == len(edge) - 1
            name = _numbered(self._names, op.replace(".", "_").lower())
            results: tuple[Tensor, ...]
            if not is_last:
                results = (Tensor(name, self._dtype, inputs[0].shape),)
            elif len(shapes) > 1 or kind in ("batch_norm", "layer_norm"):
                results = tuple(
                    Tensor(_numbered(self._names, "getitem"), self._dtype, shape)
                    for shape in shapes
                )
            else:
                results = (Tensor(name, self._dtype, shapes[0]),)
            if op == "aten.permute_copy.default" and kind == "linear":
                takes = [t for t in keeps if t.name.endswith("weight")]
                results = (Tensor(name, self._dtype, (keeps[0].shape or ())[::-1]),)
            elif op == "aten.addmm.default":
                flat = [*nodes[-1].outputs, *(nodes[0].outputs if len(nodes) > 1 else tensors)]
                takes = [*(t for t in keeps if t.name.endswith("bias")), *flat]
                rows = prod(shapes[0][:-1])
                results = (Tensor(name, self._dtype, (rows, shapes[0][-1])),)
            elif nodes:
                takes = list(nodes[-1].outputs) + (
                    tensors[1:] if op.endswith("bmm.default") else []
                )
            else:
                takes = [*tensors, *keeps]
            nodes.append(
                GraphNode(
                    name, op, index - self._first + 1, place.frames, place.modules, about.source,
                    tuple(takes), results, aten, settings=recorded if is_last else (),
                    position=sum(len(draft.nodes) for draft in self._drafts) + number,
                )
            )  # fmt: skip
        makers = frozenset().union(*(value.makers for value in inputs))
        outside = [
            ExternalInput(tensor.parameter or tensor.name, bool(tensor.parameter))
            for tensor in [*(v.tensor for v in inputs if not v.makers), *keeps]
        ]
        names = line.stands_for if line.uid else ()
        identities = frozenset("/".join((*place.chain, name)) for name in names)
        self._drafts.append(_Draft(kind, nodes, set(makers), outside, identities))
        return [_Value(tensor, frozenset((index,))) for tensor in nodes[-1].outputs]

    # -- instructions ------------------------------------------------------------------------

    def _method(self, name: str, results: list[str]) -> Method:
        handles: dict[int, tuple[int, ...]] = {}
        delegates: dict[int, DelegateMap] = {}
        operators, consumers, producers = [], [], []
        outside: dict[int, tuple[ExternalInput, ...]] = {}
        delegated = DELEGATED[self._model.partition]
        call: list[int] = []
        call_time = 0.0

        def close() -> None:
            nonlocal call_time
            if call:
                delegates[len(handles)] = DelegateMap("XnnpackBackend", {})
                self._times[name, len(handles)] = round(_CALL + call_time)
                handles[len(handles)] = tuple(call)
                call.clear()
                call_time = 0.0

        for number, draft in enumerate(self._drafts):
            index = self._first + number
            operators.append(Operator(index, name, number + 1, tuple(draft.nodes)))
            for producer in sorted(draft.takes):
                consumers.append(index)
                producers.append(producer)
            if draft.outside:
                outside[index] = tuple(draft.outside)
            work = [_work(draft, node) for node in draft.nodes]
            if draft.kind in delegated:
                call.append(number + 1)
                call_time += _DELEGATED * sum(work)
                continue
            close()
            for elements in work:
                self._times[name, len(handles)] = round(_CALL + elements)
                handles[len(handles)] = (number + 1,)
        close()
        flow = MethodFlow(tuple(consumers), tuple(producers), outside)
        return Method(name, tuple(operators), handles, delegates, flow=flow,
                      results=frozenset(results))  # fmt: skip


def _work(draft: _Draft, node: GraphNode) -> float:
    """The time of a node without that of the call, in ns."""
    elements = sum(prod(map(int, tensor.shape or ())) for tensor in node.outputs)
    is_moving = base_name(node.op).endswith("_copy")
    return elements * _ELEMENT * (1 if is_moving else KINDS[draft.kind].cost)


def _recorded_settings(
    kind: str, settings: dict[str, int | str], step: int
) -> tuple[tuple[str, bool | int | float | tuple[bool | int | float, ...]], ...]:
    if kind == "conv":
        stride, groups = int(settings.get("stride", 1)), int(settings.get("groups", 1))
        around = int(settings.get("kernel", 3)) // 2
        return (
            ("stride", (stride, stride)), ("padding", (around, around)), ("dilation", (1, 1)),
            ("transposed", False), ("output_padding", (0, 0)), ("groups", groups),
        )  # fmt: skip
    if kind in ("select", "weight"):
        return ("dim", 1), ("index", step)
    return tuple(
        (name, value)
        for name, value in settings.items()
        if isinstance(value, int) and name in ("factor", "value")
    )


def _numbered(names: Counter[str], name: str) -> str:
    """A name with its number among the equal ones, as torch numbers them."""
    number = names[name]
    names[name] += 1
    return f"{name}_{number}" if number else name
