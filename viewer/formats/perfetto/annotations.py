"""Reads the debug annotations of events, which become one column per argument name.

Most events have one of few layouts, with arguments that are numbers. These are read layout by
layout (`fields.Alike`): the name of an argument is then the same in all events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Bools, Codes, Ints, groups_of
from viewer.codecs.protobuf.fields import (
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    Field,
    MessageLayouts,
    Wanted,
    Words,
)
from viewer.codecs.protobuf.reader import PaddedBytes
from viewer.dataclasses import dataclass
from viewer.formats.perfetto.argument_columns import (
    BOOL,
    DOUBLE,
    DTYPES,
    INT,
    TEXT,
    UINT,
    ArgumentColumns,
    Part,
    json_text,
)
from viewer.formats.perfetto.sequences import Problem, SequenceState, TextTable, as_text, parsed

_NO_NAME = "arguments without a name: left out"
_NAME_IID, _NAME, _TEXT, _JSON, _TEXT_IID = 1, 10, 6, 9, 17
_NUMBERS = ((2, VARINT, BOOL), (3, VARINT, UINT), (4, VARINT, INT), (7, VARINT, UINT),
            (5, FIXED64, DOUBLE))  # fmt: skip
_NESTED = (8, 11, 12, 14)
_TAGS = frozenset(
    (
        _NAME_IID << 3,
        _TEXT_IID << 3,
        *(f << 3 | w for f, w, _ in _NUMBERS),
        *(f << 3 | LENGTH_DELIMITED for f in (_NAME, _TEXT, _JSON, *_NESTED)),
    )
)
ARGUMENT = Wanted(_TAGS)
# A TrackEvent: all of its fields, and its arguments.
_ARGUMENTS = 4 << 3 | LENGTH_DELIMITED
EVENT = Wanted(range(8, 1 << 16), {_ARGUMENTS: ARGUMENT}, (_ARGUMENTS,))


@dataclass(frozen=True, slots=True)
class _Some:
    """Arguments: their events, which of these end slices, and the state of all or of each."""

    event: Codes
    late: Bools | None
    state: int | Ints


class Annotations(ArgumentColumns):
    """Collects the annotations of events; events are identified by number."""

    def __init__(self, texts: TextTable, problem: Problem) -> None:
        super().__init__(texts, problem)
        self._found: list[tuple[int, int, int, Part]] = []  # rank, name and kind of each
        self._trees: dict[tuple[int, bytes], list[tuple[str, int, Any]]] = {}
        self._layouts = MessageLayouts(ARGUMENT)
        self._states: list[SequenceState] = []

    def add(
        self,
        block: PaddedBytes,
        spans: Field,
        event: Ints,
        late: Bools,
        state: Ints,
        states: list[SequenceState],
    ) -> None:
        """Add the annotations of a block's events.

        spans: as many of these as of `event`, the number of each, -1 if its arguments are left out;
        late: which ones end slices; state: the state of each.
        """
        self._states = states
        every: int | None = int(state[0]) if (state == state[0]).all() else None
        any_late = bool(late.any())

        def some_of(owner: Ints) -> tuple[_Some, Bools | None]:
            event_rows, has_event = event[owner], None
            if int(event_rows.min()) < 0:
                has_event = event_rows >= 0
                owner, event_rows = owner[has_event], event_rows[has_event]
            are_late = late[owner] if any_late else None
            if are_late is not None and not are_late.any():
                are_late = None
            of = state[owner] if every is None else every
            return _Some(event_rows.astype(np.uint32), are_late, of), has_event

        for alike in spans.alike:
            arguments, mask = some_of(alike.owner)
            if len(arguments.event):
                for numbers in alike.inside:
                    if mask is not None:
                        numbers = {tag: value[mask] for tag, value in numbers.items()}
                    self._add_alike(numbers, arguments)
        if len(spans):
            arguments, mask = some_of(spans.owner)
            if len(arguments.event):
                self._add_others(block, spans if mask is None else spans.taken(mask), arguments)
        self._flush()

    def _flush(self) -> None:
        """Store what was noted, in the order of the kinds, then of the names."""
        names = self._texts.all() if self._found else []
        for _, name, kind, part in sorted(self._found, key=itemgetter(0, 1)):
            self.keep_part(names[name], kind, part)
        self._found.clear()

    def _add_alike(self, numbers: dict[int, Words], arguments: _Some) -> None:
        """Add an argument of events of one layout, given the numbers in it by tag."""
        name: int | Ints = -1
        iids = numbers.get(_NAME_IID << 3)
        if iids is None:
            self._problem(_NO_NAME, len(arguments.event), "")
            return
        if isinstance(arguments.state, int) and (iids == iids[0]).all():
            tables = self._states[arguments.state].tables
            name = tables["debug_annotation_names"].get(int(iids[0]))
            self._problem(_NO_NAME, len(iids) if name < 0 else 0, "")
        else:
            name = self._interned("debug_annotation_names", iids, arguments.state)
            self._problem(_NO_NAME, int((name < 0).sum()), "")
        for rank, (number, wire, kind) in enumerate(_NUMBERS):
            value = numbers.get(number << 3 | wire)
            if value is not None:
                self._put(rank, name, arguments, kind, _of_kind(kind, value))
        value = numbers.get(_TEXT_IID << 3)
        if value is not None:
            codes = self._interned("debug_annotation_string_values", value, arguments.state)
            self._put(len(_NUMBERS), name, arguments, TEXT, codes)

    def _add_others(self, block: PaddedBytes, spans: Field, arguments: _Some) -> None:
        """Add arguments, given where they are, that are not read yet or of different layouts."""
        fields = spans.inside or block.fields_alike(spans.at, spans.end, self._layouts)
        self._problem("damaged arguments", len(fields.damaged), "")
        name = np.full(len(spans), -1)
        field = fields.get(_NAME_IID, VARINT)
        state = (
            arguments.state if isinstance(arguments.state, int) else arguments.state[field.owner]
        )
        name[field.owner] = self._interned("debug_annotation_names", field.value, state)
        inline = fields.get(_NAME, LENGTH_DELIMITED)
        name[inline.owner] = codes_of(block, inline, self._texts)
        self._problem(_NO_NAME, int((name < 0).sum()), "")

        def put(rank: int, field: Field, kind: int, values: NDArray[Any]) -> None:
            self._put(rank, name[field.owner], _taken(arguments, field.owner), kind, values)

        # Of equal names in an event, the last counts.
        for rank, (number, wire, kind) in enumerate(_NUMBERS):
            field = fields.get(number, wire).sorted()
            put(rank, field, kind, _of_kind(kind, field.value))
        field = fields.get(_TEXT_IID, VARINT).sorted()
        state = (
            arguments.state if isinstance(arguments.state, int) else arguments.state[field.owner]
        )
        codes = self._interned("debug_annotation_string_values", field.value, state)
        put(len(_NUMBERS), field, TEXT, codes)
        for rank, number in enumerate((_TEXT, _JSON), len(_NUMBERS) + 1):
            field = fields.get(number, LENGTH_DELIMITED).sorted()
            put(rank, field, TEXT, codes_of(block, field, self._texts))
        # Dictionaries and arrays come after all others.
        self._flush()
        nested = [fields.get(n, LENGTH_DELIMITED).owner for n in _NESTED]
        owners = np.unique(np.concatenate(nested))
        if len(owners):
            self._nested(block, spans, owners, name, arguments)

    def _interned(self, table: str, iids: Words, state: int | Ints) -> Ints:
        if isinstance(state, int):
            return self._states[state].tables[table].lookup(iids)
        return interned(table, iids, state, self._states)

    def _put(
        self, rank: int, name: int | Ints, arguments: _Some, kind: int, values: NDArray[Any]
    ) -> None:
        """Note values of one kind, by name; texts and names below 0 are none."""
        is_valid = None
        if kind == TEXT and len(values) and int(values.min()) < 0:
            is_valid = values >= 0
        if not isinstance(name, int):
            if len(name) and int(name.min()) < 0:
                is_valid = name >= 0 if is_valid is None else is_valid & (name >= 0)
            if is_valid is not None:
                name = name[is_valid]
        if is_valid is not None:
            values, arguments = values[is_valid], _taken(arguments, is_valid)
        if not len(values):
            return
        if isinstance(name, int):
            if name >= 0:
                self._note(rank, name, kind, arguments, values)
            return
        if (name == name[0]).all():
            self._note(rank, int(name[0]), kind, arguments, values)
            return
        for number, rows in groups_of(name):
            self._note(rank, number, kind, _taken(arguments, rows), values[rows])

    def _note(
        self, rank: int, name: int, kind: int, arguments: _Some, values: NDArray[Any]
    ) -> None:
        self._found += [(rank, name, kind, part) for part in _parts(arguments, values)]

    def _nested(
        self, block: PaddedBytes, spans: Field, owners: Ints, name: Ints, arguments: _Some
    ) -> None:
        """Add dictionaries and arrays; equal bytes, which most slices repeat, are decoded once."""
        parts_of: dict[tuple[str, int], tuple[list[int], list[Any]]] = {}
        data = block.data.data
        for i in owners.tolist():
            state = self._states[
                arguments.state if isinstance(arguments.state, int) else int(arguments.state[i])
            ]
            raw = bytes(data[int(spans.at[i]) : int(spans.at[i]) + int(spans.value[i])])
            key = (id(state.tables), raw)
            leaves = self._trees.get(key)
            if leaves is None:
                leaves = self._leaves(raw, state, int(name[i]))
                if len(self._trees) < 100_000:
                    self._trees[key] = leaves
            for path, kind, value in leaves:
                rows, values = parts_of.setdefault((path, kind), ([], []))
                rows.append(i)
                values.append(value)
        for (path, kind), (rows, values) in parts_of.items():
            leaf_arguments = _taken(arguments, np.array(rows))
            for part in _parts(leaf_arguments, np.array(values, DTYPES[kind])):
                self.keep_part(path, kind, part)

    def _leaves(self, raw: bytes, state: SequenceState, name: int) -> list[tuple[str, int, Any]]:
        tree = parsed(pb.DebugAnnotation, raw, self._problem)
        if tree is None or name < 0:
            return []
        leaves: list[tuple[str, int, Any]] = []
        self._flatten(self._texts.all()[name], tree, state, leaves, 0)
        return leaves

    def _flatten(
        self,
        path: str,
        tree: Any,
        state: SequenceState,
        out: list[tuple[str, int, Any]],
        depth: int,
    ) -> None:
        if depth > 50:
            self._problem("arguments nested deeper than 50 levels: cut off", 1, "")
            return
        if tree.HasField("nested_value"):
            value = _old_nested(tree.nested_value, 0)
            if isinstance(value, dict):
                for key, member in value.items():
                    out.append((f"{path}.{key}", TEXT, self._texts.code(json_text(member))))
            else:
                out.append((path, TEXT, self._texts.code(json_text(value))))
            return
        if tree.dict_entries and not tree.array_values:
            for entry in tree.dict_entries:
                key = self._name_of(entry, state)
                self._flatten(f"{path}.{key}", entry, state, out, depth + 1)
            return
        if tree.array_values:
            value = self._plain(tree, state, 0)
            out.append((path, TEXT, self._texts.code(json.dumps(value, ensure_ascii=False))))
            return
        value = self._plain(tree, state, 0)
        if isinstance(value, bool):
            out.append((path, BOOL, value))
        elif isinstance(value, int):
            out.append((path, UINT if value >= 2**63 else INT, value))
        elif isinstance(value, float):
            out.append((path, DOUBLE, value))
        elif value is not None:
            out.append((path, TEXT, self._texts.code(value)))

    def _plain(self, tree: Any, state: SequenceState, depth: int) -> Any:
        """An annotation as a JSON value."""
        if depth > 50:
            return None
        if tree.array_values:
            return [self._plain(array_value, state, depth + 1) for array_value in tree.array_values]
        if tree.dict_entries:
            return {
                self._name_of(entry, state): self._plain(entry, state, depth + 1)
                for entry in tree.dict_entries
            }
        which = tree.WhichOneof("value")
        if which == "string_value_iid":
            return self._text_of(state, "debug_annotation_string_values", tree.string_value_iid)
        if which == "nested_value":
            return _old_nested(tree.nested_value, depth)
        value = None if which is None else getattr(tree, which)
        return as_text(value) if isinstance(value, bytes) else value

    def _name_of(self, entry: Any, state: SequenceState) -> str:
        """The key of a dictionary entry."""
        stated = as_text(entry.name)
        return stated or self._text_of(state, "debug_annotation_names", entry.name_iid)

    def _text_of(self, state: SequenceState, table: str, iid: int) -> str:
        code = state.tables[table].get(iid)
        return self._texts.all()[code] if code >= 0 else f"#{iid}"


def _of_kind(kind: int, values: Words) -> NDArray[Any]:
    """Numbers of the file as values of their kind."""
    if kind == BOOL:
        return np.not_equal(values, 0)
    typed_values: NDArray[Any] = values if kind == UINT else values.view(DTYPES[kind])
    return typed_values


def _taken(arguments: _Some, which: Ints | Bools) -> _Some:
    return _Some(
        arguments.event[which],
        None if arguments.late is None else arguments.late[which],
        arguments.state if isinstance(arguments.state, int) else arguments.state[which],
    )


def _parts(arguments: _Some, values: NDArray[Any]) -> Iterator[Part]:
    """The values of events that end slices, and of others."""
    if arguments.late is None:
        yield Part(arguments.event, values)
        return
    for is_late in (False, True):
        is_part = arguments.late == is_late
        if is_part.any():
            yield Part(arguments.event[is_part], values[is_part], is_late)


def _old_nested(tree: Any, depth: int) -> Any:
    """Decode the older encoding of dictionaries and arrays."""
    if depth > 50:
        return None
    if tree.dict_keys:
        return {
            as_text(key): _old_nested(member, depth + 1)
            for key, member in zip(tree.dict_keys, tree.dict_values, strict=False)
        }
    if tree.array_values:
        return [_old_nested(array_value, depth + 1) for array_value in tree.array_values]
    for name in ("int_value", "double_value", "bool_value", "string_value"):
        if tree.HasField(name):
            value = getattr(tree, name)
            return as_text(value) if isinstance(value, bytes) else value
    return None


def interned(
    table: str, iids: NDArray[np.uint64], state: Ints, states: list[SequenceState]
) -> Ints:
    """The codes of interned texts, each looked up in its state; -1 if missing."""
    codes = np.full(len(iids), -1)
    if not len(iids):
        return codes
    if (state == state[0]).all():
        return states[int(state[0])].tables[table].lookup(iids)
    for number, rows in groups_of(state):
        codes[rows] = states[number].tables[table].lookup(iids[rows])
    return codes


def codes_of(block: PaddedBytes, spans: Field, texts: TextTable) -> Ints:
    """The codes of texts stored in the packets themselves."""
    data, code = block.data.data, texts.code
    code_of: dict[bytes, int] = {}
    codes = np.empty(len(spans), np.int64)
    for i, (a, b) in enumerate(zip(spans.at.tolist(), spans.end.tolist(), strict=True)):
        raw = bytes(data[a:b])
        number = code_of.get(raw)
        if number is None:
            number = code_of[raw] = code(raw.decode("utf-8", "replace"))
        codes[i] = number
    return codes
