"""ETRecord: what ExecuTorch's export wrote about the model, read as a `Program`.

A record is a ZIP of JSON members; see the ExecuTorch sources, devtools/etrecord. Read here: the
edge dialect graph of every method (one flat member up to 1.1, one per method since 1.2), the debug
handle map and the delegate map, lowered modules (JSON nested as a string) and control-flow
subgraphs. Never read: members that are pickles (weights, constants, inputs, reference outputs). The
ATen program and extra graphs are not needed for links and are left alone.

Rules that the format does not state and that its real files need:

* a record of one method may store it as "forward" while its maps use the method's own name;
* a record saved half-way is a valid ZIP without maps: it opens with a problem;
* `to_executorch()` overwrites the handles of a graph that was not copied. Such a graph has `.out`
  operators; its handles are instruction ids, and are linked as such.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from viewer.formats import Cancelled, Format, Progress, ReadCancelled, UnreadableFile
from viewer.model.trace import Problem
from viewer.program.debug_handles import DelegateMap
from viewer.program.graph import GraphNode, Method, Operator, Program, Tensor, parse_frames

MAGIC = "ETRECORD_V0"
EDGE = "edge_dialect_exported_program"
_BLOBS = ("_state_dict", "_constants", "_example_inputs")
# The largest real member known is 90 MB; a JSON text costs about four times its size once parsed.
_MAX_MEMBER = 1 << 30
# Members are stored, not packed; a record that was zipped again packs about 1 : 10.
_MAX_RATIO = 50
# Base64 weights inside a lowered module: blanked before parsing, since they are most of its bytes.
_WEIGHTS = re.compile(
    rb'(\\{1,7}"(?:processed_bytes|original_state_dict|original_constants|named_data_store)'
    rb'\\{1,7}": \\{1,7}")'
    rb"[A-Za-z0-9+/=]+"
)
_DTYPES = {
    1: "u8", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "f16", 7: "f32", 8: "f64", 9: "c32",
    10: "c64", 11: "c128", 12: "bool", 13: "bf16", 14: "u16", 15: "f8e5m2", 16: "f8e4m3fn",
}  # fmt: skip
# All that zipfile and its decompressors raise for a damaged or an encrypted archive.
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError, RuntimeError,
    ValueError, OverflowError,
)  # fmt: skip
_NOT_OPERATORS = ("executorch_call_delegate", "memory.alloc", "_operator.getitem")
_OUT_VARIANT = re.compile(r"torch\.ops\.\w+\.\w+\.\w*out")


def sniff(head: bytes) -> bool:
    """A ZIP whose first members carry the names of a record's."""
    return head.startswith(b"PK\x03\x04") and (
        MAGIC.encode() in head or EDGE.encode() in head or b"debug_handle_map" in head
    )


def read(path: str, progress: Progress, cancelled: Cancelled) -> Program:
    """Read a record; what is missing or odd in it becomes a counted problem."""
    return _Reader(path, progress, cancelled).program()


FORMAT = Format("ETRecord", (".etrecord", ".bin"), "program", sniff, read)


