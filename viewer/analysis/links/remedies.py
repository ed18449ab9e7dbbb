"""How to fix slices without an operator: one text per reason.

Reasons come from `viewer.analysis.links.link_table`. Which backend writes which map is known from
the backends' source code: XNNPACK and ENN return an empty one in every release.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewer.analysis.links.link_table import Reason
from viewer.analysis.links.linker import NO_RECORD
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
    "What is open was not linked to this profile: Links tells why, and lets you choose. Else open "
    "the record that was saved with the program that ran."
)

_REMEDIES = {
    Reason.METHOD_UNDECIDED: "Choose under Links which method these runs are of: the dump does not "
    "say it, and the record has several that would fit.",
    Reason.NO_METHOD: "Open the record of the program that ran: the one that is linked has no such "
    "method.",
    Reason.NOT_IN_MAP: "Nothing is lost but the name: export adds such instructions late and gives "
    "them no debug handle.",
    Reason.IN_BRANCH: "Nothing to do: export gives no debug handle to what lies inside control "
    "flow. Details names the operators that a slice may be.",
    Reason.ONLY_DELEGATES: "Open the ETRecord of the model in place of the debug handle map: it "
    "tells of calls as a whole, and of what runs outside of delegates.",
    Reason.NOT_ALIGNED: "Check that the program file is of the same export as the ETRecord: the "
    "events in this call are not the nodes that it has.",
    Reason.NOT_IN_GRAPH: "The record's maps and graph contradict each other. Save it anew in the "
    "same export as the program, from a deep copy of the edge program.",
    Reason.OTHER_OPERATOR: "The record is most likely of another version of the model: open the "
    "one that was saved with the program that ran.",
    Reason.IDENTIFIER_AMBIGUOUS: "Add a column instruction_id to the profile, so that each event "
    "names its call.",
    Reason.NO_DEBUG_INFO: "Compile with --torq-debug-info=DIR and open the text of this dispatch "
    "with the profile.",
    Reason.NOT_IN_DEBUG_INFO: "Open the debug info of the compilation that ran: the one that is "
    "open does not have these numbers.",
    Reason.NOT_IN_TEXT: "Open the .mlir text that was compiled: the one that is open has no "
    "operation at these places.",
    Reason.LOCATION_ALONE: "Choose the column of identifiers under Links, or open the .mlir text "
    "that the locations name.",
    # Reasons for which there is nothing to link.
    Reason.NO_IDENTITY: "Nothing to link: the file gives these a name, and no identity that a "
    "record knows.",
    Reason.FRAMEWORK: "Nothing to link: scopes of the runtime itself, such as Method::execute.",
    Reason.CONTROL: "Nothing to link: instructions that move values or control.",
    Reason.OUTSIDE_CALLS: "Nothing to link: logged outside any call, as when a delegate is loaded.",
    Reason.WHOLE_CALL: "Nothing to link: totals and host events of a whole call.",
    Reason.UNATTRIBUTED: "Nothing to link: time between the events of a call.",
    Reason.INSERTED: "Nothing to link: XNNPACK's export inserted these, mostly to change a layout.",
    Reason.UNKNOWN_LOCATION: "Nothing to link: the compiler gave these no place in a source file.",
}


def remedy(
    trace: Trace, reason: Reason, backend: str, calls: int, operators: int, details: Sequence[str]
) -> str:
    """Return how to fix unlinked slices of one reason, as one or two sentences.

    backend: their backend, "" if unknown. calls, operators: the number of linked delegate calls
    that contain them, and the operators that these are linked to. details: the different detail
    texts of their links.
    """
    detail = details[0]
    if reason is Reason.NO_PROGRAM:
        if detail != NO_RECORD:
            return _REFUSED
        return _TEXT if trace.format.startswith("Torq") else _RECORD
    if reason is Reason.IDENTIFIER_UNKNOWN:
        more = f", and {len(details) - 1} more like it" if len(details) > 1 else ""
        return (
            f"{detail}{more}. Let the delegate register exactly the text or number under which it "
            "logs; Handle map lists both sides."
        )
    if reason is not Reason.NO_DELEGATE_MAP:
        return _REMEDIES[reason]
    if not backend:
        return f"{detail}. Links tells how far this record fits the profile."
    still = ""
    if operators:
        count = "operator" if operators == 1 else f"{operators} operators"
        still = f" DELEGATE_CALL still links to its {count}."
        if calls > 1:
            still = f" The {calls} DELEGATE_CALLs still link to their {operators} operators."
    if backend == XNNPACK:
        return (
            f"{backend} writes no debug handle map. Open the program file (.pte) that ran as well: "
            f"its nodes have the debug handles.{still}"
        )
    if backend in WITHOUT_MAPS:
        return f"{backend} returned no debug handle map: {WITHOUT_MAPS[backend]} never does.{still}"
    return (
        f"{backend} returned no debug handle map: let its preprocess() fill one with a "
        f"DelegateMappingBuilder, and export again.{still}"
    )
