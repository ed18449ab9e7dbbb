"""What must be true of every file that can be read; `Broken` says what is not.

`read` is cheap and for every input. `use` links, adds up, exports and reads back: for a sample.
"""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.builders.workspaces import export
from tests.paths import DATA
from tests.reliability.fuzz.broken import Broken, must
from tests.reliability.fuzz.inspect_answers import INSPECTED, check_inspect
from tests.reliability.fuzz.kinds import Kind
from tests.reliability.fuzz.own_files import INPUTS
from tests.reliability.fuzz.totals import check_totals
from viewer.analysis.cost.costs import Costs
from viewer.analysis.links.labels import slice_labels
from viewer.analysis.links.link_table import LinkTable
from viewer.analysis.memory.plan import memory_plan, planned_counters
from viewer.analysis.numbers.compared import compared, paired_runs
from viewer.analysis.numbers.tensor_summary import summary_of
from viewer.analysis.sizes.file_parts import file_parts
from viewer.analysis.sizes.groups import GroupKey, groups
from viewer.analysis.statistics.events import event_statistics
from viewer.api.session_queries import complaint_of, kept_queries
from viewer.codecs.column_file import ColumnFile, DamagedFile, unpacked
from viewer.codecs.reading import UnreadableFile
from viewer.export.perfetto.source import PerfettoSource, TimesTooFarApart
from viewer.export.perfetto.writer import write_perfetto
from viewer.formats import open_file
from viewer.formats.column_cache import trace_in
from viewer.formats.executorch.logged_profile import expected_values, logged_profile
from viewer.formats.executorch.pte.bundled_outputs import is_bundled, read_bundled_cases
from viewer.formats.table.reader import TIME_LIMIT
from viewer.html_report.contents import Limits, ReportOptions, contents_of
from viewer.html_report.queries import queries
from viewer.model.inference_views import Inferences, aligned_runs, mean_run
from viewer.model.queries import NATIVE_DURATION, preorder
from viewer.model.trace import KeyKind, Trace
from viewer.model.trace_checks import require_fitting_values
from viewer.model.untimed import value_text
from viewer.program.executables import Executable
from viewer.program.program import Program
from viewer.render.raster import KeptRaster
from viewer.reports.info import info, info_text
from viewer.reports.numbers import GapReport, gap_text, reference_facts, values_facts, values_text
from viewer.reports.program_files import (
    difference_facts,
    difference_text,
    memory_facts,
    memory_text,
    sizes_facts,
    sizes_text,
)
from viewer.tables.slices import untimed_columns
from viewer.view.open_trace import views_of
from viewer.view.sessions.opened_files import is_session, with_inputs
from viewer.view.sessions.saved_view import shown_view
from viewer.view.sessions.session_file import find_inputs
from viewer.view.sessions.session_file import read as read_session
from viewer.view.state import ViewState
from viewer.workspace.link_choices import apply
from viewer.workspace.workspace import Workspace

Item = Trace | Program | Executable | None


def _difference(found: Sequence[object], wanted: Sequence[object]) -> str:
    """Return the first rows that only one of two lists has."""
    lost, more = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    return f"{len(found)} slices, not {len(wanted)}: {list(more)[:2]}, not {list(lost)[:2]}"


def prepare(folder: Path) -> None:
    """Put what sessions have as their inputs into the folder of the inputs."""
    for name in INPUTS:
        source = next(DATA.glob(f"*/{name}"))
        shutil.copyfile(source, folder / name)


# -- every input ---------------------------------------------------------------------------------


def read(path: Path, kind: Kind) -> tuple[Item, object]:
    """Read a file and check what it became; returns it and what it shows. Raises UnreadableFile."""
    if kind.name == "settings":
        return None, _read_settings(path)
    if kind.name == "columns":
        return None, _read_columns(path)
    if kind.name == "session":
        return None, _read_session(path)
    item = open_file(str(path))
    if isinstance(item, Trace):
        check_trace(item)
        counts = (len(item.slices), len(item.tracks), len(item.counters), len(item.flows),
                  len(item.untimed), len(item.runs), len(item.keys))  # fmt: skip
    elif isinstance(item, Program):
        check_program(item)
        counts = (len(item.operators), len(item.nodes), len(item.methods), len(item.graphs))
    else:
        counts = (len(item.methods), 0)
    problems = getattr(item, "problems", ())
    kinds = frozenset(problem.kind for problem in problems)
    must(all(problem.count > 0 for problem in problems), "a problem that occurs 0 times")
    return item, (kinds, getattr(item, "generation", ""), *(count.bit_length() for count in counts))


