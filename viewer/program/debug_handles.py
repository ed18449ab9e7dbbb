"""Debug handle maps: which operators a delegate meant by its own identifiers.

A delegate returns, for each lowered partition, a map from *delegate debug identifier* (int or str,
its author's choice) to the debug handles of the operators behind it. The JSON of an ETRecord turns
int identifiers into texts, and so does a CSV, so both are looked up by their exact text: 1 is never
found under "10". A debug handle map file keeps the kinds apart; there 10 is found under 10 first.

Two backends log more than the identifier of their map, in a form that leaves no doubt:

* Vulkan logs a JSON object; the key is its operator.delegate_node_id.
* QNN logs "<tensor>:OpId_<n> (<unit>)"; the key is the name of the tensor.

Some events sum up or surround others ("QNN accelerator (execute) time (cycles)", "ETVK_EXECUTE");
they are of the whole call, and no map has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

Identifier = int | str

# The debug handle map file: its key and version, and what stands for an instruction there.
MAP_MARK = "opscope_debug_handle_map"
MAP_VERSION = 1
ANY_INSTRUCTION = "*"
# Of events that name no call, and of a map that is of any call.
NO_INSTRUCTION = -1

_NUMBER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,18})", re.ASCII)
_QNN = re.compile(r"(.+?)[:\s]OpId_\d+(?:\s?\([a-z]+\))?", re.DOTALL)
_TOTAL = re.compile(r"\(execute[^()]*\) time\b", re.IGNORECASE)
_HOST = "ETVK_"
# A shader's description has a few hundred characters; its arguments may make it longer.
_LONGEST_JSON = 1 << 16


class Via(Enum):
    """How an identifier was found in a map."""

    EXACT = "identifier"
    NODE_ID = "delegate_node_id"
    TENSOR = "tensor"


@dataclass(frozen=True, slots=True)
class MapEntry:
    """What a map says about an identifier, and under which key it was found."""

    handles: tuple[int, ...]
    key: Identifier
    via: Via


@dataclass(frozen=True, slots=True)
class DelegateMap:
    """What one delegate instance (one DELEGATE_CALL) said about its identifiers.

    entries: identifier (of an ETRecord its text) -> debug handles; None where the backend returned
    no map at all, empty where it returned an empty one (XNNPACK always does). Generated identifiers
    start from 0 in every instance, so a map is only ever asked for its own instruction.
    """

    backend: str
    entries: Mapping[Identifier, tuple[int, ...]] | None

    def find(self, identifier: Identifier) -> MapEntry | None:
        """The entry of an identifier: under its exact text, else under the key that it states."""
        if not self.entries:
            return None
        text = str(identifier)
        for asked, via in ((identifier, Via.EXACT), *_stated_keys(text)):
            for key in _forms(asked):
                handles = self.entries.get(key)
                if handles is not None:
                    return MapEntry(handles, key, via)
        return None

    def handles(self, identifier: Identifier) -> tuple[int, ...] | None:
        """The debug handles of an identifier, None if the map does not have it."""
        entry = self.find(identifier)
        return entry.handles if entry else None

    @property
    def is_filled(self) -> bool:
        """Whether the backend wrote any identifier."""
        return bool(self.entries)


def _forms(identifier: Identifier) -> tuple[Identifier, ...]:
    """An identifier as it is, then as the other kind with the same text."""
    if isinstance(identifier, int):
        return identifier, str(identifier)
    return (identifier, int(identifier)) if _DECIMAL.fullmatch(identifier) else (identifier,)


def is_word(identifier: Identifier) -> bool:
    """Whether it is no decimal number: numbers are in every such map, and so prove nothing."""
    return _NUMBER.fullmatch(str(identifier)) is None


def is_total(identifier: Identifier | None) -> bool:
    """Whether an event sums up its call: "Accelerator (execute) time (cycles)" of QNN."""
    return isinstance(identifier, str) and _TOTAL.search(identifier) is not None


def is_host_event(identifier: Identifier | None) -> bool:
    """Whether an event is what Vulkan's host does around its shaders: "ETVK_EXECUTE"."""
    return isinstance(identifier, str) and identifier.startswith(_HOST)


def is_of_whole_call(identifier: Identifier | None) -> bool:
    """Whether an event is of its whole call, so that no map is expected to have it."""
    return is_total(identifier) or is_host_event(identifier)


def short_identifier(identifier: Identifier) -> str:
    """What to call an event: the kernel in the JSON that Vulkan logs, else the identifier."""
    shader = _shader(str(identifier))
    name = shader.get("kernel_name") or _operator(shader).get("name")
    return name if isinstance(name, str) and name else str(identifier)


def _stated_keys(text: str) -> tuple[tuple[str, Via], ...]:
    number = _operator(_shader(text)).get("delegate_node_id")
    if isinstance(number, int) and not isinstance(number, bool):
        return ((str(number), Via.NODE_ID),)
    tensor = _QNN.fullmatch(text)
    return ((tensor[1], Via.TENSOR),) if tensor else ()


@lru_cache(maxsize=4096)
def _shader(text: str) -> dict[str, Any]:
    """The JSON object that a text is, empty if it is none."""
    if not text.startswith("{") or len(text) > _LONGEST_JSON:
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _operator(shader: dict[str, Any]) -> dict[str, Any]:
    found = shader.get("operator")
    return found if isinstance(found, dict) else {}
