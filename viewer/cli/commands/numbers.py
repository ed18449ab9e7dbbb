"""`opscope numbers`: the values that profiles logged, and how far they are from references."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence

from viewer.analysis.numbers.compared import (
    compared,
    key_text,
    paired_arrays,
    paired_outputs,
    paired_runs,
)
from viewer.analysis.numbers.logged_values import LoggedInference
from viewer.cli.arguments import Parser, add_files, add_inference, complain
from viewer.cli.commands.open_inputs import open_all, warn
from viewer.codecs.reading import UnreadableFile
from viewer.formats.executorch.debug_buffer import is_debug_buffer
from viewer.formats.executorch.logged_profile import (
    PICKLED,
    LoggedProfile,
    array_values,
    case_of,
    expected_values,
    logged_profile,
)
from viewer.formats.executorch.pte.bundled_outputs import is_bundled, read_bundled_cases
from viewer.formats.npz import NpzFile, is_npz
from viewer.reports.info import Facts
from viewer.reports.numbers import (
    GapReport,
    gap_text,
    reference_facts,
    values_facts,
    values_text,
)
from viewer.workspace.comparison_arms import share_programs
from viewer.workspace.workspace import Workspace

_NO_PROFILE = "no open file is an ETDump: only these log values"


def run(arguments: list[str]) -> int:
    """Run the command with the arguments after its name. Returns the exit code."""
    parser = Parser(
        prog="opscope numbers",
        usage="opscope numbers FILE [FILE ...] [BUFFER.bin] [--with REFERENCE ...] [options]",
        description="Report the tensors that an ETDump logged, from its debug buffer: range, mean, "
        "NaN, and a histogram. With --with, report how far they are from a reference: another "
        "ETDump, an .npz, or the expected outputs of a bundled program.",
    )
    add_files(parser, "+")
    parser.add_argument(
        "--with",
        dest="others",
        nargs="+",
        metavar="REFERENCE",
        help="another ETDump (with its buffer and ETRecord), an .npz whose keys are debug handles, "
        'such as 8 or "1,2,3", or names of operators, or a bundled program (.bpte)',
    )
    add_inference(parser)
    parser.add_argument(
        "--case",
        type=int,
        metavar="N",
        help="the test case of a bundled program, counted from 0, if the profile does not state it",
    )
    parser.add_argument("--all", action="store_true", help="print all rows")
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    chosen = parser.parse_args(arguments)
    try:
        facts, failed = (_gap if chosen.others else _values)(parser, chosen)
    except UnreadableFile as error:
        complain(str(error))
        return 1
    except ValueError as error:
        complain(str(error))
        return 2
    if facts is None:
        return 1
    if chosen.json:
        print(json.dumps(facts, indent=1, allow_nan=False))
    else:
        print((gap_text if chosen.others else values_text)(facts, everything=chosen.all))
    return 1 if failed else 0


def _values(
    parser: argparse.ArgumentParser, chosen: argparse.Namespace
) -> tuple[Facts | None, bool]:
    """Return the facts of all profiles, None if there is none, and whether anything failed."""
    workspace, buffers, failed = _opened(parser, chosen, chosen.files)
    warn(workspace)
    profiles = []
    for trace in workspace.traces:
        try:
            profiles.append(logged_profile(workspace.links(trace), buffers))
        except UnreadableFile as error:
            complain(str(error))
            failed = True
    if not profiles:
        if not failed:
            complain(_NO_PROFILE)
        return None, True
    return values_facts(profiles, chosen.inference), failed


def _gap(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> tuple[Facts | None, bool]:
    """Return the facts of the gap, None if it cannot be found, and whether anything failed."""
    references = [path for path in chosen.others if is_npz(path) or is_bundled(path)]
    rest = [path for path in chosen.others if path not in references]
    workspace, buffers, failed = _opened(parser, chosen, chosen.files)
    if failed and not workspace.traces:
        return None, True
    if len(references) == 1:
        # An ETRecord may stand on either side.
        _add_programs(parser, chosen, workspace, rest)
        warn(workspace)
        profile = _only(workspace, buffers, "FILE")
        return _with_file(profile, references[0], chosen), failed
    if references:
        parser.error("--with: give one reference")
    other, others, failed_too = _opened(parser, chosen, rest)
    if failed_too and not other.traces:
        return None, True
    if not other.traces and other.programs:
        raise UnreadableFile(other.programs[0].path, PICKLED)
    share_programs(workspace, other)
    share_programs(other, workspace)
    for space in (workspace, other):
        warn(space)
    profile, reference = _only(workspace, buffers, "FILE"), _only(other, others, "--with")
    return _with_profile(profile, reference, chosen.inference), failed or failed_too


def _opened(
    parser: argparse.ArgumentParser, chosen: argparse.Namespace, files: Sequence[str]
) -> tuple[Workspace, list[str], bool]:
    """Return a workspace with some files, the debug buffers among them, and any failure."""
    buffers = [path for path in files if is_debug_buffer(path)]
    rest = [path for path in files if path not in buffers]
    if not rest:
        parser.error("give the ETDump of the debug buffer")
    namespace = argparse.Namespace(**{**vars(chosen), "files": rest})
    workspace, failed = open_all(parser, namespace)
    return workspace, buffers, failed


def _add_programs(
    parser: argparse.ArgumentParser,
    chosen: argparse.Namespace,
    workspace: Workspace,
    files: Sequence[str],
) -> None:
    """Open ETRecords and program files that were given on the side of the reference."""
    if not files:
        return
    other, _, _ = _opened(parser, chosen, files)
    if other.traces:
        parser.error("--with: give one reference")
    share_programs(other, workspace)


def _only(workspace: Workspace, buffers: Sequence[str], where: str) -> LoggedProfile:
    """Return the only profile with values of a side. Raises UnreadableFile, ValueError."""
    logged_profiles, errors = [], []
    for trace in workspace.traces:
        try:
            logged_profiles.append(logged_profile(workspace.links(trace), buffers))
        except UnreadableFile as error:
            errors.append(error)
    if len(logged_profiles) == 1:
        return logged_profiles[0]
    if logged_profiles:
        raise ValueError(f"{where}: give one profile with logged values")
    if errors:
        raise errors[0]
    raise ValueError(f"{where}: {_NO_PROFILE}")


def _with_profile(profile: LoggedProfile, reference: LoggedProfile, number: int | None) -> Facts:
    report = GapReport(
        profile,
        reference_facts(reference.table.trace.path, "profile", reference.buffer),
    )
    logged_inferences, others = profile.chosen(number), reference.chosen(number)
    partner = {logged_inference.method: logged_inference for logged_inference in others}
    if len(logged_inferences) == len(others) == 1:
        partner = {logged_inferences[0].method: others[0]}  # names of scopes may differ
    pairs = [
        (logged_inference, partner[logged_inference.method])
        for logged_inference in logged_inferences
        if logged_inference.method in partner
    ]
    if not pairs:
        raise ValueError("the two profiles logged values of different methods")
    for logged_inference, other in pairs:
        rows = paired_runs(profile.side(logged_inference), reference.side(other))
        report.add(logged_inference, compared(rows, profile.table.program), other)
    missing = len(logged_inferences) - len(pairs)
    if missing:
        report.problem("method without logged values in the reference", missing)
    return report.facts()


def _with_file(profile: LoggedProfile, path: str, chosen: argparse.Namespace) -> Facts:
    """Compare with an `.npz` or a bundled program."""
    inferences = profile.chosen(chosen.inference)
    if is_bundled(path):
        return _with_bundle(profile, path, inferences, chosen.case)
    if len(inferences) > 1:
        names = ", ".join(logged_inference.method for logged_inference in inferences)
        raise ValueError(f"{os.path.basename(path)}: it has one method, the profile has {names}")
    report = GapReport(profile, reference_facts(path, "arrays"))
    file = NpzFile(path)
    pairs, unused = paired_arrays(profile.side(inferences[0]), array_values(file))
    report.add(inferences[0], compared(pairs, profile.table.program))
    report.unused = [key_text(key) for key in unused]
    file.close()
    return report.facts()


def _with_bundle(
    profile: LoggedProfile, path: str, inferences: Sequence[LoggedInference], case: int | None
) -> Facts:
    report = GapReport(profile, reference_facts(path, "expected outputs"))
    bundle = read_bundled_cases(path)
    for inference in inferences:
        expected = expected_values(bundle, case_of(bundle, inference, case))
        pairs = paired_outputs(profile.side(inference), expected)
        report.add(inference, compared(pairs, profile.table.program))
    return report.facts()