def check_trace(trace: Trace) -> None:
    """Check the columns of a trace. Raises Broken."""
    slices, keys = trace.slices, trace.keys
    count, rows = len(slices), len(slices.row_ptr) - 1
    for name in ("end", "name", "key", "source_row"):
        must(len(getattr(slices, name)) == count, f"slices.{name} has another length")
    for name in ("row_track", "row_lane", "row_depth"):
        must(len(getattr(slices, name)) == rows, f"slices.{name} has another length")
    ptr = slices.row_ptr
    must(ptr[0] == 0 and ptr[-1] == count and (np.diff(ptr) >= 0).all(), "row_ptr is no CSR")
    must(slices.start.dtype == np.int64 and slices.end.dtype == np.int64, "times are not int64")
    must((slices.end >= slices.start).all(), "a slice ends before it starts")
    must(_in_range(slices.row_track, len(trace.tracks)), "a row on no track")
    must(_in_range(slices.name, len(trace.strings)), "a name that is not in the texts")
    must(_in_range(slices.key, len(keys)), "a key that is not in the keys")
    if count > 1:
        same = np.ones(count - 1, np.bool_)
        inner = ptr[1:-1]
        same[inner[(inner > 0) & (inner < count)] - 1] = False
        must((slices.start[1:] >= slices.start[:-1])[same].all(), "a row is not sorted by start")
        must((slices.start[1:] >= slices.end[:-1])[same].all(), "slices of one row overlap")
    if slices.order is not None:
        must(len(slices.order) == count, "slices.order has another length")
        must((np.sort(slices.order) == np.arange(count)).all(), "the order is no permutation")
    # The first slice has depth 0, and another one at most one more than the slice before it.
    depth = slices.row_depth[slices.rows()].astype(np.int64)[preorder(slices)]
    must((np.diff(depth, prepend=-1) <= 1).all(), "the order is no preorder")
    places = list(zip(slices.row_track.tolist(), slices.row_lane.tolist(),
                      slices.row_depth.tolist(), strict=True))  # fmt: skip
    must(len(set(places)) == rows, "two rows at one place")
    for name, column in slices.columns.items():
        _check_column(column, count, f"column {name!r}")
    for mask in (slices.derived, slices.timing):
        must(mask is None or len(mask) == count, "derived or timing has another length")
    for name in ("scope", "name", "instruction", "identifier", "location"):
        must(len(getattr(keys, name)) == len(keys), f"keys.{name} has another length")
    must(_in_range(keys.name, len(trace.strings)), "a key without a name")
    must(_in_range(keys.scope, max(len(trace.scopes), 1)), "a key in no scope")
    must(not len(keys) or int(keys.kind.max()) <= max(KeyKind), "a key of no kind")
    for flow in (trace.flows.producer, trace.flows.consumer):
        must(len(flow) == len(trace.flows) and _in_range(flow, count), "a flow without a slice")
    for counter in trace.counters:
        must(len(counter.tick) == len(counter.value), "a counter of two lengths")
        must((counter.tick[1:] > counter.tick[:-1]).all(), "times of a counter do not ascend")
        must(counter.value.dtype.kind in "if", "a counter that is no number")
        must(np.isfinite(counter.value).all(), "a counter that is not finite")
    for run in trace.runs:
        must(run.end >= run.start, "a run ends before it starts")
        must(0 <= run.track < len(trace.tracks), "a run on no track")
        must(0 <= run.scope < max(len(trace.scopes), 1), "a run in no scope")
    must(trace.clock.ns_per_tick > 0, "a clock that stands still")
    events = trace.untimed
    for name in ("block", "run", "source_row", "after", "call", "identifier", "type", "value",
                 "output"):  # fmt: skip
        must(len(getattr(events, name)) == len(events), f"untimed.{name} has another length")
    must((events.after < max(count, 1)).all(), "an untimed event after no slice")
    must((events.run < max(len(trace.runs), 1)).all(), "an untimed event in no run")
    must((events.call < max(count, 1)).all(), "an untimed event in no call")
    if trace.calls is not None:
        stacks = len(trace.calls.stack_name)
        must((trace.calls.stack_parent < np.arange(stacks)).all(), "a stack after its caller")
        must((trace.calls.stack < max(stacks, 1)).all(), "a key in no stack")


