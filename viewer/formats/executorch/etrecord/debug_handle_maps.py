"""Reads the maps of an ETRecord: the operators behind instructions and identifiers.

JSON converted all keys to strings and tuples to arrays. For each method and instruction id,
`debug_handle_map` has one debug handle (kernels) or an array of them (delegate calls, with
duplicates). For the instruction id of each delegate call, `delegate_map` has the backend's name and
what it returned: an object of identifiers, an empty one (always for XNNPACK), or null.
`instruction_id_to_num_outs_map` has the number of results of each delegate call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from viewer.codecs.json_values import mapping, text, whole_number
from viewer.program.debug_handles import DelegateMap, Identifier

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