class _Reader:
    """One record while it is read."""

    def __init__(self, path: str, progress: Progress, cancelled: Cancelled) -> None:
        self.path = path
        self._progress = progress
        self._cancelled = cancelled
        self._problems: dict[str, tuple[int, str]] = {}

    def program(self) -> Program:
        try:
            with zipfile.ZipFile(self.path) as archive:
                members = {info.filename: info for info in archive.infolist()}
                texts = self._texts(archive, members)
        except _DAMAGED as error:
            raise UnreadableFile(
                self.path,
                f"the ZIP archive of the record is damaged ({error})",
                remedy="Copy or save the record again",
            ) from error
        handle_maps = _mapping(self._json(texts, "debug_handle_map"))
        delegate_maps = _mapping(self._json(texts, "delegate_map"))
        if "debug_handle_map" not in texts:
            self._problem("the record has no debug_handle_map, so slices cannot be linked to it")
        programs = {
            name: self._json(texts, member)
            for name, member in self._edge_members(texts, list(handle_maps)).items()
        }
        if not programs and not handle_maps:
            raise UnreadableFile(
                self.path,
                "the record has neither an edge dialect program nor a debug handle map",
                remedy="Its save failed before the first program: export it again",
            )
        methods: list[Method] = []
        first = 0
        for name in dict.fromkeys([*programs, *handle_maps]):
            method = self._method(
                name, first, programs.get(name), handle_maps.get(name), delegate_maps.get(name)
            )
            first += len(method.operators)
            methods.append(method)
        return Program(
            path=self.path,
            format=FORMAT.name,
            generation=self._generation(texts, programs),
            methods=tuple(methods),
            problems=tuple(Problem(k, n, where) for k, (n, where) in self._problems.items()),
        )

    # -- members -----------------------------------------------------------------------------

    def _texts(
        self, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]
    ) -> dict[str, bytes]:
        """The JSON members that are needed, weights blanked. Sizes are checked before reading."""
        wanted = [
            name
            for name in members
            if (name == EDGE or name.startswith(EDGE + "/")) and not _is_blob(name, members)
        ]
        wanted += [
            n for n in ("debug_handle_map", "delegate_map", "export_graph_id",
                        "instruction_id_to_num_outs_map") if n in members
        ]  # fmt: skip
        total = sum(members[n].file_size for n in wanted)
        # Members may share their bytes in the file, so they are counted together.
        if total > _MAX_RATIO * os.path.getsize(self.path):
            raise UnreadableFile(
                self.path,
                f"its members would unpack to {total:,} bytes",
                remedy="Records store their members unpacked: this one was not made by export",
            )
        done = 0
        texts = {}
        for name in wanted:
            if self._cancelled():
                raise ReadCancelled
            info = members[name]
            if info.file_size > _MAX_MEMBER:
                raise UnreadableFile(
                    self.path,
                    f"the member would unpack to {info.file_size:,} bytes",
                    where=name,
                    remedy="Records store their members unpacked: this one was not made by export",
                )
            raw = archive.read(info)
            texts[name] = _WEIGHTS.sub(rb"\1", raw) if b"processed_bytes" in raw else raw
            done += len(raw)
            self._progress(done, total)
        return texts

    def _json(self, texts: dict[str, bytes], name: str) -> Any:
        if name not in texts:
            return None
        try:
            return json.loads(texts[name])
        except (ValueError, RecursionError) as error:
            self._problem("a member is not valid JSON and was left out", f"{name}: {error}")
            return None

    @staticmethod
    def _edge_members(texts: dict[str, bytes], mapped: list[str]) -> dict[str, str]:
        """method name -> member that holds its graph."""
        found = {n[len(EDGE) + 1 :]: n for n in texts if n.startswith(EDGE + "/")}
        if EDGE in texts:
            found["forward"] = EDGE
        if len(found) == 1 and mapped and not set(found) & set(mapped):
            # One method called `encode` is stored as "forward" while the maps say "encode".
            return {mapped[0]: next(iter(found.values()))}
        return found

    @staticmethod
    def _generation(texts: dict[str, bytes], programs: dict[str, Any]) -> str:
        if any(name.startswith(EDGE + "/") for name in texts):
            return "1.2+"
        if "export_graph_id" in texts or "instruction_id_to_num_outs_map" in texts:
            return "1.0-1.1"
        version = _mapping(next(iter(programs.values()), None)).get("schema_version")
        major = _int(_mapping(version).get("major")) or 0
        return "0.4-0.7" if major >= 5 else "0.1-0.3"

    def _problem(self, kind: str, first: str = "", count: int = 1) -> None:
        had, where = self._problems.get(kind, (0, first))
        self._problems[kind] = (had + count, where)

    # -- one method --------------------------------------------------------------------------

    def _method(
        self, name: str, first: int, program: Any, handle_map: Any, delegate_map: Any
    ) -> Method:
        if self._cancelled():
            raise ReadCancelled
        graph = _mapping(_mapping(_mapping(program).get("graph_module")).get("graph"))
        nodes = list(self._nodes(graph, 0))
        if program is not None and not nodes:
            self._problem("a method's graph has no operators", name)
        handles = {}
        for key, value in _mapping(handle_map).items():
            instruction, ids = _int(key), _handles(value)
            if instruction is None or ids is None:
                self._problem(
                    "an entry of debug_handle_map is not instruction -> handles", str(key)
                )
            else:
                handles[instruction] = ids
        if _has_out_variants(graph):
            self._problem(
                "the record was made without deepcopy: its graph carries instruction ids instead "
                "of debug handles, and is linked by them",
                name,
            )
            handles = {n.debug_handle: (n.debug_handle,) for n in nodes}
        members: dict[int, list[GraphNode]] = {}
        for node in nodes:
            members.setdefault(node.debug_handle, []).append(node)
        return Method(
            name=name,
            operators=tuple(
                Operator(first + i, name, handle, tuple(group))
                for i, (handle, group) in enumerate(members.items())
            ),
            handles=handles,
            delegates=self._delegates(delegate_map),
        )

    def _delegates(self, value: Any) -> dict[int, DelegateMap]:
        delegates = {}
        for key, entry in _mapping(value).items():
            instruction = _int(key)
            if instruction is None or not isinstance(entry, dict):
                self._problem("an entry of delegate_map is not instruction -> map", str(key))
                continue
            raw = entry.get("delegate_map")
            entries: dict[str, tuple[int, ...]] | None = None
            if isinstance(raw, dict):
                entries = {}
                for identifier, ids in raw.items():
                    known = _handles(ids)
                    if known is None:
                        self._problem("an identifier's debug handles are not numbers", identifier)
                    else:
                        entries[identifier] = known
            delegates[instruction] = DelegateMap(_text(entry.get("name")), entries)
        return delegates

    def _nodes(self, graph: dict[str, Any], depth: int) -> Iterator[GraphNode]:
        """The operators of a graph in order, with those of lowered modules and branches inside."""
        if depth > 20:
            self._problem("graphs are nested more than 20 deep: the rest was left out")
            return
        tensors = _mapping(graph.get("tensor_values"))
        for raw in _sequence(graph.get("nodes")):
            node = _mapping(raw)
            target = _text(node.get("target"))
            yield from self._inner_nodes(node, target, depth)
            metadata = _mapping(node.get("metadata"))
            handle = _int(metadata.get("debug_handle"))
            if handle is None or target.endswith(_NOT_OPERATORS):
                continue
            outputs = tuple(_tensors(_sequence(node.get("outputs")), tensors))
            yield GraphNode(
                name=_text(node.get("name")) or (outputs[0].name if outputs else target),
                op=_op_name(target),
                debug_handle=handle,
                frames=parse_frames(_text(metadata.get("stack_trace"))),
                modules=tuple(_modules(_text(metadata.get("nn_module_stack")))),
                source_op=_source_op(metadata),
                inputs=tuple(
                    _tensors(
                        [_mapping(i).get("arg") for i in _sequence(node.get("inputs"))], tensors
                    )
                ),
                outputs=outputs,
            )

    def _inner_nodes(self, node: dict[str, Any], target: str, depth: int) -> Iterator[GraphNode]:
        for item in _sequence(node.get("inputs")):
            argument = _mapping(_mapping(item).get("arg"))
            inner = argument.get("as_graph")
            if isinstance(inner, dict):
                yield from self._nodes(_mapping(inner.get("graph")), depth + 1)
            text = argument.get("as_string")
            if isinstance(text, str) and target.endswith("executorch_call_delegate"):
                try:
                    lowered = _mapping(json.loads(text))
                except (ValueError, RecursionError) as error:
                    self._problem("a lowered module is not valid JSON and was left out", str(error))
                    continue
                original = _mapping(lowered.get("original_module"))
                module = _mapping(original.get("graph_module"))
                yield from self._nodes(_mapping(module.get("graph")), depth + 1)


