"""What the official Inspector reads from an ETRecord, raw: the maps of `forward` and its graph.

Unlike in `viewer.formats.executorch.etrecord.reader`, everything stays as in the file: keys are
strings in file order (the last key that is a substring of an identifier wins), and only the nodes
of the outer graph count. `InspectorError` is raised for what the Inspector cannot load, in the
order in which it would find the errors.

No pickle is loaded: for a member that the Inspector loads as one, the first bytes show whether it
could. Of `reference_outputs`, a dict from method to a list with one entry per bundled input, only
lists and dicts are followed, opcode by opcode; nothing else is created, and nothing is called.
"""

from __future__ import annotations

import json
import os
import pickletools
import re
import zipfile
from typing import IO, Any

from viewer.codecs.json_values import memory_needed
from viewer.codecs.memory_budget import allowance
from viewer.codecs.reading import UnreadableFile
from viewer.dataclasses import dataclass
from viewer.formats import within_memory
from viewer.formats.executorch.etrecord.archive import (
    ATEN,
    BLOBS,
    DAMAGED,
    DEBUG_HANDLES,
    DELEGATES,
    EDGE,
    EXPORT_GRAPH,
    MAGIC,
    MOST_RATIO,
    NUMBER_OF_OUTPUTS,
)

_PICKLE = "data.pkl"
_MARK: Any = object()
_UNKNOWN: Any = None
# What reading a damaged archive or pickle raises.
_DAMAGED = (
    zipfile.BadZipFile, ValueError, KeyError, IndexError, EOFError, NotImplementedError, TypeError,
)  # fmt: skip


class NoReferenceOutputs(Exception):
    """The member is no archive of torch.save, or its pickle is damaged."""


def counts_of(member: IO[bytes]) -> dict[str, int]:
    """Return the number of reference outputs per method. Raises NoReferenceOutputs."""
    try:
        with zipfile.ZipFile(member) as archive:
            name = next(n for n in archive.namelist() if n.rpartition("/")[2] == _PICKLE)
            if archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
                raise NoReferenceOutputs("torch.save packs nothing")
            counts = _value(read_member(archive, name))
        if not all(isinstance(method, str) for method in counts):
            raise NoReferenceOutputs("a method has no name")
        return {method: len(outputs) for method, outputs in counts.items()}
    except (*_DAMAGED, AttributeError, StopIteration) as error:
        raise NoReferenceOutputs(str(error)) from error


def read_member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a member of an archive. Raises BadZipFile or EOFError if it has another size.

    `ZipFile.read` takes as much memory as the packed size that the archive states, which may be
    more than the file has.
    """
    size = archive.getinfo(name).file_size
    with archive.open(name) as member:
        raw = member.read(size)
        if len(raw) != size or member.read(1):
            raise zipfile.BadZipFile(f"{name} has another size than the archive states")
    return raw


def _value(raw: bytes) -> Any:
    """Return the lists, dicts and strings of a pickle; None in place of all other values."""
    stack: list[Any] = []
    memo: dict[Any, Any] = {}
    for opcode, argument, _ in pickletools.genops(raw):
        name = opcode.name
        if name == "MARK":
            stack.append(_MARK)
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name in ("APPEND", "SETITEM"):
            taken = _pop(stack, 1 if name == "APPEND" else 2)
            _fill(stack[-1], taken)
        elif name in ("APPENDS", "SETITEMS"):
            taken = _pop_to_mark(stack)
            _fill(stack[-1], taken)
        elif name == "STOP":
            break
        else:
            before = opcode.stack_before
            if pickletools.markobject in before:
                taken = _pop_to_mark(stack)
                _pop(stack, before.index(pickletools.markobject))
            else:
                taken = _pop(stack, len(before))
            stack += [_pushed(name, argument, taken) for _ in opcode.stack_after]
    return stack.pop()


def _pop(stack: list[Any], count: int) -> list[Any]:
    if len(stack) < count:
        raise IndexError("the pickle takes more than it has")
    taken = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    return taken


def _pop_to_mark(stack: list[Any]) -> list[Any]:
    mark = len(stack) - 1 - stack[::-1].index(_MARK)
    taken = stack[mark + 1 :]
    del stack[mark:]
    return taken


def _fill(target: Any, taken: list[Any]) -> None:
    """Add values to a list, or keys and values to a dict, if the target is one."""
    if isinstance(target, list):
        target += taken
    elif isinstance(target, dict):
        target.update(zip(taken[::2], taken[1::2], strict=True))


def _pushed(name: str, argument: Any, taken: list[Any]) -> Any:
    if name in ("EMPTY_LIST", "LIST"):
        return list(taken)
    if name in ("EMPTY_DICT", "DICT"):
        return dict(zip(taken[::2], taken[1::2], strict=True))
    return argument if isinstance(argument, str) and "UNICODE" in name else _UNKNOWN


VERSION = "1.5.1"


class InspectorError(Exception):
    """The official Inspector raises here: `kind` is its exception's name, `text` its message."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"Inspector {VERSION} stops here with {kind}: {text}")
        self.kind = kind
        self.text = text


