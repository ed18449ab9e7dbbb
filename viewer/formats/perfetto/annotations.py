"""Reads debug annotations into one column per argument name, stored sparsely until requested.

Values of one name may have several types. Integers become int64 if all fit, integers and fractions
together become float64, and if one value is text, all become text.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from viewer.arrays import Bools, Codes, Ints
from viewer.codecs.protobuf.fields import Field
from viewer.codecs.protobuf.layouts import MessageLayouts, Wanted
from viewer.codecs.protobuf.reader import PaddedBytes
from viewer.codecs.protobuf.wire import FIXED64, LENGTH_DELIMITED, VARINT
from viewer.formats.perfetto.begin_end import Places
from viewer.formats.perfetto.sequences import Problem, SequenceState, TextTable, as_text, parsed
from viewer.model.trace import Column

BOOL, UINT, INT, DOUBLE, TEXT = range(5)
MOST_COLUMNS = 4096
_AT_ONCE = 1 << 15  # slices per step, so that their texts stay in the processor's cache
_LEAST = -(2**31)
_DTYPES = {BOOL: np.bool_, UINT: np.uint64, INT: np.int64, DOUBLE: np.float64, TEXT: np.uint32}
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
EVENT = Wanted(range(8, 1 << 16), {4 << 3 | LENGTH_DELIMITED: ARGUMENT})


class Annotations:
    """Collects the annotations of events; events are identified by number."""

    def __init__(self, texts: TextTable, problem: Problem) -> None:
        self._texts = texts
        self._problem = problem
        self._parts: dict[tuple[str, int], list[tuple[Codes, NDArray[Any]]]] = {}
        self._trees: dict[tuple[int, bytes], list[tuple[str, int, Any]]] = {}
        self._names: list[str] = []
        self._layouts = MessageLayouts(ARGUMENT)

    def add(
        self,
        block: PaddedBytes,
        spans: Field,
        event: Ints,
        state: Ints,
        states: list[SequenceState],
    ) -> None:
        """Add annotations; event, state: the number of each one's event and its state."""
        if not len(spans):
            return
        fields = spans.inside or block.fields_alike(spans.at, spans.end, self._layouts)
        self._problem("damaged arguments", len(fields.damaged), "")
        name = np.full(len(spans), -1)
        for found in (fields.get(_NAME_IID, VARINT),):
            name[found.owner] = self._interned("debug_annotation_names", found, state, states)
        inline = fields.get(_NAME, LENGTH_DELIMITED)
        name[inline.owner] = codes_of(block, inline, self._texts)
        self._problem("arguments without a name: left out", int((name < 0).sum()), "")
        for number, wire, kind in _NUMBERS:
            found = fields.get(number, wire).sorted()  # of equal names in an event, the last counts
            if len(found):
                values = found.value
                if kind == BOOL:
                    values = values != 0
                elif kind != UINT:
                    values = values.view(_DTYPES[kind])
                self._put(name[found.owner], event[found.owner], kind, values)
        found = fields.get(_TEXT_IID, VARINT).sorted()
        if len(found):
            codes = self._interned("debug_annotation_string_values", found, state, states)
            known = codes >= 0
            self._put(name[found.owner[known]], event[found.owner[known]], TEXT, codes[known])
        for number in (_TEXT, _JSON):
            found = fields.get(number, LENGTH_DELIMITED).sorted()
            if len(found):
                codes = codes_of(block, found, self._texts)
                self._put(name[found.owner], event[found.owner], TEXT, codes)
        nested = [fields.get(n, LENGTH_DELIMITED).owner for n in _NESTED]
        owners = np.unique(np.concatenate(nested))
        if len(owners):
            self._nested(block, spans, owners, name, event, state, states)

    def _interned(self, table: str, found: Field, state: Ints, states: list[SequenceState]) -> Ints:
        return interned(table, found.value, state[found.owner], states)

    def _put(self, name: Ints, event: Ints, kind: int, values: NDArray[Any]) -> None:
        """Store values of one kind, by name."""
        if len(self._names) < len(self._texts.codes):
            self._names = self._texts.all()
        short = name.astype(np.int16) if len(self._names) < 1 << 15 else name
        order = None
        if len(name) and (short != short[0]).any():
            order = np.argsort(short, kind="stable")
            short = short[order]
        if not len(name):
            return
        bounds = np.flatnonzero(np.append(True, short[1:] != short[:-1])).tolist()
        for a, b in zip(bounds, [*bounds[1:], len(name)], strict=True):
            if short[a] < 0:
                continue
            rows: Any = slice(a, b) if order is None else order[a:b]
            self.keep(self._names[int(short[a])], kind, event[rows], values[rows])

    def keep(self, name: str, kind: int, event: Ints, values: NDArray[Any]) -> None:
        """Store values of one argument and kind, up to `MOST_COLUMNS` distinct ones."""
        key = (name, kind)
        if key not in self._parts and len(self._parts) >= MOST_COLUMNS:
            self._problem(
                f"arguments beyond {MOST_COLUMNS} distinct names: left out", len(event), ""
            )
            return
        dtype: Any = _DTYPES[kind]
        if kind == INT and len(values) and values.min() > _LEAST and values.max() < -_LEAST:
            dtype = np.int32  # half the memory, same values
        self._parts.setdefault(key, []).append((event.astype(np.uint32), values.astype(dtype)))

    def _nested(
        self,
        block: PaddedBytes,
        spans: Field,
        owners: Ints,
        name: Ints,
        event: Ints,
        state: Ints,
        states: list[SequenceState],
    ) -> None:
        """Add dictionaries and arrays; equal bytes, which most slices repeat, are decoded once."""
        found: dict[tuple[str, int], tuple[list[int], list[Any]]] = {}
        data = block.data.data
        for i in owners.tolist():
            own = states[int(state[i])]
            raw = bytes(data[int(spans.at[i]) : int(spans.at[i]) + int(spans.value[i])])
            key = (id(own.tables), raw)
            leaves = self._trees.get(key)
            if leaves is None:
                leaves = self._leaves(raw, own, int(name[i]))
                if len(self._trees) < 100_000:
                    self._trees[key] = leaves
            for path, kind, value in leaves:
                events, values = found.setdefault((path, kind), ([], []))
                events.append(int(event[i]))
                values.append(value)
        for (path, kind), (events, values) in found.items():
            self.keep(path, kind, np.array(events), np.array(values, _DTYPES[kind]))

    def _leaves(self, raw: bytes, state: SequenceState, name: int) -> list[tuple[str, int, Any]]:
        tree = parsed(pb.DebugAnnotation, raw, self._problem)
        if tree is None or name < 0:
            return []
        found: list[tuple[str, int, Any]] = []
        self._flatten(self._texts.all()[name], tree, state, found, 0)
        return found

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
                for key, one in value.items():
                    out.append((f"{path}.{key}", TEXT, self._texts.code(_text(one))))
            else:
                out.append((path, TEXT, self._texts.code(_text(value))))
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
            return [self._plain(one, state, depth + 1) for one in tree.array_values]
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

    # -- columns -----------------------------------------------------------------------------------

    def take(
        self, name: str, kind: int, slice_of: Places, count: int
    ) -> tuple[NDArray[Any], Bools] | None:
        """Remove and return the values of one kind of an argument, and which slices have it.

        None if no slice has it, or if an event with it is not a slice. slice_of: the slice of every
        event.
        """
        parts = self._parts.get((name, kind), [])
        if not parts or not count:
            return None
        values: NDArray[Any] = np.zeros(count, _DTYPES[kind])
        has_value = np.zeros(count, np.bool_)
        for event, part in parts:
            rows = slice_of[event]
            values[rows] = part
            has_value[rows] = True
            if int(rows.min()) < 0:
                return None
        del self._parts[name, kind]
        return values, has_value

    def mixed(self, name: str, slice_of: Places, count: int) -> tuple[list[Any], Ints]:
        """Remove an argument of both numbers and texts, without converting the numbers to text.

        Returns the distinct values, and the index of each slice's value, -1 if none.
        """
        values: list[Any] = []
        which = np.full(count, -1)
        texts = self._texts.all()
        for kind in (INT, UINT, TEXT):
            for event, part in self._parts.pop((name, kind), []):
                distinct, place = np.unique(part, return_inverse=True)
                rows = slice_of[event]
                own = rows >= 0
                which[rows[own]] = len(values) + place.reshape(-1)[own]
                values += (texts[i] if kind == TEXT else i for i in distinct.tolist())
        return values, which

    def at(self, name: str, events: Ints) -> list[Any]:
        """The values of an argument at some events, None where it has none."""
        found: dict[int, Any] = {}
        texts = self._texts.all()
        for kind in _DTYPES:
            for event, part in self._parts.get((name, kind), []):
                rows = np.flatnonzero(np.isin(event, events))
                values = part[rows].tolist()
                if kind == TEXT:
                    values = [texts[i] for i in values]
                found.update(zip(event[rows].tolist(), values, strict=True))
        return [found.get(event) for event in events.tolist()]

    def flags(self, name: str, slice_of: Places, count: int) -> Bools | None:
        """Remove a boolean argument: True for some slices, False for all others; None if unused."""
        parts = self._parts.pop((name, BOOL), None)
        if parts is None:
            return None
        found = np.zeros(count, np.bool_)
        for event, values in parts:
            rows = slice_of[event]
            found[rows[rows >= 0]] = values[rows >= 0]
        return found

    def columns(self, slice_of: Places, count: int) -> dict[str, Column]:
        """All arguments as columns of `count` slices; releases the parts one by one."""
        texts = self._texts.all()
        names = self._most_used(count)
        found = {}
        for name in names:
            kinds = {k: self._parts.pop((name, k)) for k in _DTYPES if (name, k) in self._parts}
            column = _column(kinds, slice_of, count, texts)
            if column is not None:
                found[name or "(unnamed)"] = column
        return found

    def _most_used(self, count: int) -> list[str]:
        """The argument names that become columns, in order of appearance.

        These are the 32 most frequent ones, and more if the whole table does not become nearly
        empty.
        """
        uses: dict[str, int] = {}
        for (name, _), parts in self._parts.items():
            uses[name] = uses.get(name, 0) + sum(len(event) for event, _ in parts)
        room = 32 + 8 * sum(uses.values()) // max(count, 1)
        if len(uses) <= room:
            return list(uses)
        included = set(sorted(uses, key=lambda name: -uses[name])[:room])
        rare = {name: n for name, n in uses.items() if name not in included}
        self._problem(
            "values of rare arguments: left out",
            sum(rare.values()),
            next(iter(rare)),
        )
        for key in [key for key in self._parts if key[0] in rare]:
            del self._parts[key]
        return [name for name in uses if name in included]