def _in_range(codes: Any, count: int) -> bool:
    return not len(codes) or (int(codes.min()) >= 0 and int(codes.max()) < count)


def _check_column(column: Any, count: int, what: str) -> None:
    must(len(column.values) == count, f"{what} has another length")
    must(column.valid is None or len(column.valid) == count, f"{what}: its mask has another length")
    if column.strings is not None:
        shown = column.values if column.valid is None else column.values[column.valid]
        must(_in_range(shown, len(column.strings)), f"{what}: a text that does not exist")


def check_program(program: Program) -> None:
    """Check that the operators and methods of a program have texts that can be written."""
    for one in program.operators:
        frames = [f"{frame.path}:{frame.line}" for frame in one.frames]
        "".join((one.label, *one.ops, *one.aten, *frames)).encode()


def _read_session(path: Path) -> object:
    if not is_session(str(path)):
        raise UnreadableFile(str(path), "this is not a session file")
    saved = read_session(str(path))
    files, choices, complaints = with_inputs([str(path)])
    workspace = Workspace()
    readable = [name for name in files if Path(name).name in INPUTS]
    for name in readable:
        workspace.add(_opened(name))
    refused = 0
    for one in choices:
        refused += len(apply(one, workspace))
    lost: list[str] = []
    if saved.view is not None:
        found = [one.path for one in find_inputs(saved, str(path.parent), lambda: False)]
        views = views_of(workspace, {Inferences.AS_RUN}, {})
        opened = [views[trace, Inferences.AS_RUN] for trace in workspace.traces]
        state, lost = shown_view(saved.view, ViewState(), opened, found)
        repr(state)
        rows = kept_queries([str(path)], workspace).rows(workspace)
        lost += [complaint_of(rows)]
        if rows:
            queries(contents_of(workspace, ReportOptions(queries=rows), Limits())).encode()
    "".join((*complaints, *lost)).encode("utf-8", "surrogateescape")
    return len(files), len(complaints).bit_length(), len(lost).bit_length(), bool(refused)


def _read_columns(path: Path) -> object:
    """Read a file of columns as the window does, and then as it is checked and drawn."""
    path.chmod(0o600)
    try:
        file = ColumnFile(str(path))
        trace = trace_in(file)
        damage = file.damage()
        require_fitting_values(trace)
        raster = unpacked(file, file.content["raster"], KeptRaster)
    except DamagedFile as error:
        raise UnreadableFile(str(path), str(error)) from error
    except (ValueError, KeyError) as error:
        raise UnreadableFile(str(path), "its values do not fit") from error
    slices = trace.slices
    drawn = raster.raster(slices, (slices.name % 12).astype(np.uint8))
    must(drawn is None or len(drawn.color) == len(drawn.drawn.start), "colors of other slices")
    return bool(damage), drawn is None, len(slices).bit_length(), len(trace.keys).bit_length()


@cache
def _opened(path: str) -> Any:
    return open_file(path)


def _read_settings(path: Path) -> object:
    from PySide6.QtCore import QSettings

    from viewer.gui.qt import settings as stored

    store = QSettings(str(path), QSettings.Format.IniFormat)
    settings = stored.Settings(store)
    known = [one for one in vars(stored).values() if isinstance(one, stored.Setting)]
    shown = []
    for one in known:
        value = settings.get(one)
        must(isinstance(value, one.type), f"{one.name} is not a {one.type.__name__}")
        must(not one.choices or value in one.choices, f"{one.name} is none of its choices")
        shown.append(value == one.default)
    settings.recent_sets()
    settings.source_paths()
    settings.identifier_columns()
    settings.keys()
    return tuple(shown)


# -- a sample of inputs --------------------------------------------------------------------------


