"""A readable listing of every record, text and table sample, to be read when it changes.

Set UPDATE_SNAPSHOTS=1 to write the listings anew, and read the difference.
"""

import os

import pytest

from tests.paths import TESTS
from viewer.codecs.reading import UnreadableFile
from viewer.formats import open_file
from viewer.model.trace import Trace
from viewer.program.program import Program

FILES = sorted(
    [*(TESTS / "data/etrecord").rglob("*.etrecord"), *(TESTS / "data").rglob("*.mlir"),
     *(TESTS / "data/table_csv").glob("*.[ct]sv")]
)  # fmt: skip
READ = {".etrecord", ".etdp", ".csv", ".tsv", ".mlir"}


def listing(item: Program | Trace) -> str:
    return program_listing(item) if isinstance(item, Program) else trace_listing(item)


def program_listing(program: Program) -> str:
    lines = [f"{program.format} {program.generation}".rstrip()]
    lines += [f"problem: {p.count} x {p.kind} [{p.first}]" for p in program.problems]
    for method in program.methods:
        lines.append(f"method {method.name}")
        for instruction, handles in method.handles.items():
            lines.append(f"  instruction {instruction} -> {', '.join(map(str, handles))}")
        for instruction, delegate in method.delegates.items():
            lines.append(f"  delegate at {instruction}: {delegate.backend}")
            for identifier, handles in (delegate.entries or {}).items():
                lines.append(f"    {identifier!r} -> {', '.join(map(str, handles))}")
        for operator in method.operators:
            place = operator.source
            where = f"{place.path}:{place.line} {place.text}" if place else "no line"
            shape = operator.nodes[-1].outputs[:1]
            kept = [t.parameter for n in operator.nodes for t in n.inputs if t.parameter]
            uses = f" uses {' '.join(dict.fromkeys(kept))}" if kept else ""
            inside = "".join(
                f" in the {b}" for b in dict.fromkeys(n.branch for n in operator.nodes) if b
            )
            origin = f" from {' '.join(operator.aten)}" if operator.aten else ""
            lines.append(
                f"  {operator.index} handle {operator.debug_handle}: {operator.label} "
                f"[{operator.module_type}] {'/'.join(operator.ops)} "
                f"{' '.join(f'{t.dtype}{t.shape}' for t in shape)}{uses}{origin}{inside} @ {where}"
            )
    for graph in program.graphs:
        lines.append(f"graph {graph.name}: {' '.join(node.name for node in graph.nodes)}")
    return "\n".join(lines) + "\n"


def trace_listing(trace: Trace) -> str:
    slices = trace.slices
    lines = [f"{trace.format} {trace.generation}".rstrip()]
    lines += [f"problem: {p.count} x {p.kind} [{p.first}]" for p in trace.problems]
    for i in range(len(slices)):
        track = trace.tracks[slices.track(i)]
        columns = {n: c.value(i) for n, c in slices.columns.items() if c.value(i) is not None}
        key = int(slices.key[i])
        lines.append(
            f"{track.process} > {track.thread} depth {slices.depth(i)} "
            f"[{slices.start[i]}, {slices.end[i]}] {trace.name(i)} "
            f"id {trace.keys.identifier[key]!r} {columns or ''}".rstrip()
        )
    return "\n".join(lines) + "\n"


EVERY = sorted(p for p in (TESTS / "data").rglob("*") if p.suffix in READ)


@pytest.mark.parametrize("path", EVERY, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_a_file_called_unknown_reads_as_the_same(path, tmp_path):
    """Content decides: without a telling name every sample is of the same format and content."""
    copy = tmp_path / "unknown"
    copy.write_bytes(path.read_bytes())
    texts = []
    for file in (path, copy):
        try:
            text = listing(open_file(str(file)))
        except UnreadableFile as error:
            text = f"{error.where} {error.reason}"
        text = text.replace(str(file), "PATH")
        for name in (file.name, file.stem):  # processes without a name are called so
            text = text.replace(f"{name} > ", "NAME > ")
        texts.append(text)
    assert texts[0] == texts[1]


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_listing(path):
    try:
        text = listing(open_file(str(path))).replace(str(path.parent), "FOLDER")
    except UnreadableFile as error:
        text = f"unreadable: {error.reason}. {error.remedy}\n"
    snapshot = TESTS / "snapshots" / path.parent.name / f"{path.name}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        snapshot.parent.mkdir(parents=True, exist_ok=True)
        snapshot.write_text(text, encoding="utf-8")
    assert text == snapshot.read_text(encoding="utf-8")