def _column(
    kinds: dict[int, list[tuple[Codes, NDArray[Any]]]],
    slice_of: Places,
    count: int,
    texts: list[str],
) -> Column | None:
    valid = np.zeros(count, np.bool_)
    if set(kinds) <= {TEXT} or (len(kinds) > 1 and not set(kinds) <= {UINT, INT, DOUBLE}):
        codes = np.zeros(count, np.uint32)
        own = {text: code for code, text in enumerate(texts)} if len(kinds) > 1 else {}
        more = list(texts)
        for kind, parts in kinds.items():
            for event, values in parts:
                rows = slice_of[event]
                if kind != TEXT:
                    values = np.array(
                        [_code(_text(v), own, more) for v in values.tolist()], np.int64
                    )
                if len(rows) and int(rows.min()) < 0:
                    values, rows = values[rows >= 0], rows[rows >= 0]
                codes[rows] = values
                valid[rows] = True
        if not valid.any():
            return None
        used = np.zeros(len(more), np.bool_)
        everywhere = bool(valid.all())
        near = [slice(a, a + _AT_ONCE) for a in range(0, count, _AT_ONCE)]
        for here in near:
            used[codes[here] if everywhere else codes[here][valid[here]]] = True
        table = np.where(used, np.cumsum(used) - 1, 0).astype(np.uint32)
        for here in near:
            codes[here] = table[codes[here]]
        if not everywhere:
            codes[~valid] = 0
        strings = [more[i] for i in np.flatnonzero(used).tolist()]
        return Column.of_codes(codes, strings, None if everywhere else valid)
    dtype: Any = _DTYPES[next(iter(kinds))]
    if len(kinds) > 1:
        dtype = np.float64
        if DOUBLE not in kinds and all(not len(v) or int(v.max()) < 2**63 for _, v in kinds[UINT]):
            dtype = np.int64
    numbers: NDArray[Any] = np.zeros(count, dtype)
    for parts in kinds.values():
        for event, part in parts:
            rows = slice_of[event]
            if len(rows) and int(rows.min()) < 0:
                rows, part = rows[rows >= 0], part[rows >= 0]
            numbers[rows] = part
            valid[rows] = True
    if not valid.any():
        return None
    return Column(numbers, None if valid.all() else valid)


