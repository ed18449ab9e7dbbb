"""Metadata of files exported by Opscope, as stored in `Trace.provenance`.

Exporter and reader share the names. Facts about the file have plain names ("origin_ns"); facts
about its n-th source start with "source<n>." ("source1.file"). In a Perfetto file, all names start
with `PREFIX`.
"""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "org.opscope."
FIRST, _SECOND = "source1.", "source2."

Provenance = Mapping[str, int | str]


def is_of_one_file(stated: Provenance) -> bool:
    """Whether the metadata belongs to an export of one file; False if it is empty."""
    return bool(stated) and not any(name.startswith(_SECOND) for name in stated)


def of_source(stated: Provenance) -> dict[str, int | str]:
    """The facts about the first source, without the prefix "source1."."""
    return {k.removeprefix(FIRST): v for k, v in stated.items() if k.startswith(FIRST)}


def first_ns(stated: Provenance) -> int | None:
    """The ns in the source at which the exported times start; None if a value is not a number.

    Missing values count as 0. Only the difference of origin and offset matters.
    """
    try:
        return int(stated.get("origin_ns") or 0) - int(stated.get(f"{FIRST}offset_ns") or 0)
    except ValueError:
        return None