@cache
def _partner(kind: Kind) -> Trace | Program | Executable:
    return open_file(str(DATA / kind.partner))


def use(item: Item, kind: Kind, path: Path) -> None:
    """Do with a file what the application does: link, report, add up, export. Raises Broken."""
    if item is None:
        return
    workspace = Workspace()
    workspace.add(_partner(kind))
    workspace.add(item)
    said = [info_text(workspace), json.dumps(info(workspace))]
    if isinstance(item, Executable):
        said.append(memory_text(memory_facts(workspace)))
        check_memory(item)
        said.append(sizes_text(sizes_facts(workspace, GroupKey.OPERATOR)))
        said.append(difference_text(difference_facts(_alone(item), _alone(_own_program()))))
        check_sizes(item)
        if is_bundled(str(path)):
            check_expected(path)
    for trace in workspace.traces:
        said += workspace.warnings(trace)
        table = workspace.links(trace)
        said += slice_labels(table)[1]
        said += [found.detail for found in table.links]
        _check_links(table)
        for counter in planned_counters(trace, table.ran):
            must((np.diff(counter.tick) > 0).all(), "bytes in use not in the order of time")
            must((counter.value >= 0).all(), "a negative number of bytes in use")
        if trace.path == str(path):
            check_totals(table)
            said += _what_follows(table)
            said += check_numbers(table, path)
    "".join(said).encode()  # a text that cannot be encoded can be neither shown nor written
    if kind.name in INSPECTED:
        check_inspect(path, kind)
    if isinstance(item, Trace):
        check_perfetto(item, path)
        check_csv(item, path)


def check_memory(executable: Executable) -> None:
    """Check the memory plans of a program file: bytes in use are those of the storages then."""
    for method in executable.methods:
        plan = memory_plan(method)
        must((plan.live >= 0).all(), "a negative number of bytes in use")
        must(len(plan.live) == len(method.instructions), "bytes in use of other instructions")
        if len(plan.storages):
            held = plan.storages.live_at(plan.peak_instruction)
            must(int(plan.storages.size[held].sum()) >= plan.peak > 0, "a peak without tensors")


def check_sizes(executable: Executable) -> None:
    """Check the parts of a program file: they and their groups add up to the file."""
    found = file_parts(executable)
    must(sum(part.size for part in found.parts) == executable.size, "parts are not the file")
    must(all(0 < part.size <= part.extent for part in found.parts), "a part of a negative size")
    for key in GroupKey:
        total = sum(group.size for group in groups(found, key))
        must(total == executable.size, f"groups by {key} are not the file")


@cache
def _own_program() -> Executable:
    found = open_file(str(DATA / "pte" / "mobile_x.pte"))
    assert isinstance(found, Executable)
    return found


def _alone(executable: Executable) -> Workspace:
    workspace = Workspace()
    workspace.add(executable)
    return workspace


def check_numbers(table: LinkTable, path: Path) -> list[str]:
    """Read the logged values of a dump from a buffer: each is equal to itself, or has a fault."""
    buffer = path.with_name("values.bin")
    buffer.write_bytes(bytes(range(256)) * 64)
    try:
        profile = logged_profile(table, [str(buffer)])
    except UnreadableFile:
        return []
    values = values_facts([profile])
    report = GapReport(profile, reference_facts(str(path), "profile"))
    for inference in profile.chosen(None):
        side = profile.side(inference)
        compared_values = compared(paired_runs(side, side), profile.table.program)
        report.add(inference, compared_values, inference)
        for one in compared_values:
            must((one.gap is None) == bool(one.fault), "a gap with a fault, or none without")
            equal = one.gap is None or not one.gap.count or one.gap.is_exact
            must(equal or any(one.gap.inf if one.gap else ()), "a value that differs from itself")
    gap = report.facts()
    return [
        json.dumps([values, gap], allow_nan=False),
        values_text(values, everything=True),
        gap_text(gap, everything=True),
    ]


def check_expected(path: Path) -> None:
    """Read the expected outputs of a bundled program: those without a fault can be read."""
    try:
        bundle = read_bundled_cases(str(path))
    except UnreadableFile:
        return
    for case in bundle.cases:
        for value in expected_values(bundle, case):
            if not value.fault:
                must(summary_of(value.open()).count == value.layout.count, "values that are lost")


