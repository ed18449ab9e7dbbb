"""The delegate calls that contain an operator, and its identifiers there.

From the ETRecord's maps: a DELEGATE_CALL instruction has the debug handles of all its operators,
and the map that the delegate returned has the identifiers that it logs. If an identifier has
several handles, these operators were fused.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.program.program import Method, Operator


@dataclass(frozen=True, slots=True)
class DelegateIdentifier:
    """One identifier under which a delegate logs an operator. fused: its other operators."""

    key: int | str
    fused: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lowering:
    """One delegate call that contains an operator.

    instruction: `NO_INSTRUCTION` for a map that applies to any call. others: the other operators of
    the call, as indexes into `Program.operators`. identifiers: those of the operator, in the map's
    order. has_map: whether the delegate returned any identifiers.
    """

    instruction: int
    backend: str
    others: tuple[int, ...]
    identifiers: tuple[DelegateIdentifier, ...]
    has_map: bool


def lowered_into(method: Method, operator: Operator) -> tuple[Lowering, ...]:
    """The delegate calls that contain an operator of a method, by instruction."""
    handle = operator.debug_handle
    lowerings = []
    for instruction, delegate in sorted(method.delegates.items()):
        handles = method.handles.get(instruction, ())
        entries = delegate.entries or {}
        identifiers = tuple(
            DelegateIdentifier(key, _others(method, members, handle))
            for key, members in entries.items()
            if handle in members
        )
        if handle >= 0 and (handle in handles or identifiers):
            lowerings.append(
                Lowering(
                    instruction,
                    delegate.backend,
                    _others(method, handles, handle),
                    identifiers,
                    delegate.is_filled,
                )
            )
    return tuple(lowerings)


def instructions_of(method: Method, operator: Operator) -> frozenset[int]:
    """The instructions that run an operator, alone or with others."""
    return frozenset(
        instruction
        for instruction, handles in method.handles.items()
        if operator.debug_handle in handles
    )


def _others(method: Method, handles: tuple[int, ...], own_handle: int) -> tuple[int, ...]:
    operators = (
        method.by_handle.get(handle) for handle in dict.fromkeys(handles) if handle != own_handle
    )
    return tuple(operator.index for operator in operators if operator is not None)
