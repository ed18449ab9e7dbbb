"""The output of `opscope numbers`: logged values, and their gap to references. No Qt.

The data is a stable contract for scripts. A figure that is not known or not finite is null. `nan`
and `inf` count values of the profile, `nan_with` and `inf_with` those of the reference.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

from viewer.analysis.numbers.compared import ONLY_A, ONLY_B, ComparedValue, grows_most
from viewer.analysis.numbers.logged_values import METHOD, LoggedInference
from viewer.analysis.numbers.tensor_summary import Summary, summary_of
from viewer.codecs.reading import UnreadableFile
from viewer.formats.executorch.logged_profile import LoggedProfile
from viewer.model.text import one_line
from viewer.model.times import counted, group_digits, plain_spaces
from viewer.reports.info import HEAD, Facts
from viewer.reports.parts import row_lines

_VALUE_TITLES = ("value", "what", "min", "max", "mean", "sd", "NaN", "Inf", "zeros")
_GAP_TITLES = ("operator", "what", "SNR dB", "MSE", "max error", "at", "cosine", "error", "grows")
_MOST_ROWS = 40  # rows that the text has without --all
_NOT_COMPARED = (ONLY_A, ONLY_B)


# -- values ----------------------------------------------------------------------------------------


def values_facts(profiles: Sequence[LoggedProfile], inference: int | None = None) -> Facts:
    """Return the logged values of profiles with their figures, as `--json` prints them.

    Raises ValueError if a profile has no inference of that number.
    """
    rows, problems = [], Counter[str]()
    for profile in profiles:
        problems.update(_left_out(profile))
        for logged_inference in profile.chosen(inference):
            rows += _value_rows(profile, logged_inference, problems)
    return {
        **HEAD,
        "files": [_file(profile) for profile in profiles],
        "rows": rows,
        "problems": _counted(problems),
    }


def _value_rows(
    profile: LoggedProfile, inference: LoggedInference, problems: Counter[str]
) -> list[Facts]:
    rows = []
    for call, values in profile.side(inference).logged:
        first_result = len(values) - (len(values) if call.results is None else call.results)
        for i, value in enumerate(values):
            summary, fault, layout = None, value.fault, value.layout
            if not fault:
                try:
                    summary = summary_of(value.open())
                except UnreadableFile as error:
                    fault = str(error)
            if fault:
                problems[fault] += 1
            rows.append(
                {
                    "file": profile.table.trace.path,
                    "method": inference.method or None,
                    "inference": _number(inference),
                    "label": call.label,
                    "name": call.name or None,
                    "instruction": None if call.instruction == METHOD else call.instruction,
                    "handles": list(call.handles),
                    "number": i if len(values) > 1 else None,
                    "is_result": i >= first_result,
                    "dtype": layout.dtype,
                    "shape": list(layout.sizes),
                    "strides": list(layout.strides) or None,
                    "offset": value.offset if layout.count else None,
                    "bytes": layout.count * layout.width if not layout.fault else None,
                    **_figures(summary),
                    "fault": fault or None,
                }
            )
    return rows


def _figures(summary: Summary | None) -> Facts:
    names = ("min", "max", "mean", "sd", "nan", "inf", "zeros")
    facts = {name: getattr(summary, name, None) for name in names}
    return {**facts, "histogram": None if summary is None else list(summary.histogram)}


def values_text(facts: Facts, *, everything: bool = False) -> str:
    """Format logged values for people; everything: all rows."""
    lines: list[str] = []
    for file in facts["files"]:
        rows = [row for row in facts["rows"] if row["file"] == file["path"]]
        lines += [_title(file, rows), ""]
        listed_rows = rows if everything else rows[:_MOST_ROWS]
        table = [_VALUE_TITLES, *(_value_row(row) for row in listed_rows)]
        lines += row_lines(table, left=2)
        lines += [*_more(len(rows) - len(listed_rows)), ""]
    lines += [f"problem: {one_line(text)}" for text in facts["problems"]]
    return plain_spaces("\n".join(lines).rstrip("\n"))


def _title(file: Facts, rows: Sequence[Facts]) -> str:
    inferences = dict.fromkeys(_inference_text(row) for row in rows)
    parts = [one_line(os.path.basename(file["path"])), ", ".join(inferences)]
    if file["buffer"]:
        parts.append(f"debug buffer {one_line(os.path.basename(file['buffer']))}")
    return " · ".join(filter(None, parts))


def _inference_text(row: Facts) -> str:
    method = one_line(row["method"] or "")
    number = "" if row["inference"] is None else f"inference {row['inference']}"
    return " ".join(filter(None, (method, number)))


def _value_row(row: Facts) -> tuple[str, ...]:
    label = one_line(row["label"])
    if row["number"] is not None:
        kind = "" if row["is_result"] else " argument"
        label += f" [{row['number']}]{kind}"
    if row["fault"]:
        return (label, _what(row), one_line(row["fault"]), *[""] * 6)
    counts = (group_digits(row[name]) if row[name] else "" for name in ("nan", "inf", "zeros"))
    return (label, _what(row), *(_short(row[n]) for n in ("min", "max", "mean", "sd")), *counts)


# -- gap -------------------------------------------------------------------------------------------


class GapReport:
    """The gap between a profile and references, inference by inference."""

    def __init__(self, profile: LoggedProfile, reference: Facts) -> None:
        """reference: its path and what it is, as JSON has it; see `reference_facts`."""
        self._profile = profile
        self._reference = reference
        self._rows: list[Facts] = []
        self._problems = Counter[str]()
        self._largest: tuple[float, Facts] | None = None
        self.unused: list[str] = []  # keys of arrays without a logged value
        self._problems.update(_left_out(profile))

    def add(
        self,
        inference: LoggedInference,
        values: Sequence[ComparedValue],
        other: LoggedInference | None = None,
    ) -> None:
        """Add the compared values of an inference; other: that of the reference."""
        most = grows_most(values)
        for value in values:
            row = _gap_row(inference, other, value)
            self._rows.append(row)
            if value.fault and value.fault not in _NOT_COMPARED:
                self._problems[value.fault] += 1
            if value is most and value.growth is not None:
                increase_and_row = value.growth.increase, row
                if self._largest is None or increase_and_row[0] > self._largest[0]:
                    self._largest = increase_and_row

    def problem(self, text: str, count: int = 1) -> None:
        """Count a problem of the reference."""
        self._problems[text] += count

    def facts(self) -> Facts:
        """Return everything, as `--json` prints it."""
        largest = None if self._largest is None else self._largest[1]
        keys = ("method", "inference", "label", "handles", "error", "error_before", "growth")
        return {
            **HEAD,
            "file": _file(self._profile),
            "with": self._reference,
            "compared": sum(row["mse"] is not None for row in self._rows),
            "grows_most": None if largest is None else {key: largest[key] for key in keys},
            "rows": self._rows,
            "unused": self.unused,
            "problems": _counted(self._problems),
        }


def reference_facts(path: str, kind: str, buffer: str | None = None) -> Facts:
    """Return what a reference is; kind: "profile", "arrays" or "expected outputs"."""
    return {"path": path, "kind": kind, "buffer": buffer}


def _gap_row(
    inference: LoggedInference, other: LoggedInference | None, compared: ComparedValue
) -> Facts:
    pair, gap, growth = compared.pair, compared.gap, compared.growth
    value, reference = pair.value, pair.reference
    return {
        "label": pair.label,
        "handles": list(pair.handles),
        **{name: getattr(gap, name, None) for name in ("mse", "l1", "snr", "cosine", "max_abs")},
        "place": None if gap is None or gap.place is None else list(gap.place),
        "nan": gap and gap.nan[0],
        "inf": gap and gap.inf[0],
        "nan_with": gap and gap.nan[1],
        "inf_with": gap and gap.inf[1],
        "exact": gap and gap.is_exact,
        "error": gap and gap.error,
        "error_before": growth and growth.before,
        "growth": growth and growth.factor,
        "dtype": value and value.layout.dtype,
        "shape": None if value is None else list(value.layout.sizes),
        "dtype_with": reference and reference.layout.dtype,
        "shape_with": None if reference is None else list(reference.layout.sizes),
        "label_with": pair.label_of_reference or None,
        "result": pair.result,
        "method": inference.method or None,
        "inference": _number(inference),
        "inference_with": None if other is None else _number(other),
        "why": pair.why,
        "fault": compared.fault or None,
    }


def gap_text(facts: Facts, *, everything: bool = False) -> str:
    """Format a gap for people; everything: all rows, not only those that were compared."""
    rows = facts["rows"]
    lines = [
        _title(facts["file"], rows),
        f"with {_reference_text(facts['with'], rows)}",
        "",
    ]
    listed_rows = [row for row in rows if everything or row["fault"] not in _NOT_COMPARED]
    left = 0 if everything else max(len(listed_rows) - _MOST_ROWS, 0)
    if left:  # those with the largest errors, in their order
        order = sorted(range(len(listed_rows)), key=lambda i: -(listed_rows[i]["error"] or 0.0))
        listed_rows = [listed_rows[i] for i in sorted(order[:_MOST_ROWS])]
    if listed_rows:
        lines += row_lines([_GAP_TITLES, *map(_gap_cells, listed_rows)], left=2)
    lines += [*_more(left), "", *_conclusion(facts)]
    for text, side in ((ONLY_A, "the profile"), (ONLY_B, "the reference")):
        lines += _names(f"only in {side}", [r["label"] for r in rows if r["fault"] == text])
    lines += _names("arrays without a logged value", facts["unused"])
    lines += [f"problem: {one_line(text)}" for text in facts["problems"]]
    return plain_spaces("\n".join(lines))


def _names(title: str, names: Sequence[str]) -> list[str]:
    """A line with the first few of some names; none without names."""
    distinct = [one_line(name) for name in dict.fromkeys(names)]
    more = f" and {len(distinct) - 5} more" if len(distinct) > 5 else ""
    return [f"{title}: {', '.join(distinct[:5])}{more}"] if distinct else []


def _reference_text(reference: Facts, rows: Sequence[Facts]) -> str:
    name = one_line(os.path.basename(reference["path"]))
    parts = [f"{name} as the reference"]
    numbers = dict.fromkeys(row["inference_with"] for row in rows)
    parts += [f"inference {number}" for number in numbers if number is not None]
    if reference["buffer"]:
        parts.append(f"debug buffer {one_line(os.path.basename(reference['buffer']))}")
    return " · ".join(parts)


def _conclusion(facts: Facts) -> list[str]:
    number, most = facts["compared"], facts["grows_most"]
    lines = [f"{counted(number, 'value')} compared"]
    if not number:
        return lines
    if all(row["exact"] for row in facts["rows"] if row["mse"] is not None):
        lines[0] += ", all are equal"
    elif most is not None and most["growth"] is not None and most["growth"] > 1:
        lines.append(
            f"the error grows most at {one_line(most['label'])}: {_times(most['growth'])}, from "
            f"{_short(most['error_before'])} to {_short(most['error'])} of the signal"
        )
    elif most is not None:
        lines.append(
            f"the error starts at {one_line(most['label'])}: {_short(most['error'])} of the signal"
        )
    return lines


def _gap_cells(row: Facts) -> tuple[str, ...]:
    label = one_line(row["label"])
    if row["result"] is not None and row["handles"]:
        label += f" [{row['result']}]"
    if row["mse"] is None and row["l1"] is None and row["fault"]:
        return (label, _what(row), one_line(row["fault"]), *[""] * 6)
    odd = [
        f"{group_digits(count)} {name}{side}"
        for name, key in (("NaN", "nan"), ("Inf", "inf"))
        for side, count in (("", row[key]), (" in the reference", row[f"{key}_with"]))
        if count
    ]
    place = "" if row["place"] is None else ",".join(map(str, row["place"]))
    return (
        label,
        " ".join(filter(None, (_what(row), ", ".join(odd)))),
        "equal" if row["exact"] else "" if row["snr"] is None else f"{row['snr']:.1f}",
        _short(row["mse"]),
        _short(row["max_abs"]),
        place,
        "" if row["cosine"] is None else f"{row['cosine']:.6f}",
        _short(row["error"]),
        "" if not row["growth"] or row["growth"] < 1.05 else _times(row["growth"]),
    )


# -- both ------------------------------------------------------------------------------------------


def _file(profile: LoggedProfile) -> Facts:
    return {"path": profile.table.trace.path, "buffer": profile.buffer}


def _number(inference: LoggedInference) -> int | None:
    return None if inference.run is None else inference.run.number


def _left_out(profile: LoggedProfile) -> dict[str, int]:
    problem_counts = dict.fromkeys(profile.values.tensors.problems, 1)
    if profile.values.calls.too_many:
        problem_counts["calls left out: no program has as many"] = profile.values.calls.too_many
    return problem_counts


def _counted(problems: Counter[str]) -> list[str]:
    return [text if count == 1 else f"{count} × {text}" for text, count in problems.items()]


def _more(rows: int) -> list[str]:
    return [f"  and {counted(rows, 'row')} (--all prints all)"] if rows > 0 else []


def _what(row: Facts) -> str:
    """The dtype and shape of a row, and those of its reference if they differ."""
    text = _layout_text(row["dtype"], row["shape"])
    other = _layout_text(row.get("dtype_with"), row.get("shape_with"))
    return text if not text or not other or other == text else f"{text} / {other}"


def _layout_text(dtype: str | None, shape: list[int] | None) -> str:
    if dtype is None or shape is None:
        return ""
    return f"{dtype} {' × '.join(map(str, shape)) or 'scalar'}"


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _times(factor: float) -> str:
    return f"{factor:.2g} ×" if factor < 10 else f"{factor:,.0f} ×".replace(",", " ")
