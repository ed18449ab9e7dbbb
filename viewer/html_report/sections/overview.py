"""The head of a report: what it is about, its key figures, warnings and findings."""

from __future__ import annotations

from fractions import Fraction

from viewer.analysis.findings.finding import Finding, share_text
from viewer.analysis.summary.medians import MedianInference
from viewer.html_report.contents import Contents, Profile
from viewer.html_report.html import details, figures, paragraph, section, text
from viewer.model.scope import STEADY, left_out
from viewer.model.times import counted, format_time, group_digits, tick_to_ns
from viewer.model.work_unit import WorkUnit
from viewer.reports.compare_sentences import headline
from viewer.reports.course import wall_text

_MOST_FINDINGS = 8
_MOST_METHODS = 4


def overview(contents: Contents) -> str:
    """Return the key figures and the findings of every profile shown in detail."""
    several = len(contents.profiles) > 1
    parts = [_profile(contents, profile, named=several) for profile in contents.profiles]
    if contents.others:
        parts.append(
            paragraph(
                f"{counted(contents.others, 'more profile')} listed below without details.", "note"
            )
        )
    compared = contents.options.compared
    answer = "" if compared is None else paragraph(headline(compared.comparison), "answer")
    return section("summary", "Summary and findings", answer, *parts)


def key_figures(profile: Profile) -> list[tuple[str, str]]:
    """Return the main figures of a profile, as (value, meaning)."""
    summary, open_trace = profile.summary, profile.shown
    rate = open_trace.axis.ns_per_tick
    pairs: list[tuple[str, str]] = []
    unit = open_trace.file.unit
    median = summary.median
    if median is not None:
        what = f"median of {unit.counted(median.runs)}"
        pairs += _median_figures(median, what, rate, unit)
    elif summary.methods:
        for median in summary.methods[:_MOST_METHODS]:
            what = f"median of {unit.counted(median.runs)} of {median.name}"
            what = what if median.runs > 1 else f"the {unit.noun} of {median.name}"
            pairs += _median_figures(median, what, rate, unit)
        if len(summary.methods) > _MOST_METHODS:
            more = counted(len(summary.methods) - _MOST_METHODS, "more method")
            pairs.append((more, "with less time"))
    elif any(open_trace.file.inferences()):
        pairs.append((format_time(tick_to_ns(summary.whole, rate)), f"all {unit.plural}"))
    else:
        pairs.append((format_time(tick_to_ns(summary.span, rate)), "duration"))
        pairs.append((format_time(tick_to_ns(summary.whole, rate)), summary.busy or "busy time"))
    if summary.slowest is not None:
        pairs.append((format_time(tick_to_ns(summary.slowest.ticks, rate)), f"slowest {unit.noun}"))
    if summary.delegation is not None:
        report = summary.delegation
        where = f"delegated in {summary.phase}" if summary.phase else "delegated"
        pairs.append((share_text(report.delegated, report.whole), where))
    slices = len(open_trace.file.slices) - open_trace.file.slices.derived_count
    pairs.append(
        (group_digits(slices), f"slices on {counted(len(open_trace.file.tracks), 'track')}")
    )
    return pairs


def _median_figures(
    median: MedianInference, what: str, rate: Fraction, unit: WorkUnit
) -> list[tuple[str, str]]:
    """Return a median, or the first and the last level if durations shift, and the rate."""
    noun = unit.in_phase(median.name).noun
    of = f" of {median.name}" if median.name else ""
    pairs = [(format_time(tick_to_ns(median.ticks, rate)), what)]
    if median.levels:
        first, last = median.levels[0], median.levels[-1]
        pairs = [
            (
                f"{format_time(tick_to_ns(first.ticks, rate))} → "
                f"{format_time(tick_to_ns(last.ticks, rate))}",
                f"median{of}, first and last of {len(median.levels)} levels: from {unit.noun} "
                f"{group_digits(last.first)} on {last.factor:.2g} times",
            )
        ]
    if median.rate is not None and (per_second := median.rate.per_second(rate)):
        pairs.append((f"{per_second:,.4g}", f"{noun}s{of} per second of wall time"))
    tokens = median.tokens
    if tokens is not None and (per_second := tokens.per_second(rate)):
        what = f"tokens{of} per second, of {counted(tokens.tokens, 'token')}"
        pairs.append((f"{per_second:,.4g}", what))
    return pairs


def findings_of(profile: Profile) -> tuple[Finding, ...]:
    """Return the findings of a profile that a report lists, the largest gain first."""
    return tuple(profile.summary.findings.found[:_MOST_FINDINGS])


def _profile(contents: Contents, profile: Profile, *, named: bool) -> str:
    heading = f"<h3>{text(profile.title)}</h3>" if named else ""
    trace = profile.shown.file
    warnings = [paragraph(warning, "warning") for warning in profile.workspace.warnings(trace)]
    outliers = profile.summary.outliers
    if outliers is not None:
        warnings.append(
            paragraph(
                f"{outliers.text}, which skews the figures of all {trace.unit.plural}.", "warning"
            )
        )
    note = left_out(trace, STEADY).text
    return "\n".join(
        [
            heading,
            *warnings,
            figures(key_figures(profile)),
            paragraph(note, "note"),
            paragraph(wall_text(profile.summary.wall, profile.shown.axis.ns_per_tick), "note"),
            _findings(profile),
        ]
    )


def _findings(profile: Profile) -> str:
    findings = profile.summary.findings
    items = "\n".join(
        f'<li class="{text(finding.severity.key)}"><strong>{text(finding.title)}</strong> '
        f'<span class="severity">{text(finding.severity.key)}</span>'
        f"{paragraph(finding.detail)}{paragraph(finding.advice)}"
        f"{paragraph(f'Rule: {finding.rule}', 'rule')}</li>"
        for finding in findings_of(profile)
    )
    listed = f'<ol class="findings">{items}</ol>' if items else paragraph("No findings.", "note")
    passed = sum(not_reported.applicable for not_reported in findings.not_reported)
    rest = len(findings.found) - len(findings_of(profile)) + findings.left_out
    more = [f"{counted(rest, 'more finding')} with a smaller gain"] if rest else []
    more += [f"{counted(passed, 'check')} passed"] if passed else []
    checks = "".join(
        f"<li>{text(not_reported.title)}: {text(not_reported.why, 500)}</li>"
        for not_reported in findings.not_reported
    )
    return listed + details(
        ", ".join(more) or "Checks without a finding", f"<ul>{checks}</ul>" if checks else ""
    )
