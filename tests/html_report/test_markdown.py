"""A report as Markdown: the main figures, and no name that means anything to Markdown."""

from tests.builders.reports import hostile_workspace, sample, trace_named
from viewer.html_report.report import report_markdown
from viewer.model.text import markdown_text
from viewer.workspace.workspace import Workspace


def test_figures_findings_and_operators():
    text = report_markdown(sample("attention_xnnpack"))
    assert text.startswith("## attn_xnnpack_x5.etdp\n")
    assert "median of 4 inferences: **51.607 µs**" in text
    assert "1. **Delegate 8 operators that ran outside" in text
    assert "| 42.805 µs |" in text
    assert text.splitlines()[-1].startswith("From attn_xnnpack_x5.etdp")


def test_hostile_names_are_shown_as_they_are():
    text = report_markdown(hostile_workspace())
    assert "<" not in text
    assert not set("\x00\x1b\u202e\u2028") & set(text)


def test_a_name_mentions_nobody_and_makes_no_column():
    workspace = Workspace()
    workspace.add(trace_named(("@someone | *x* [a](b)",)))
    row = next(line for line in report_markdown(workspace).splitlines() if "someone" in line)
    assert "&#64;someone \\| \\*x\\* \\[a\\](b)" in row


def test_underscores_mean_something_only_at_the_end_of_a_word():
    assert markdown_text("a_b __init__") == "a_b \\_\\_init\\_\\_"
