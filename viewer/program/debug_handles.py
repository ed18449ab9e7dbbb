"""Debug handle maps: which operators a delegate meant by its own identifiers.

A delegate returns, for each lowered partition, a map from *delegate debug identifier* (int or str,
its author's choice) to the debug handles of the operators behind it. JSON turns int identifiers
into texts, so both are looked up by their exact text: 1 is never found under "10".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Identifier = int | str


@dataclass(frozen=True, slots=True)
class DelegateMap:
    """What one delegate instance (one DELEGATE_CALL) said about its identifiers.

    entries: text of the identifier -> debug handles; None where the backend returned no map at all,
    empty where it returned an empty one (XNNPACK always does). Generated identifiers start from 0
    in every instance, so a map is only ever asked for its own instruction.
    """

    backend: str
    entries: Mapping[str, tuple[int, ...]] | None

    def handles(self, identifier: Identifier) -> tuple[int, ...] | None:
        """The debug handles of an identifier, None if the map does not have it."""
        return self.entries.get(str(identifier)) if self.entries else None

    @property
    def is_filled(self) -> bool:
        """Whether the backend wrote any identifier."""
        return bool(self.entries)