def _is_blob(name: str, members: dict[str, zipfile.ZipInfo]) -> bool:
    # A method may be called `update_state_dict`: only a suffix on top of another member is a blob.
    return any(name.endswith(suffix) and name[: -len(suffix)] in members for suffix in _BLOBS)


def _has_out_variants(graph: dict[str, Any]) -> bool:
    targets = [_text(_mapping(n).get("target")) for n in _sequence(graph.get("nodes"))]
    return any(t == "memory.alloc" or _OUT_VARIANT.fullmatch(t) for t in targets)


def _op_name(target: str) -> str:
    """ "executorch.exir.dialects.edge.ops.aten.relu.default" as "aten.relu.default"."""
    _, found, name = target.partition(".ops.")
    name = name if found else target
    return name.partition("edge.ops.")[2] or name


def _source_op(metadata: dict[str, Any]) -> str:
    """The call in the source: torch_fn "conv2d_1;builtin_function_or_method.conv2d" -> "conv2d"."""
    return _text(metadata.get("torch_fn")).partition(";")[2].rpartition(".")[2]


def _modules(stack: str) -> Iterator[tuple[str, str]]:
    """(path, type) of nn_module_stack "key,path,type;..."; types may hold commas in brackets."""
    for entry in stack.split(";"):
        parts: list[str] = [""]
        depth = 0
        for char in entry:
            depth += (char in "[(") - (char in ")]")
            if char == "," and depth <= 0:
                parts.append("")
            else:
                parts[-1] += char
        if len(parts) >= 3:
            yield parts[1].strip(), parts[2].strip()


def _tensors(arguments: list[Any], values: dict[str, Any]) -> Iterator[Tensor]:
    for argument in arguments:
        union = _mapping(argument)
        names = [_mapping(union.get("as_tensor")).get("name")]
        names += [_mapping(t).get("name") for t in _sequence(union.get("as_tensors"))]
        for name in names:
            if isinstance(name, str):
                meta = _mapping(values.get(name))
                sizes = meta.get("sizes")
                shape = tuple(_size(s) for s in sizes) if isinstance(sizes, list) else None
                yield Tensor(name, _DTYPES.get(_int(meta.get("dtype")) or 0, ""), shape)


def _size(value: Any) -> int | str:
    size = _mapping(value)
    number = size.get("as_int")
    if isinstance(number, int):
        return number
    return _text(_mapping(size.get("as_expr")).get("expr_str")) or "?"


# -- JSON values of any type, hostile ones included -----------------------------------------------


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _sequence(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _int(value: Any) -> int | None:
    """A whole number of at most 63 bits, given as a number or as decimal text."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63:
        return value
    return None


def _handles(value: Any) -> tuple[int, ...] | None:
    found = [_int(v) for v in (value if isinstance(value, list) else [value])]
    known = [v for v in found if v is not None]
    return tuple(known) if len(known) == len(found) else None
