"""What a comparison says, in sentences: the answer first, then the rows that explain it. No Qt."""

from __future__ import annotations

from viewer.analysis.comparison.arms import Arm, is_one_file
from viewer.analysis.comparison.comparison import Compared, Comparison, Doubt
from viewer.analysis.comparison.joined import Row
from viewer.analysis.comparison.levels import CALLS, IDENTITIES, NAME
from viewer.analysis.comparison.rows import DELEGATE_EVENT
from viewer.analysis.comparison.session_test import LEAST_SESSIONS
from viewer.analysis.comparison.steps import CHANGED, LARGE
from viewer.model.times import counted, format_time
from viewer.reports.compare_text import (
    WORDS,
    are_files,
    change_text,
    difference_text,
    drift_text,
    interval_text,
    reason_text,
)

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
        but = _changed_events(comparison)
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


def _changed_events(comparison: Comparison) -> str:
    """Return ", but 1 of 9 delegate events changed", "" if none is proven to have changed."""
    events = _rows(comparison, events=True)
    changed = sum(compared.verdict in CHANGED for _, compared in events)
    return f", but {changed} of {counted(len(events), 'delegate event')} changed" if changed else ""


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