FORWARD = "forward"
_PLAIN = (DEBUG_HANDLES, DELEGATES, NUMBER_OF_OUTPUTS, EXPORT_GRAPH)
_REFERENCES = "reference_outputs"
_PICKLES = (_REFERENCES, "representative_inputs")
_EDGE_OP = "executorch.exir.dialects.edge.ops."
# Views of a graph without deepcopy lose their metadata when the Inspector loads it.
_NOT_OPERATORS = ("memory.alloc", "exir.memory.view", "_operator.getitem")
# JSON with another structure than an ETRecord's; too deep nesting is a RuntimeError.
_OTHER_SHAPE = (RuntimeError, ValueError, AttributeError, TypeError, KeyError, OverflowError)

Handles = int | list[int]


@dataclass(frozen=True, slots=True)
class InspectorDelegate:
    """One delegate call: its backend's name, and a map from identifier (as text) to handles."""

    backend: str
    entries: dict[str, Handles]


@dataclass(frozen=True, slots=True)
class InspectorRecord:
    """The data that links events: the maps of `forward` and the operators of the graph.

    handles: instruction -> handle or handles; delegates: instruction -> its map; both keyed by
    text. ops: debug handle -> the op of each of its nodes, in graph order. references: method ->
    the number of its reference outputs, None if the ETRecord has none.
    """

    handles: dict[str, Handles]
    delegates: dict[str, InspectorDelegate]
    ops: dict[int, list[str]]
    references: dict[str, int] | None = None

    def check_reference(self, bundled_input: int) -> None:
        """Raise InspectorError if there is no reference output for the input of an event block.

        The Inspector looks up an index of -1, that of a run without a bundled input, like any
        other: it gets the last one.
        """
        if self.references is None:
            return
        if FORWARD not in self.references:
            raise InspectorError("KeyError", "'forward'")
        count = self.references[FORWARD]
        if not -count <= bundled_input < count:
            raise InspectorError(
                "IndexError",
                f"list index out of range (reference output {bundled_input} of {count}, for the "
                f"bundled input of a run)",
            )


class LoadedRecord:
    """An ETRecord that the Inspector can load; whether it can link is only known with an ETDump."""

    def __init__(
        self, path: str, maps: dict[str, Any], graphs: dict[str, Any],
        references: dict[str, int] | None = None,
    ) -> None:  # fmt: skip
        self._path, self._maps, self._graphs = path, maps, graphs
        self._references = references

    def forward(self) -> InspectorRecord:
        """Return the data to link with. Raises InspectorError where the Inspector would fail.

        Raises UnreadableFile if the maps are malformed.
        """
        try:
            return self._forward()
        except _OTHER_SHAPE as error:
            reason = f"its maps are not those of a record ({error})"
            raise UnreadableFile(self._path, reason) from error

    def _forward(self) -> InspectorRecord:
        stated = _of_forward(self._maps.get(DEBUG_HANDLES))
        handles = {key: _handles(value) for key, value in stated.items()}
        delegates = {}
        if self._maps.get(DELEGATES) is not None:
            for key, entry in _of_forward(self._maps[DELEGATES]).items():
                if entry is not None:
                    entries = (entry.get("delegate_map") or {}).items()
                    delegates[key] = InspectorDelegate(
                        str(entry.get("name", "")), {k: _handles(v) for k, v in entries}
                    )
        _of_forward(self._maps.get(NUMBER_OF_OUTPUTS))
        methods = [g for n, g in self._graphs.items() if n == EDGE or n.startswith(f"{EDGE}/")]
        if not methods:
            raise InspectorError("KeyError", "'edge_dialect_graph_module'")
        if len(methods) > 1:
            raise InspectorError("AttributeError", "'dict' object has no attribute 'graph_module'")
        return InspectorRecord(handles, delegates, _ops(methods[0]), self._references)


def read(path: str) -> LoadedRecord:
    """Load an ETRecord like the Inspector. Raises UnreadableFile or InspectorError."""
    try:
        with zipfile.ZipFile(path) as archive, within_memory(path):
            return _read(path, archive)
    except zipfile.BadZipFile as error:
        raise UnreadableFile(path, "the ZIP archive of the record is damaged") from error
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error
    except (*DAMAGED, *_OTHER_SHAPE) as error:
        raise UnreadableFile(path, f"a member of the record is damaged ({error})") from error