def _code(text: str, own: dict[str, int], more: list[str]) -> int:
    code = own.setdefault(text, len(own))
    if code == len(more):
        more.append(text)
    return code


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _old_nested(tree: Any, depth: int) -> Any:
    """Decode the older encoding of dictionaries and arrays."""
    if depth > 50:
        return None
    if tree.dict_keys:
        return {
            as_text(key): _old_nested(one, depth + 1)
            for key, one in zip(tree.dict_keys, tree.dict_values, strict=False)
        }
    if tree.array_values:
        return [_old_nested(one, depth + 1) for one in tree.array_values]
    for name in ("int_value", "double_value", "bool_value", "string_value"):
        if tree.HasField(name):
            value = getattr(tree, name)
            return as_text(value) if isinstance(value, bytes) else value
    return None


def interned(
    table: str, iids: NDArray[np.uint64], state: Ints, states: list[SequenceState]
) -> Ints:
    """The codes of interned texts, each looked up in its state; -1 if missing."""
    found = np.full(len(iids), -1)
    if not len(iids):
        return found
    if (state == state[0]).all():
        return states[int(state[0])].tables[table].lookup(iids)
    order = np.argsort(state, kind="stable")
    of = state[order]
    bounds = np.flatnonzero(np.append(True, of[1:] != of[:-1])).tolist()
    for a, b in zip(bounds, [*bounds[1:], len(of)], strict=True):
        rows = order[a:b]
        found[rows] = states[int(of[a])].tables[table].lookup(iids[rows])
    return found


def codes_of(block: PaddedBytes, spans: Field, texts: TextTable) -> Ints:
    """The codes of texts stored in the packets themselves."""
    data, code = block.data.data, texts.code
    known: dict[bytes, int] = {}
    found = np.empty(len(spans), np.int64)
    for i, (a, b) in enumerate(zip(spans.at.tolist(), spans.end.tolist(), strict=True)):
        raw = bytes(data[a:b])
        number = known.get(raw)
        if number is None:
            number = known[raw] = code(raw.decode("utf-8", "replace"))
        found[i] = number
    return found
