"""What an export of ours says of itself, by the names that `Trace.provenance` has it under.

Exporter and reader share the names: facts of the file stand alone ("origin_ns"), those of its n-th
source behind "source<n>." ("source1.file"); in a Perfetto file `PREFIX` stands before all.
"""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "org.opscope."
FIRST, _SECOND = "source1.", "source2."

Provenance = Mapping[str, int | str]


def is_of_one_file(stated: Provenance) -> bool:
    """Whether it is of an export that was made of one file; False where there is none."""
    return bool(stated) and not any(name.startswith(_SECOND) for name in stated)


def of_source(stated: Provenance) -> dict[str, int | str]:
    """What is said of the first source, by the names without "source1."."""
    return {k.removeprefix(FIRST): v for k, v in stated.items() if k.startswith(FIRST)}


def first_ns(stated: Provenance) -> int | None:
    """The ns of its input at which the times of an export begin; None where that is no number.

    What is not said is 0. Only the difference of origin and offset counts.
    """
    try:
        return int(stated.get("origin_ns") or 0) - int(stated.get(f"{FIRST}offset_ns") or 0)
    except ValueError:
        return None