def _read(path: str, archive: zipfile.ZipFile) -> LoadedRecord:
    names = archive.namelist()
    if MAGIC not in names:
        raise InspectorError("RuntimeError", "ETRecord identifier missing from etrecord file")
    plain = {name: _json(path, archive, name) for name in _PLAIN if name in names}
    programs = _programs(path, archive, names)
    return LoadedRecord(path, plain, programs, _references(archive, names))


def _references(archive: zipfile.ZipFile, names: list[str]) -> dict[str, int] | None:
    """Return the number of reference outputs per method, None if there are none."""
    if _REFERENCES not in names:
        return None
    try:
        with archive.open(_REFERENCES) as member:
            return counts_of(member)
    except NoReferenceOutputs as error:
        text = f"Failed to load {_REFERENCES} from ETRecord."
        raise InspectorError("RuntimeError", text) from error


def _programs(path: str, archive: zipfile.ZipFile, names: list[str]) -> dict[str, Any]:
    """Return the members that are programs, in load order, with the Inspector's checks."""
    members = [n for n in names if n != MAGIC and n not in _PLAIN and not n.endswith(BLOBS)]
    at_once = [n for n in members if n in (EDGE, ATEN) or n in _PICKLES]
    programs: dict[str, Any] = {}
    for name in [*at_once, *(n for n in members if n not in at_once)]:
        if name in _PICKLES:
            # torch.save writes a ZIP; ETRecords up to 1.2 contain a bare pickle, which is rejected.
            with archive.open(name) as member:
                if member.read(2) != b"PK":
                    raise InspectorError("RuntimeError", f"Failed to load {name} from ETRecord.")
            continue
        missing = [name + blob for blob in BLOBS if name + blob not in names]
        if missing:
            text = f"There is no item named {missing[0]!r} in the archive"
            raise InspectorError("KeyError", text)
        programs[name] = _json(path, archive, name)
        _check_nodes(programs[name])
    return programs


def _json(path: str, archive: zipfile.ZipFile, name: str) -> Any:
    if archive.getinfo(name).file_size > MOST_RATIO * os.path.getsize(path):
        raise UnreadableFile(path, "a member would unpack to many times the file", where=name)
    allowance().take(archive.getinfo(name).file_size)
    raw = read_member(archive, name)
    allowance().take(len(raw) + memory_needed(raw))
    return json.loads(raw)


def _of_forward(maps: Any) -> dict[str, Any]:
    """Return the part of a map for the only method that the Inspector reads."""
    if not isinstance(maps, dict):
        raise InspectorError("TypeError", "'NoneType' object is not subscriptable")
    if FORWARD not in maps:
        raise InspectorError("KeyError", "'forward'")
    forward: dict[str, Any] = maps[FORWARD]
    return forward


def _handles(value: Any) -> Handles:
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(v, int) for v in listed):
        raise TypeError("debug handles that are no numbers")
    handles: Handles = value
    return handles


def _nodes(program: Any) -> list[dict[str, Any]]:
    try:
        nodes = program["graph_module"]["graph"]["nodes"]
        return [node for node in nodes if isinstance(node, dict)]
    except (TypeError, KeyError):
        return []


def _check_nodes(program: Any) -> None:
    """Raise for what the deserializer rejects: nodes before 1.0, lowered modules before 1.1."""
    for node in _nodes(program):
        if "name" not in node:
            missing = "Node.__init__() missing 1 required positional argument: 'name'"
            raise InspectorError("TypeError", missing)
        if str(node.get("target")).endswith("executorch_call_delegate"):
            for item in node.get("inputs") or ():
                text = (item.get("arg") or {}).get("as_string")
                if isinstance(text, str) and _is_old_lowered(text):
                    raise InspectorError("SerializeError", "Failed deserializing node Node(name=…")


def _is_old_lowered(text: str) -> bool:
    """Return whether a lowered module's named data are integers, the format before 1.1."""
    try:
        data = json.loads(json.loads(text)["named_data_store"])["pte_data"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(data, dict) and any(not isinstance(v, dict) for v in data.values())


def _ops(program: Any) -> dict[int, list[str]]:
    ops: dict[int, list[str]] = {}
    for node in _nodes(program):
        target = str(node.get("target"))
        handle = (node.get("metadata") or {}).get("debug_handle")
        if isinstance(handle, str | int) and not target.endswith(_NOT_OPERATORS):
            ops.setdefault(int(handle), []).append(_name(target))
    return ops


def _name(target: str) -> str:
    """Return the `__name__` of a target: edge "aten.relu.default", but "relu.out" for ATen.

    Overloads have two parts; higher-order operators and functions have one.
    """
    if target.startswith(_EDGE_OP):
        return target[len(_EDGE_OP) :]
    if re.fullmatch(r"torch\.ops\.(?!higher_order\.)\w+\.\w+\.\w+", target):
        return ".".join(target.split(".")[-2:])
    return target.rpartition(".")[2]
