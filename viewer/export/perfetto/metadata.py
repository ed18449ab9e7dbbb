"""The metadata of a Perfetto file: the tool, the clocks, the input files.

Every fact is a trace attribute, `org.opscope.<name>` for the file or `org.opscope.source<n>.<name>`
for its n-th trace. Engines before v58 ignore trace attributes. So the facts are also metadata as
Chrome writes them, which all engines show: `select * from metadata`, and "Info and stats" of the
Perfetto UI, have them with the prefix "cr-". No slice and no track is needed.

A trace that is itself an Opscope export of one file keeps that file's metadata: which file it was
made from, its format, its hash. Only its clock may have been chosen again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

import viewer
from viewer.export.perfetto.packets import SEQUENCE, clean, framed
from viewer.export.perfetto.source import Facts, FlowEdges, PerfettoSource
from viewer.model.provenance import FIRST, PREFIX, first_ns, is_of_one_file, of_source
from viewer.model.system_clocks import zeros_text
from viewer.model.trace import Trace

LEFT_OUT, _FLOWS = "flows_left_out", "flows"
_INPUT = re.compile(r"input\d+\.file")


def inputs_of(trace: Trace) -> int:
    """Return the number of ETRecords and texts behind an Opscope export, besides its profile."""
    if not is_of_one_file(trace.provenance):
        return 0
    return sum(bool(_INPUT.fullmatch(name)) for name in trace.provenance)


def facts_of(
    origin: int, facts: Facts, sources: Sequence[PerfettoSource]
) -> tuple[dict[str, int | str], list[dict[str, int | str]]]:
    """Return the metadata of a file and of each source; `facts` is known only to the caller.

    If the only source is an Opscope export, its metadata is carried over unless `facts` has a newer
    value; "whole trace" refers to what that export contained.
    """
    of_file: dict[str, int | str] = {"tool": f"Opscope {viewer.__version__}", "origin_ns": origin}
    of_sources = [_source_facts(source) for source in sources]
    if len(sources) == 1 and is_of_one_file(stated := sources[0].trace.provenance):
        of_file |= {k: v for k, v in stated.items() if k not in of_file and not k.startswith(FIRST)}
        if facts.get("range") == "whole trace":
            facts = {name: value for name, value in facts.items() if name not in stated}
        if first_ns(stated) == origin - sources[0].offset_ns:  # only their difference matters
            of_file["origin_ns"] = stated.get("origin_ns", 0)
            of_sources[0]["offset_ns"] = stated.get(f"{FIRST}offset_ns", 0)
    return _storable({**of_file, **facts}), of_sources


def _source_facts(source: PerfettoSource) -> dict[str, int | str]:
    """Return what is needed to convert this file's ns back to the input's ticks."""
    trace = source.trace
    clock: dict[str, int | str] = {
        "clock_unit": trace.clock.unit,
        "clock_domain": trace.clock.domain,
        "clock_rate": str(source.rate_origin),
        "ns_per_tick": str(source.ns_per_tick),
        "offset_ns": source.offset_ns,
    }
    if trace.clock.zeros:
        clock["clock_zeros"] = zeros_text(trace.clock.zeros)
    if is_of_one_file(trace.provenance):
        carried = of_source(trace.provenance)
        for name in (LEFT_OUT, _FLOWS):  # `flow_facts` adds them
            carried.pop(name, None)
        if source.ns_per_tick == trace.clock.ns_per_tick:
            clock.pop("clock_rate")
        return _storable({**carried, **clock, **source.placement})
    facts: dict[str, int | str] = {
        "file": os.path.basename(trace.path),
        "format": trace.format,
        "generation": trace.generation,
        **clock,
        **source.placement,
        **source.input,
    }
    if len(trace.untimed):
        facts["events_without_time"] = f"{len(trace.untimed)} are not included"
    for name, column in trace.slices.columns.items():
        if column.unit:
            facts[f"unit_of_{name}"] = column.unit
    return _storable(facts)


def flow_facts(source: PerfettoSource, edges: FlowEdges, written: int) -> dict[str, int | str]:
    """Return the number of flows of a source, and a text on those that are not in the file."""
    facts: dict[str, int | str] = {_FLOWS: written}
    left_out = []
    if earlier := source.trace.provenance.get(f"{FIRST}{LEFT_OUT}"):
        left_out.append(str(earlier))
    if edges.asked < edges.of:
        left_out.append(
            f"only the first {edges.asked} of {edges.of} slices were searched for inputs"
        )
    if written < len(edges.producer):
        left_out.append(
            f"{len(edges.producer) - written} lead to an earlier slice with the same start"
        )
    if left_out:
        facts[LEFT_OUT] = "; ".join(left_out)
    return facts


def _storable(facts: Mapping[str, int | str]) -> dict[str, int | str]:
    """Return facts with ints beyond 64 bits as text, since they have no field."""
    return {
        clean(name): value
        if isinstance(value, int) and -(2**63) <= value < 2**63
        else clean(str(value))
        for name, value in facts.items()
    }


def metadata_packets(facts: Facts, of_sources: Mapping[int, Facts]) -> bytes:
    """Return packets with facts about the file, and about sources by their numbers from 1."""
    named = {f"{PREFIX}{name}": value for name, value in facts.items()}
    for number, source_facts in of_sources.items():
        named |= {f"{PREFIX}source{number}.{name}": value for name, value in source_facts.items()}
    ours = pb.TracePacket(trusted_packet_sequence_id=SEQUENCE)
    older = pb.TracePacket(trusted_packet_sequence_id=SEQUENCE)
    for name, value in named.items():
        attribute = ours.trace_attributes.attribute.add(key=name)
        entry = older.chrome_events.metadata.add(name=name)
        if isinstance(value, int):
            attribute.long_value = entry.int_value = value
        else:
            attribute.string_value = entry.string_value = value
    return framed(ours) + framed(older)