def _check_links(table: LinkTable) -> None:
    must(len(table.links) == len(table.trace.keys), "links of another number of keys")
    if table.program is not None:
        operators, nodes = len(table.program.operators), len(table.program.nodes)
        for one in table.links:
            must(all(0 <= i < operators for i in one.operators + one.near), "a link to no operator")
            must(all(0 <= i < nodes for i in one.nodes), "a link to no node")


def _what_follows(table: LinkTable) -> list[str]:
    """Other views of a trace, statistics and tables; returns the texts that they show."""
    trace = table.trace
    native = trace.slices.columns.get(NATIVE_DURATION)
    must(native is None or (native.values >= 0).all(), "a negative duration on a delegate's clock")
    for shown in (aligned_runs(trace), mean_run(trace)):
        must((shown.slices.end >= shown.slices.start).all(), "a view with a negative duration")
        Costs(replace(table, trace=shown)).table()
    untimed_columns(table, "p")
    statistics, events = event_statistics(table), trace.untimed
    names = [statistics.name(row) for row in range(len(statistics))]
    return [*names, *statistics.block_titles, *(value_text(events, i) for i in range(len(events)))]


Row = tuple[str, str, str, int, int]


def rows_of(trace: Trace) -> list[Row]:
    """Return process, thread, name, start and end of every slice, sorted."""
    slices = trace.slices
    tracks = slices.row_track[slices.rows()].tolist()
    columns = zip(
        tracks, slices.name.tolist(), slices.start.tolist(), slices.end.tolist(), strict=True
    )
    return sorted(
        (trace.tracks[track].process, trace.tracks[track].thread, trace.strings[name], start, end)
        for track, name, start, end in columns
    )


def check_perfetto(trace: Trace, path: Path) -> None:
    """Export to Perfetto and read back: the same slices at the same ticks."""
    if not len(trace.slices):
        return
    out = io.BytesIO()
    try:
        write_perfetto([PerfettoSource.of(trace)], out)
    except TimesTooFarApart:
        return
    exported = path.with_name("exported.pftrace")
    exported.write_bytes(out.getvalue())
    again = open_file(str(exported))
    must(isinstance(again, Trace), "a Perfetto export that is no trace")
    assert isinstance(again, Trace)
    check_trace(again)
    must(again.clock.ns_per_tick == trace.clock.ns_per_tick, "a Perfetto export on another clock")
    found, wanted = (
        rows_of(again),
        [(*row[:2], row[2] or "(unnamed)", *row[3:]) for row in rows_of(trace)],
    )
    if not all(track.process and track.thread for track in trace.tracks):
        # Such a process or thread is named by its number.
        found, wanted = [row[2:] for row in found], [row[2:] for row in wanted]
    if sorted(found) != sorted(wanted):
        raise Broken("a Perfetto export has other slices", _difference(found, wanted))


def check_csv(trace: Trace, path: Path) -> None:
    """Export as CSV and read back: the same slices, at their times in ns rounded down."""
    if not len(trace.slices):
        return
    workspace = Workspace()
    workspace.add(trace)
    rate = workspace.clocks.ns_per_tick(trace)
    if max(-trace.start, trace.end) * rate >= TIME_LIMIT:
        return  # a table has no times beyond it
    exported = path.with_name("exported.csv")
    export(workspace, str(exported))
    again = open_file(str(exported))
    must(isinstance(again, Trace), "a CSV export that is no trace")
    assert isinstance(again, Trace)

    def ns(tick: int) -> int:
        return tick * rate.numerator // rate.denominator

    wanted = sorted((name, ns(start), ns(end)) for _, _, name, start, end in rows_of(trace))
    found = sorted(row[2:] for row in rows_of(again))
    event = dict(trace.slices.columns).get("event")
    if trace.provenance and event is not None and event.strings is not None:
        # The table has the names that an export of Opscope states, which may be hostile too.
        wanted, found = ([("", *row[1:]) for row in rows] for rows in (wanted, found))
        wanted.sort()
        found.sort()
    if found != wanted:
        raise Broken("a CSV export has other slices", _difference(found, wanted))
