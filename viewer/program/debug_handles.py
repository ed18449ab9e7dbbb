"""Debug handle maps: the operators behind a delegate's own identifiers.

For each lowered partition, a delegate returns a map from *delegate debug identifier* (int or str,
its author's choice) to the debug handles of the operators behind it. JSON and CSV turn ints into
strings, so identifiers are looked up by exact text: 1 never matches "10". A debug handle map file
distinguishes int from str; there, 10 is looked up before "10".

Vulkan logs a JSON object; the key is its operator.delegate_node_id. Earlier versions log the shader
alone (`shader_of`). QNN logs "<tensor>:OpId_<n> (<unit>)"; the key is the tensor's name. Events
that sum up or enclose others, such as "ETVK_EXECUTE", cover the whole call and are in no map.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from viewer.dataclasses import dataclass

Identifier = int | str

# The debug handle map file: its key and version, and its placeholder for an instruction.
MAP_MARK = "opscope_debug_handle_map"
MAP_VERSION = 1
ANY_INSTRUCTION = "*"
# For events without a call, and for a map that applies to any call.
NO_INSTRUCTION = -1

_NUMBER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,18})", re.ASCII)
_QNN = re.compile(r"(.+?)[:\s]OpId_\d+(?:\s?\([a-z]+\))?", re.DOTALL)
_TOTAL = re.compile(r"\(execute[^()]*\) time\b", re.IGNORECASE)
_HOST = "ETVK_"
# Since December 2025, a kernel without the JSON object of its operator:
# {nchw_to_image, "dispatch_id": 3}
_BARE_SHADER = re.compile(r'\{([^"{},]+), "dispatch_id": (\d{1,10})\}', re.ASCII)
# Before, the kernel and the number of its dispatch: linear_naive_buffer_float_1
_FIRST_SHADER = re.compile(
    r"(\w+_(?:texture[23]d|buffer)_(?:half|float|double|u?int\d*|bool)(?:_\w+)?)_(\d{1,10})",
    re.ASCII,
)
_ENDS_OF_SHADERS = frozenset("} \n0123456789")
_NO_DISPATCH = (1 << 32) - 1
# A shader's description has a few hundred characters; its arguments can make it longer.
_LONGEST_JSON = 1 << 16


class Via(Enum):
    """How an identifier was found in a map."""

    EXACT = "identifier"
    NODE_ID = "delegate_node_id"
    TENSOR = "tensor"


@dataclass(frozen=True, slots=True)
class MapEntry:
    """The debug handles of an identifier, and the key under which they were found."""

    handles: tuple[int, ...]
    key: Identifier
    via: Via


@dataclass(frozen=True, slots=True)
class DelegateMap:
    """The map returned by one delegate instance (one DELEGATE_CALL).

    entries: identifier (as text, if from an ETRecord) -> debug handles. None if the backend
    returned no map; empty if it returned an empty one, as XNNPACK always does. Generated
    identifiers start from 0 in every instance, so a map applies only to its own instruction.
    """

    backend: str
    entries: Mapping[Identifier, tuple[int, ...]] | None

    def find(self, identifier: Identifier) -> MapEntry | None:
        """The entry of an identifier: by exact text, else by the key that it states."""
        if not self.entries:
            return None
        text = str(identifier)
        for candidate, via in ((identifier, Via.EXACT), *_stated_keys(text)):
            for key in _forms(candidate):
                handles = self.entries.get(key)
                if handles is not None:
                    return MapEntry(handles, key, via)
        return None

    def handles(self, identifier: Identifier) -> tuple[int, ...] | None:
        """The debug handles of an identifier, or None if the map does not contain it."""
        entry = self.find(identifier)
        return entry.handles if entry else None

    @property
    def is_filled(self) -> bool:
        """Whether the backend wrote any identifiers."""
        return bool(self.entries)


def _forms(identifier: Identifier) -> tuple[Identifier, ...]:
    """An identifier as is, then as the other type (int or str) with the same text."""
    if isinstance(identifier, int):
        return identifier, str(identifier)
    return (identifier, int(identifier)) if _DECIMAL.fullmatch(identifier) else (identifier,)


def is_word(identifier: Identifier) -> bool:
    """Whether it is not a decimal number; numbers are in every such map and prove no match."""
    return _NUMBER.fullmatch(str(identifier)) is None


def is_total(identifier: Identifier | None) -> bool:
    """Whether an event sums up its call, such as QNN's "Accelerator (execute) time (cycles)"."""
    return isinstance(identifier, str) and _TOTAL.search(identifier) is not None


def is_host_event(identifier: Identifier | None) -> bool:
    """Whether an event is host work around Vulkan's shaders, such as "ETVK_EXECUTE"."""
    return isinstance(identifier, str) and identifier.startswith(_HOST)


def is_of_whole_call(identifier: Identifier | None) -> bool:
    """Whether an event covers its whole call, so that no map can contain it."""
    return is_total(identifier) or is_host_event(identifier)


def short_identifier(identifier: Identifier) -> str:
    """The display name of an event: the kernel of Vulkan's shader, else the identifier."""
    text = str(identifier)
    shader = shader_of(text)
    name = shader and (shader.kernel or _operator(_shader(text)).get("name"))
    return name if isinstance(name, str) and name else text


class Shader(NamedTuple):
    """A Vulkan shader: its kernel, "" if only its operator is known, and its dispatch if any."""

    kernel: str
    dispatch: int | None


def shader_of(identifier: Identifier | None) -> Shader | None:
    """The shader in the identifier of a Vulkan event, None for other identifiers.

    The runtime converts the times of shaders to ns; it always did, whatever the name looks like.
    """
    # A file can have 200,000 identifiers: only those that may be shaders are looked at closely.
    if not isinstance(identifier, str) or identifier[-1:] not in _ENDS_OF_SHADERS:
        return None
    is_object = identifier.startswith("{")
    if plain := (_BARE_SHADER if is_object else _FIRST_SHADER).fullmatch(identifier):
        return Shader(plain[1], _dispatch(int(plain[2])))
    shader = _shader(identifier)
    kernel = shader.get("kernel_name")
    if isinstance(kernel, str) and kernel:
        return Shader(kernel, _dispatch(shader.get("dispatch_id")))
    return Shader("", None) if _operator(shader) else None


def _dispatch(number: Any) -> int | None:
    stated = isinstance(number, int) and not isinstance(number, bool) and number != _NO_DISPATCH
    return number if stated else None


def _stated_keys(text: str) -> tuple[tuple[str, Via], ...]:
    number = _operator(_shader(text)).get("delegate_node_id")
    if isinstance(number, int) and not isinstance(number, bool):
        return ((str(number), Via.NODE_ID),)
    tensor = _QNN.fullmatch(text)
    return ((tensor[1], Via.TENSOR),) if tensor else ()


@lru_cache(maxsize=4096)
def _shader(text: str) -> dict[str, Any]:
    """Parse a text as a JSON object; empty if it is not one."""
    if not text.startswith("{") or len(text) > _LONGEST_JSON:
        return {}
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _operator(shader: dict[str, Any]) -> dict[str, Any]:
    operator_name = shader.get("operator")
    return operator_name if isinstance(operator_name, dict) else {}
