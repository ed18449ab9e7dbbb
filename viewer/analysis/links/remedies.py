"""How to fix slices without an operator: one text per reason.

Reasons come from `viewer.analysis.links.link_table`. Which backend writes which map is known from
the backends' source code: XNNPACK and ENN return an empty one in every release.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewer.analysis.links.link_table import Reason
from viewer.model.trace import Trace
from viewer.program.executable.executable import XNNPACK

# The backends that never return a debug handle map, and their common names.
WITHOUT_MAPS = {XNNPACK: "XNNPACK", "EnnBackend": "ENN"}

_RECORD = (
    "Open the ETRecord that was saved when this model was exported (generate_etrecord=True), or "
    "choose one under Links."
)
_TEXT = "Open the .mlir text that was compiled, or choose it under Links."
_REFUSED = (
    "The open files are not linked to this profile. Links shows why and lets you choose one. "
    "Otherwise, open the ETRecord that was saved with the program that ran."
)

_REMEDIES = {
    Reason.METHOD_UNDECIDED: "Choose the method under Links: the ETDump does not name it, and "
    "several methods of the ETRecord match.",
    Reason.NO_METHOD: "Open the ETRecord of the program that ran: the linked one has no such "
    "method.",
    Reason.NOT_IN_MAP: "Nothing to do: only the name is missing. Export adds such instructions "
    "late, without a debug handle.",
    Reason.IN_BRANCH: "Nothing to do: export assigns no debug handles inside control flow. Details "
    "lists the possible operators of a slice.",
    Reason.ONLY_DELEGATES: "Open the ETRecord of the model instead of the debug handle map: it "
    "also covers whole calls and operators outside delegates.",
    Reason.NOT_ALIGNED: "Check that the program file is from the same export as the ETRecord: the "
    "events in this call do not match its nodes.",
    Reason.NOT_IN_GRAPH: "The ETRecord's maps and graph contradict each other. Save it again in "
    "the same export as the program, from a deep copy of the edge program.",
    Reason.OTHER_OPERATOR: "The ETRecord is probably from another version of the model. Open the "
    "one that was saved with the program that ran.",
    Reason.IDENTIFIER_AMBIGUOUS: "Add a column instruction_id to the profile, so that each event "
    "names its call.",
    Reason.NO_DEBUG_INFO: "Compile with --torq-debug-info=DIR and open the text of this dispatch "
    "with the profile.",
    Reason.NOT_IN_DEBUG_INFO: "Open the debug info of the compilation that ran: the open debug "
    "info does not have these numbers.",
    Reason.NOT_IN_TEXT: "Open the .mlir text that was compiled: the open text has no operation at "
    "these locations.",
    Reason.LOCATION_ALONE: "Choose the column of identifiers under Links, or open the .mlir text "
    "that the locations name.",
    # Reasons for which there is nothing to link.
    Reason.NO_IDENTITY: "Nothing to link: the file has names for these slices, but no operator "
    "IDs.",
    Reason.FRAMEWORK: "Nothing to link: scopes of the runtime itself, such as Method::execute.",
    Reason.CONTROL: "Nothing to link: instructions that move values or control.",
    Reason.OUTSIDE_CALLS: "Nothing to link: logged outside any call, e.g. during load.",
    Reason.WHOLE_CALL: "Nothing to link: totals and host events of a whole call.",
    Reason.UNATTRIBUTED: "Nothing to link: time between the events of a call.",
    Reason.INSERTED: "Nothing to link: inserted by XNNPACK's export, usually to convert a layout.",
    Reason.UNKNOWN_LOCATION: "Nothing to link: the compiler recorded no source location.",
}


def remedy(
    trace: Trace, reason: Reason, backend: str, calls: int, operators: int, details: Sequence[str]
) -> str:
    """Return how to fix unlinked slices of one reason, as one or two sentences.

    backend: their backend, "" if unknown. calls, operators: the number of linked delegate calls
    that contain them, and the operators that these are linked to. details: the different detail
    texts of their links.
    """
    from viewer.analysis.links.linker import NO_RECORD

    detail = details[0]
    if reason is Reason.NO_PROGRAM:
        if detail != NO_RECORD:
            return _REFUSED
        return _TEXT if trace.format.startswith("Torq") else _RECORD
    if reason is Reason.IDENTIFIER_UNKNOWN:
        more = f", and {len(details) - 1} more like it" if len(details) > 1 else ""
        return (
            f"{detail}{more}. The delegate must register exactly the text or number that it logs; "
            "Handle map lists both."
        )
    if reason is not Reason.NO_DELEGATE_MAP:
        return _REMEDIES[reason]
    if not backend:
        return f"{detail}. Links shows how well this ETRecord matches the profile."
    still = ""
    if operators:
        count = "operator" if operators == 1 else f"{operators} operators"
        still = f" The delegate call itself is linked to its {count}."
        if calls > 1:
            still = f" The {calls} delegate calls themselves are linked to {operators} operators."
    if backend == XNNPACK:
        return (
            f"{backend} writes no debug handle map. Also open the program file (.pte) that ran: "
            f"its nodes have the debug handles.{still}"
        )
    if backend in WITHOUT_MAPS:
        return f"{backend} returned no debug handle map: {WITHOUT_MAPS[backend]} never does.{still}"
    return (
        f"{backend} returned no debug handle map. Fill one in its preprocess() with a "
        f"DelegateMappingBuilder, and export again.{still}"
    )
