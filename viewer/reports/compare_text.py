"""A comparison in words: as text for a terminal, as Markdown, and in sentences. No Qt.

The sentences have the answer first, then the rows that explain it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from viewer.analysis.comparison.arms import (
    Arm,
    WallRate,
    drift_exceeds,
    figures_text,
    is_one_file,
    wall_rate,
)
from viewer.analysis.comparison.comparison import (
    CHANGED,
    LARGE,
    VERDICTS,
    Compared,
    Comparison,
    Doubt,
    Verdict,
)
from viewer.analysis.comparison.levels import CALLS, IDENTITIES, NAME, PATH
from viewer.analysis.comparison.operator_pairs import Grade, Row
from viewer.analysis.comparison.path_changes import BETWEEN, PathChanges
from viewer.analysis.comparison.rows import DELEGATE_EVENT
from viewer.analysis.comparison.session_test import LEAST_SESSIONS
from viewer.analysis.comparison.sessions import UNKNOWN, celsius_text, clock_text
from viewer.analysis.findings.inferences import BETWEEN_SHARE
from viewer.dataclasses import replace
from viewer.model.text import capped, markdown_text, one_line
from viewer.model.times import MINUS, counted, format_time, group_digits, plain_spaces
from viewer.model.trace_attributes import INFERENCE, WorkUnit
from viewer.render.flame_graph.boxes import FlameGraph, flame_graph
from viewer.render.flame_graph.changed_calls import ChangedCalls
from viewer.render.palette import COLORS_OF_CHANGES, FASTER_MARK, SLOWER_MARK
from viewer.reports.parts import aligned_times, column_lines

_TITLES = ("Δ", "change", "95 % interval", "A", "B", "verdict", "pair", "what")
WORDS = {
    Verdict.SLOWER: "slower",
    Verdict.FASTER: "faster",
    Verdict.NO_CHANGE: "no change",
    Verdict.CANNOT_TELL: "inconclusive",
}
# Calls of a path that are shown, the innermost.
_MOST_CALLS = 4
# A row with its figures, and its drift within sessions.
ListedRow = tuple[Row, Compared, float | None]
RELATIVE = "Times of rows are relative to the inference: the common factor is removed."
DRIFT = "drift within sessions"
# Rows without a proven change that are shown by default, largest change first.
_MOST = 10


def compare_text(
    comparison: Comparison, problems: Sequence[str] = (), *, everything: bool = False
) -> str:
    """Return a comparison as text; everything: all rows, not only those that matter most."""
    shown, left = _shown(comparison, everything)
    lines = [*_head(comparison), "", *rows_lines(shown)]
    lines += session_lines(comparison) if everything else []
    lines += _tail(comparison, left)
    lines += [f"note: {one_line(problem)}" for problem in problems]
    return plain_spaces("\n".join(lines))


def rows_lines(rows: Sequence[ListedRow]) -> list[str]:
    """Return rows as the lines of a table with a head; none without rows."""
    if not rows:
        return []
    cells = [_cells(*each) for each in rows]
    columns = [(title, [own[i] for own in cells]) for i, title in enumerate(_TITLES)]
    for i in (0, 3, 4):
        columns[i] = (_TITLES[i], aligned_times(columns[i][1]))
    return column_lines(columns, 5)


def session_lines(comparison: Comparison) -> list[str]:
    """Return the sessions of both arms as a table, in their order; none without conditions."""
    sessions = [
        (session, name, float(ns))
        for name, arm, times in zip(
            "AB", (comparison.a, comparison.b), comparison.inference_times, strict=True
        )
        for session, ns in zip(arm.sessions, times, strict=True)
    ]
    if all(session.conditions == UNKNOWN for session, _, _ in sessions):
        return []
    sessions.sort(key=lambda each: (each[0].conditions.order or 0, each[1]))
    cells = [
        (
            str(session.conditions.order or ""),
            format_time(round(ns)),
            celsius_text(session.conditions.temperature_c),
            clock_text(session.conditions.frequency_khz),
            name,
            one_line(session.name),
        )
        for session, name, ns in sessions
    ]
    titles = ("order", comparison.unit.noun, "temperature", "clock", "arm", "session")
    columns = zip(titles, map(list, zip(*cells, strict=True)), strict=True)
    return ["", *column_lines(list(columns), 4), ""]


def compare_markdown(
    comparison: Comparison, problems: Sequence[str] = (), *, everything: bool = False
) -> str:
    """Return the same as Markdown."""
    shown, left = _shown(comparison, everything)
    lines = [*(f"{markdown_text(line)}  " for line in _head(comparison)), ""]
    if shown:
        lines += [
            "| " + " | ".join(_TITLES) + " |",
            "| " + " | ".join("---:" if i < 5 else "---" for i in range(len(_TITLES))) + " |",
        ]
        for each in shown:
            cells = map(markdown_text, _cells(*each))
            lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *(f"{line}  " for line in _tail(comparison, left))]
    lines += [f"> {markdown_text(problem)}" for problem in problems]
    return plain_spaces("\n".join(lines))


def sentence(comparison: Comparison) -> str:
    """Return the answer: "B is 12.0 % slower, +1.9 ms per inference".

    One sentence; without a verdict, why there is none, and then what was measured.
    """
    return sentence_of(comparison.inference, files=are_files(comparison), unit=comparison.unit)


def sentence_of(
    one: Compared,
    *,
    files: bool = False,
    has_clock_option: bool = True,
    unit: WorkUnit = INFERENCE,
) -> str:
    """Return the same of the figures of an inference.

    files: whether it is of whole files. has_clock_option: whether the command has --clock. unit:
    what the files call their inferences.
    """
    if one.doubt is Doubt.DIFFERENT_CLOCKS:
        remedy = " --clock sets the rate of cycles." if has_clock_option else ""
        return f"A and B have different clocks, so their times cannot be compared.{remedy}"
    if one.a_ns is None or one.b_ns is None:
        return unit.worded("There is no inference in both arms to compare.")
    if one.change is None:
        return unit.worded("An inference takes no time in A or in B, so there is no change.")
    per = "" if files else f" per {unit.noun}"
    by = f"{change_text(one)}, {difference_text(one.change_ns)}{per}"
    if one.verdict is Verdict.NO_CHANGE:
        what = (
            "B takes as long as A"
            if files
            else unit.worded("An inference takes as long in B as in A")
        )
        return f"{what} ({by})."
    if one.verdict is Verdict.CANNOT_TELL:
        why = reason_text(one.doubt) if one.doubt else ""
        # What was measured is a fact, but no answer: it has a sentence of its own.
        return f"Whether B is slower or faster is inconclusive: {why}. Measured: {by}."
    return f"B is {WORDS[one.verdict]} than A: {by}."


def change_text(one: Compared) -> str:
    """Return a change as "+5.2 %" or "2.10 x", "" if there is none."""
    return "" if one.change is None else _percent(one.change)


def _percent(change: float) -> str:
    if change >= 1:
        return f"{1 + change:.2f} x"
    number = f"{100 * abs(change):.1f}"
    sign = "" if number == "0.0" else "+" if change > 0 else MINUS
    return f"{sign}{number} %"


def interval_text(one: Compared) -> str:
    """Return the interval of a change as "+1.0 % to +5.2 %", "" if there is none.

    If it extends beyond twice the time, both ends are ratios: "1.67 x to 2.16 x".
    """
    if one.interval is None:
        return ""
    if max(one.interval) >= 1:
        return " to ".join(f"{1 + change:.2f} x" for change in one.interval)
    return " to ".join(map(_percent, one.interval))


def reason_text(doubt: Doubt) -> str:
    """Return why nothing can be told, as people read it: JSON keeps the value of `Doubt`."""
    if doubt is Doubt.CONFOUNDED:
        return "different conditions"
    return "below clock resolution" if doubt is Doubt.BELOW_CLOCK else doubt.value


def median_text(ns: float | None) -> str:
    """Return a median of times in whole ns, as everywhere in a comparison; "" for None."""
    return "" if ns is None else format_time(round(ns))


def difference_text(ns: float) -> str:
    """Return a difference of times with its sign, in whole ns: "+1.9 ms"; "0" for none."""
    whole = round(ns)
    return f"{'' if not whole else '+' if whole > 0 else MINUS}{format_time(abs(whole))}"


def change_ns_text(one: Compared) -> str:
    """Return a change as a difference of times, "" for different clocks, which have none."""
    return "" if one.doubt is Doubt.DIFFERENT_CLOCKS else difference_text(one.change_ns)


def drift_text(drift: float | None, one: Compared) -> str:
    """Return "drift within sessions +8.0 %" if a row changes more in them than from A to B."""
    if drift is None or not drift_exceeds(drift, one.change):
        return ""
    return f"{DRIFT} {_percent(drift)}"


def row_sentence(row: Row, one: Compared, drift: float | None = None) -> str:
    """Return the verdict on a row with its reason, its drift, and why its sides belong together."""
    drifting = drift_text(drift, one)
    drifting = f"{drifting[:1].upper()}{drifting[1:]}. " if drifting else ""
    return f"{verdict_text(one)}. {drifting}{row.why[:1].upper()}{row.why[1:]}."


def verdict_text(one: Compared) -> str:
    """Return a verdict with its reason and the interval, without a period at the end."""
    text = WORDS[one.verdict].capitalize()
    if one.doubt is not None:
        text += f": {reason_text(one.doubt)}"
    if one.interval is not None:
        text += f". 95 % interval of the change: {interval_text(one)}"
    if one.detectable is not None and one.verdict is Verdict.CANNOT_TELL:
        text += f". Smallest detectable change: {_percent(one.detectable).lstrip('+')}"
    return text


def _head(comparison: Comparison) -> list[str]:
    one = comparison.inference
    lines = [f"A: {_arm(comparison.a)}", f"B: {_arm(comparison.b)}", sentence(comparison)]
    if one.a_ns is not None and one.b_ns is not None:
        interval = f", 95 % interval {interval_text(one)}" if one.interval else ""
        times = f"{median_text(one.a_ns)} → {median_text(one.b_ns)}"
        drifting = drift_text(comparison.inference_drift, one)
        factor = comparison.common_factor
        common = "" if factor is None else f", common factor {factor:.3f}"
        drifting = f"; {drifting}" if drifting else ""
        what = "Profile" if are_files(comparison) else comparison.unit.title
        lines.append(f"{what}: {times}{common}{interval}{drifting}")
        lines += wall_time(wall_rate(comparison.a), wall_rate(comparison.b), comparison.unit)
        lines += _assumed_clocks(comparison)
    if comparison.is_relative:
        lines.append(comparison.unit.worded(RELATIVE))
    if comparison.detectable is not None:
        size = _percent(comparison.detectable).lstrip("+")
        lines.append(f"Smallest detectable change in the median row: {size}.")
    return lines


def wall_time(a: WallRate | None, b: WallRate | None, unit: WorkUnit = INFERENCE) -> list[str]:
    """Return inferences per second in both arms, if a good part of the time is between them."""
    if a is None or b is None or max(a.idle_share, b.idle_share) < BETWEEN_SHARE:
        return []
    return [
        f"Wall time: {a.per_second:,.4g} → {b.per_second:,.4g} {unit.plural} per second; "
        f"{format_time(round(a.gap_ns))} → {format_time(round(b.gap_ns))} between {unit.plural} "
        f"({100 * a.idle_share:.1f} % → {100 * b.idle_share:.1f} % of the wall time)"
    ]


def is_of_files(arm: Arm) -> bool:
    """Whether the sessions of an arm are whole files, which have no inferences."""
    return bool(arm.sessions) and all(session.is_whole for session in arm.sessions)


def are_files(comparison: Comparison) -> bool:
    """Whether the sessions of both arms are whole files."""
    return is_of_files(comparison.a) and is_of_files(comparison.b)


def _assumed_clocks(comparison: Comparison) -> list[str]:
    """The rates of cycles that are only assumed, with the arms that have them."""
    of_rates: dict[str, list[str]] = {}
    for name, arm in (("A", comparison.a), ("B", comparison.b)):
        rates = (f"1 {o.unit} = {o.ns_per_tick:g} ns" for o in arm.sessions if o.unit != "ns")
        for rate in dict.fromkeys(rates):
            of_rates.setdefault(rate, []).append(name)
    return [
        f"The clock of {' and '.join(names)} is assumed: {rate}. --clock sets it."
        for rate, names in of_rates.items()
    ]


def _arm(arm: Arm) -> str:
    if not arm.sessions:
        return "no session"
    names = list(dict.fromkeys(session.name for session in arm.sessions))
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    runs = sorted({len(session.runs) for session in arm.sessions})
    each = (
        arm.unit.counted(runs[0])
        if len(runs) == 1
        else f"{runs[0]} to {runs[-1]} {arm.unit.plural}"
    )
    chosen = f"{one_line(arm.choice)}, " if arm.choice else ""
    files = f"{one_line(names[0])}{more}"
    if len(arm.sessions) == 1 and arm.choice:
        is_counted = not arm.choice.startswith(arm.unit.noun)
        counts = f", {each}" if is_counted else ""
        return f"{one_line(arm.choice)} of {files}{counts}"
    of = "" if is_of_files(arm) else f" of {each}"
    return f"{chosen}{counted(len(arm.sessions), 'session')}{of} ({files})"


def _shown(comparison: Comparison, everything: bool) -> tuple[list[ListedRow], list[ListedRow]]:
    """The rows to show, largest change first, and the others."""
    rows = sorted(
        zip(comparison.rows, comparison.compared, comparison.drifts, strict=True),
        key=lambda both: -abs(both[1].change_ns),
    )
    if everything:
        return rows, []
    shown = [both for both in rows if both[1].verdict in CHANGED]
    others = [both for both in rows if both[1].verdict not in CHANGED]
    return shown + others[:_MOST], others[_MOST:]


def verdict_cell(one: Compared, drift: float | None) -> str:
    """Return the verdict on a row, with why it has none, and a warning about the drift."""
    verdict = WORDS[one.verdict]
    if one.doubt is not None:
        verdict += f": {reason_text(one.doubt)}"
    return f"{verdict}; {drifting}" if (drifting := drift_text(drift, one)) else verdict


def _cells(row: Row, one: Compared, drift: float | None) -> list[str]:
    # The label of a row; of a deep path its last calls.
    names = row.label.split(BETWEEN) if row.level == PATH else [row.label]
    return [
        change_ns_text(one),
        change_text(one),
        interval_text(one),
        median_text(one.a_ns),
        median_text(one.b_ns),
        verdict_cell(one, drift),
        "" if row.grade is Grade.SAME else row.grade.value.replace("_", " "),
        one_line(BETWEEN.join(["…", *names[-_MOST_CALLS:]] if len(names) > _MOST_CALLS else names)),
    ]


def _tail(comparison: Comparison, left: Sequence[ListedRow]) -> list[str]:
    lines = []
    if left:
        counts = Counter(WORDS[one.verdict] for _, one, _ in left)
        parts = ", ".join(f"{count} {word}" for word, count in counts.items())
        lines.append(f"{counted(len(left), 'more row')}: {parts}. --all shows them.")
    fall = comparison.waterfall
    if fall is not None:
        common = (
            f"{difference_text(fall.common)} by the common factor, "
            if comparison.is_relative
            else ""
        )
        lines.append(
            f"{median_text(fall.a)} in A, {common}{difference_text(fall.pairs)} in pairs, "
            f"{difference_text(fall.only_a)} only in A, {difference_text(fall.only_b)} only in B, "
            f"{difference_text(fall.rest)} in no row: {median_text(fall.b)} in B"
        )
    fewest = min(len(comparison.a.sessions), len(comparison.b.sessions))
    doubt = comparison.inference.doubt
    if doubt is Doubt.NOT_MEASURED:
        lines.append("Estimates are not measured, so there is no verdict.")
    elif fewest < LEAST_SESSIONS and doubt is not Doubt.DIFFERENT_CLOCKS:
        lines.append(
            f"A verdict needs at least {LEAST_SESSIONS} sessions in each arm. Two sessions of one "
            "program can differ by 20 % although nothing changed."
        )
    return lines


# Changed rows that the second sentence names.
_MOST_NAMED = 3
NEEDED = f"{LEAST_SESSIONS} + {LEAST_SESSIONS} needed"


def headline(comparison: Comparison) -> str:
    """Return the answer: "3 of 40 operators changed; together they take 17.6 µs less".

    Events inside delegate calls do not count, as their calls do; they are named if they changed
    and no call did.
    """
    if comparison.inference.doubt is Doubt.DIFFERENT_CLOCKS:
        return "A and B have different clocks. Set the rate of the cycles to compare their times."
    rows = _rows(comparison)
    changed = [compared for _, compared in rows if compared.verdict in CHANGED]
    what = _noun(comparison)
    if not changed:
        if min(len(comparison.a.sessions), len(comparison.b.sessions)) < LEAST_SESSIONS:
            return _untested(comparison)
        whole = comparison.inference
        # The words are about all rows, as the verdicts next to them and the exit code of --fail-if.
        events = _rows(comparison, events=True)
        count = sum(compared.verdict in CHANGED for _, compared in events)
        of_events = counted(len(events), "delegate event")
        but = f", but {count} of {of_events} changed" if count else ""
        if whole.verdict in CHANGED:
            word = whole.verdict.value
            return f"B is {_size(whole)} {word} than A; no single {what} explains it{but}."
        return f"No {what} is proven to have changed{but}."
    total = sum(compared.change_ns for compared in changed)
    verb = "together they take" if len(changed) > 1 else "it takes"
    return (
        f"{len(changed)} of {counted(len(rows), what)} changed; {verb} {_longer(total)} per "
        f"{whole_name(comparison)}."
    )


def explanation(comparison: Comparison) -> str:
    """Return the largest proven changes in words, "" if there are none.

    Those of delegate events, if no other row changed.
    """
    for events in (False, True):
        rows = _rows(comparison, events=events)
        if changed := [each for each in rows if each[1].verdict in CHANGED]:
            break
    changed.sort(key=lambda each: -abs(each[1].change_ns))
    parts = [
        f"{label}: {_size(compared)} {compared.verdict.value}"
        for label, compared in changed[:_MOST_NAMED]
    ]
    return "; ".join(parts)


def whole_name(comparison: Comparison) -> str:
    """Return what the arms are compared by as a whole: "inference" or "step"; else "profile"."""
    return "profile" if are_files(comparison) else comparison.unit.noun


def whole_inference(compared: Compared, drift: float | None = None) -> tuple[str, str]:
    """Return the verdict on the inference, and its figures. drift: within its sessions."""
    parts = []
    if compared.a_ns is not None and compared.b_ns is not None:
        times = f"{format_time(round(compared.a_ns))} → {format_time(round(compared.b_ns))}"
        parts.append(
            f"{times}, {change_text(compared)}." if compared.change is not None else f"{times}."
        )
    if compared.interval is not None:
        parts.append(f"95 % interval {interval_text(compared)}.")
    if compared.doubt is not None:
        parts.append(f"Why: {reason_text(compared.doubt)}.")
    if drifting := drift_text(drift, compared):
        parts.append(f"{drifting[:1].upper()}{drifting[1:]}.")
    return WORDS[compared.verdict], " ".join(parts)


def whole_and_rows(comparison: Comparison, a_ns: float, b_ns: float) -> str:
    """Return why the whole inference differs from the sum of its rows; "" if it hardly does.

    a_ns, b_ns: the sums of the medians of the rows of A and of B. It is about the arm where they
    differ more.
    """
    whole_a, whole_b = comparison.inference.a_ns, comparison.inference.b_ns
    if not (whole_a and whole_b and a_ns > 0 and b_ns > 0):
        return ""
    in_a, in_b = (max(x, y) / min(x, y) for x, y in ((whole_a, a_ns), (whole_b, b_ns)))
    if max(in_a, in_b) <= LARGE:
        return ""
    whole, rows_ns, name, arm = (
        (whole_a, a_ns, "A", comparison.a) if in_a >= in_b else (whole_b, b_ns, "B", comparison.b)
    )
    parts = "its rows" if _is_one_run(arm) else "the medians of its rows"
    of_rows = f"the sum of {parts} ({format_time(round(rows_ns))} in {name})"
    if whole < rows_ns:
        return f"Shorter than {of_rows}: rows run at the same time."
    if _is_one_run(arm):
        return f"Longer than {of_rows}: it includes the time between them."
    typical, rest = format_time(round(rows_ns)), format_time(round(whole - rows_ns))
    return (
        f"The typical parts of {name} add up to {typical}; the other {rest} are "
        "single calls that ran long, or time between calls."
    )


def _rows(comparison: Comparison, *, events: bool = False) -> list[tuple[str, Compared]]:
    """Return the labels and figures of rows: of all but events of delegates, or of these."""
    pairs = zip(comparison.rows, comparison.compared, strict=True)
    return [
        (row.label, compared) for row, compared in pairs if (row.level == DELEGATE_EVENT) is events
    ]


def _noun(comparison: Comparison) -> str:
    level = comparison.a.level
    if level in (NAME, *IDENTITIES):
        return level
    if any(_has_several_operators(comparison, row) for row in comparison.rows):
        return "row"
    return "operator" if comparison.a.program is not None or level != CALLS else "call"


def _has_several_operators(comparison: Comparison, row: Row) -> bool:
    """Whether operators share the time of a row, such as those of a delegate call."""
    sides = (comparison.a, row.a), (comparison.b, row.b)
    of_sides = (
        {i for part in indexes for i in arm.parts[part].operators} for arm, indexes in sides
    )
    return row.level == CALLS and any(len(operators) > 1 for operators in of_sides)


def _size(compared: Compared) -> str:
    text = change_text(compared)
    return text.lstrip("+\N{MINUS SIGN}-") or difference_text(compared.change_ns)


def _untested(comparison: Comparison) -> str:
    """Return a fact of two recordings or estimates, else why nothing can be said.

    Never both: what the arms take is stated below the headline.
    """
    whole, a, b = comparison.inference, comparison.a, comparison.b
    by = f" ({change_text(whole)})" if round(whole.change_ns) and whole.change is not None else ""
    if whole.doubt is Doubt.NOT_MEASURED:
        takes = "as long in B as in A"
        if round(whole.change_ns):
            takes = f"{_longer(whole.change_ns)} in B"
        return f"The {whole_name(comparison)} is estimated to take {takes}{by}."
    if not is_one_file(a, b):
        return (
            f"Not enough sessions for a verdict ({len(a.sessions)} + {len(b.sessions)}; {NEEDED})."
        )
    if not (_is_one_run(a) and _is_one_run(b)):
        return f"Parts of one file are not sessions, so there is no verdict ({NEEDED})."
    took = f"as long as {a.choice}"
    if round(whole.change_ns):
        took = f"{_longer(whole.change_ns)} than {a.choice}"
    return f"{b.choice[:1].upper()}{b.choice[1:]} took {took}{by}."


def _is_one_run(arm: Arm) -> bool:
    """Whether an arm is one inference, or one file without any."""
    return [len(session.runs) for session in arm.sessions] == [1]


def _longer(ns: float) -> str:
    """A difference in words: "1.9 ms more"."""
    return f"{format_time(round(abs(ns)))} {'more' if ns > 0 else 'less'}"


MARKS = {Verdict.SLOWER: SLOWER_MARK, Verdict.FASTER: FASTER_MARK}
# What a graph shows, by whether A has paths that B does not have.
_WHOSE = {False: "B", True: "B, and what only A has"}
WIDTH = "its time in B; of a call that only A has, in A"


def medians_text(changes: PathChanges) -> str:
    """Return what the figures are: "medians of 7 + 7 sessions"."""
    calls = changes.calls
    return figures_text(calls.a, calls.b, relative=calls.is_relative)


def counts_text(changes: PathChanges) -> str:
    """Return how many paths have which verdict: "40 paths: 2 slower, 1 faster"."""
    count = Counter(changes.verdict.tolist())
    only_a, only_b = (int(mask.sum()) for mask in changes.only)
    parts = [
        f"{group_digits(count[i])} {WORDS[verdict]}"
        for i, verdict in enumerate(VERDICTS)
        if verdict in MARKS and count[i]
    ]
    parts += [f"{group_digits(n)} only in {arm}" for n, arm in ((only_a, "A"), (only_b, "B")) if n]
    paths = counted(len(changes), "path")
    return f"{paths}: {', '.join(parts)}" if parts else f"{paths}, no proven change"


def mark_of(changes: PathChanges, path: int) -> str:
    """Return the mark before the name in a box: "▲" if it is slower, "▼" if faster, else ""."""
    return MARKS.get(changes.compared(path).verdict, "")


def box_text(changes: PathChanges, path: int) -> str:
    """Return the text behind the name in a box: the change if it is proven, else the time."""
    compared = changes.compared(path)
    if compared.b_ns is None:
        return f"{format_time(round(compared.a_ns or 0))} only in A"
    if compared.a_ns is None:
        return f"{format_time(round(compared.b_ns))} only in B"
    if compared.verdict in MARKS:
        return difference_text(round(compared.change_ns))
    return format_time(round(compared.b_ns))


def path_lines(changes: PathChanges, path: int) -> list[str]:
    """Return what is known about a path, in lines, without its name."""
    compared, lines, mark = changes.compared(path), list[str](), mark_of(changes, path)
    change = ", ".join(
        filter(None, (difference_text(round(compared.change_ns)), change_text(compared)))
    )
    lines.append(f"{mark} {change}" if mark else change)
    grade, why = changes.grade(path)
    is_alone = grade in (Grade.ONLY_A, Grade.ONLY_B)
    for title, total, self_ns in zip("AB", changes.total_ns, changes.own_ns, strict=True):
        if np.isfinite(total[path]):
            self_time = round(float(np.nan_to_num(self_ns[path])))
            text = f"{title} {format_time(round(float(total[path])))}"
            lines.append(f"{text}, self {format_time(self_time)}")
    why = one_line(capped(why[:1].upper() + why[1:]))
    lines.append(why if is_alone else verdict_text(compared))
    if grade not in (Grade.SAME, Grade.BY_NAME) and not is_alone:
        lines.append(why)
    around = changes.names_of(path)[:-1]
    if grade is Grade.ONLY_A and around:
        lines.append(one_line(capped(f"Called by {BETWEEN.join(around)}")))
    return lines


def picture_of(calls: ChangedCalls, title: str) -> FlameGraph:
    """Return the differential flame graph for a file. title: such as the names of the arms."""
    changes = calls.changes
    graph = flame_graph(
        calls.table,
        title,
        f"{_WHOSE[bool(changes.only[0].any())]}, {medians_text(changes)}",
        (counts_text(changes), COLORS_OF_CHANGES),
        first_frame=0,
        colors=calls.color,
    )
    paths = calls.number[graph.nodes].tolist()
    marks = [mark_of(changes, p) if p >= 0 else "" for p in paths]
    return replace(
        graph,
        names=tuple(
            f"{mark} {name}".strip() for mark, name in zip(marks, graph.names, strict=True)
        ),
        details=tuple(tuple(path_lines(changes, p)) if p >= 0 else (ONLY_A_TIP,) for p in paths),
        behind=tuple(box_text(changes, p) if p >= 0 else "" for p in paths),
        hatched=True,
        width_of=WIDTH,
    )


ONLY_A_TIP = "Calls that B does not have, with their time in A. They are in no box of B."
