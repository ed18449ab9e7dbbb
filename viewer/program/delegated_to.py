"""Which delegates' calls an operator went into, and what stands for it there.

Told by the maps of the record: an instruction that is a delegate's call has the debug handles of
all operators in it, and the map that the delegate returned has the identifiers that it logs. Where
an identifier has several handles, these operators were fused to one.
"""

from __future__ import annotations

from dataclasses import dataclass

from viewer.program.program import Method, Operator


@dataclass(frozen=True, slots=True)
class DelegateIdentifier:
    """One name under which a delegate logs an operator, as its map has it. fused: the others that
    it stands for."""

    key: int | str
    fused: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lowering:
    """One call of a delegate that has an operator in it.

    instruction: `NO_INSTRUCTION` of a map that is of any call. others: the other operators of the
    call, as indexes into `Program.operators`. identifiers: those
    that stand for the operator, in the map's order; has_map: whether the delegate returned any.
    """

    instruction: int
    backend: str
    others: tuple[int, ...]
    identifiers: tuple[DelegateIdentifier, ...]
    has_map: bool


def lowered_into(method: Method, operator: Operator) -> tuple[Lowering, ...]:
    """The delegates' calls that an operator of a method went into, by their instructions."""
    handle = operator.debug_handle
    found = []
    for instruction, delegate in sorted(method.delegates.items()):
        handles = method.handles.get(instruction, ())
        entries = delegate.entries or {}
        identifiers = tuple(
            DelegateIdentifier(key, _others(method, stood_for, handle))
            for key, stood_for in entries.items()
            if handle in stood_for
        )
        if handle >= 0 and (handle in handles or identifiers):
            found.append(
                Lowering(
                    instruction,
                    delegate.backend,
                    _others(method, handles, handle),
                    identifiers,
                    delegate.is_filled,
                )
            )
    return tuple(found)


def instructions_of(method: Method, operator: Operator) -> frozenset[int]:
    """The instructions that run an operator, alone or with others, as the record maps them."""
    return frozenset(
        instruction
        for instruction, handles in method.handles.items()
        if operator.debug_handle in handles
    )


def _others(method: Method, handles: tuple[int, ...], own: int) -> tuple[int, ...]:
    known = (method.by_handle.get(handle) for handle in dict.fromkeys(handles) if handle != own)
    return tuple(operator.index for operator in known if operator is not None)
