"""A report: one file that needs nothing else, is never too large, and never wrong about a time."""

import base64
import hashlib
import re

import numpy as np
import pytest

from tests.analysis.comparison.test_comparison import BASE, NOISE
from tests.builders.compare_sessions import varied, write_sessions
from tests.builders.reports import Page, hostile_workspace, page_of, sample, trace_named
from tests.builders.workspaces import workspace_of
from viewer.analysis.comparison.levels import CALLS
from viewer.analysis.comparison.path_changes import comparison_by
from viewer.codecs.atomic_file import NothingToExport, WriteCancelled
from viewer.formats import TraceBuilder
from viewer.html_report import report
from viewer.html_report.contents import ComparedReport, ReportOptions
from viewer.html_report.report import write_report
from viewer.model.trace import Clock, KeyKind
from viewer.resources import SAMPLES
from viewer.workspace.comparison_arms import arm_of
from viewer.workspace.workspace import Workspace

SECTIONS = ["summary", "timeline", "operators", "source", "modules", "delegation", "provenance"]


def sections(page: Page):
    return [attrs["id"] for tag, attrs in page.tags if tag == "section"]


def test_the_attention_sample_has_its_sections_in_order(tmp_path):
    page = page_of(sample("attention_xnnpack"), tmp_path)
    assert sections(page) == SECTIONS
    assert "Delegate 8 operators that ran outside" in page.text
    assert "51.607 µs" in page.text
    assert "a = torch.nn.functional.scaled_dot_product_attention(q, k, v)" in page.text
    assert "This report has all 727 slices" in page.text


@pytest.mark.parametrize("sample_", SAMPLES, ids=lambda s: s.key)
def test_nothing_in_a_report_needs_a_network(sample_, tmp_path):
    page = page_of(sample(sample_.key), tmp_path)
    for tag, attrs in page.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert not [name for name in attrs if name.startswith("on") or name in ("src", "style")]
        assert attrs.get("href", "#").startswith("#")


def test_its_policy_allows_the_one_script_and_style_alone(tmp_path):
    page = page_of(sample("plain_csv"), tmp_path)
    policy = next(a["content"] for t, a in page.tags if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    (script,) = [text for attrs, text in page.scripts if not attrs]
    (style,) = page.styles
    for content in (script, style):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_hostile_names_are_only_text(tmp_path):
    path = tmp_path / "report.html"
    write_report(hostile_workspace(), path)
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert len(page.scripts) == 2
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert not set("\x00\x1b\u202e\u2028\u2029") & set(text)
    labels = [own[0] for own in page.data()["axes"][0]["profiles"][0]["texts"]]
    assert "</script><script>window.pwned = 1</script>" in labels


def test_paths_are_short(tmp_path):
    workspace = Workspace()
    workspace.add(trace_named(("a",)))
    path = tmp_path / "report.html"
    write_report(workspace, path)
    text = path.read_text(encoding="utf-8")
    assert "run.csv" in text
    assert "someone" not in text


def test_source_can_be_left_out(tmp_path):
    workspace = sample("attention_xnnpack")
    page = page_of(workspace, tmp_path, ReportOptions(source=False))
    assert "torch.nn.functional" not in page.text
    assert "79.599 µs" in page.text  # the self time of line 52


def large(count, names=1):
    builder = TraceBuilder("/x/large.csv", "Profile CSV", "", Clock())
    start = np.arange(count, dtype=np.int64) * 100
    keys = [builder.key(KeyKind.PLAIN, f"{'x' * 3000}{i}") for i in range(names)]
    codes = builder.intern_all([f"{'x' * 3000}{i}" for i in range(names)])
    which = np.arange(count) % names
    builder.add(
        track=builder.track("p", "t"),
        start=start,
        end=start + 1 + start % 97,
        name=codes[which],
        key=np.array(keys, np.uint32)[which],
    )
    workspace = Workspace()
    workspace.add(builder.build())
    return workspace


@pytest.mark.slow
def test_a_large_trace_states_how_many_slices_are_in_the_report(tmp_path):
    workspace = large(200_000)
    path = tmp_path / "report.html"
    written = write_report(workspace, path)
    assert 10_000 < written.exact < 100_000
    assert written.slices == 200_000
    page = Page(path.read_text(encoding="utf-8"))
    exact = f"{written.exact:,}".replace(",", " ")
    assert f"{exact} of 200 000 slices" in page.text


@pytest.mark.slow
def test_a_report_that_would_be_too_large_is_halved(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "MOST_BYTES", 400_000)
    path = tmp_path / "report.html"
    written = write_report(large(100_000, names=5000), path)
    assert path.stat().st_size == written.size <= 400_000
    assert written.exact > 100


@pytest.mark.slow
def test_boxes_add_up_to_the_slices_of_the_trace(tmp_path):
    workspace = large(150_000)
    page = page_of(workspace, tmp_path)
    (profile,) = page.data()["axes"][0]["profiles"]
    single = len(profile["dur"]) - len(profile["count"])
    assert single + sum(profile["count"]) == 150_000
    groups = set(np.cumsum(profile["group"]).tolist())
    exact = sum(d for i, d in enumerate(profile["dur"]) if i not in groups)
    slices = workspace.traces[0].slices
    assert exact + sum(profile["busy"]) == int((slices.end - slices.start).sum())


def test_a_comparison_has_its_answer_first(tmp_path):
    a, b = Workspace(), Workspace()
    for path in write_sessions(tmp_path / "a", "a", *varied(BASE, NOISE)):
        a.open(str(path))
    slower = varied({**BASE, "add.out": 26_000}, NOISE)
    for path in write_sessions(tmp_path / "b", "b", *slower):
        b.open(str(path))
    found = comparison_by(arm_of(a), arm_of(b), CALLS)
    page = page_of(a, tmp_path, ReportOptions(compared=ComparedReport(found, b, ("a note",))))
    assert next(iter(sections(page))) == "comparison"
    answers = [attrs for tag, attrs in page.tags if attrs.get("class") == "answer"]
    assert len(answers) == 2
    assert re.search(r"1 of \d+ calls changed", page.text)
    assert "a note" in page.text
    assert [attrs for tag, attrs in page.tags if attrs.get("data-verdict") == "slower"]
    assert page.data()["axes"][1]["profiles"][0]["title"].startswith("B · ")


def test_a_file_that_changed_has_no_hash(tmp_path):
    csv = tmp_path / "run.csv"
    csv.write_text("process,thread,name,start_ns,dur_ns\np,t,a,0,10\n")
    workspace = workspace_of(csv)
    assert hashlib.sha256(csv.read_bytes()).hexdigest() in page_of(workspace, tmp_path).text
    csv.write_text("process,thread,name,start_ns,dur_ns\np,t,a,0,11\np,t,b,20,11\n")
    assert "it changed after it was read" in page_of(workspace, tmp_path).text


def test_nothing_open_is_nothing_to_report(tmp_path):
    with pytest.raises(NothingToExport):
        write_report(Workspace(), tmp_path / "report.html")


def test_a_cancelled_report_leaves_no_file(tmp_path):
    with pytest.raises(WriteCancelled):
        write_report(sample("plain_csv"), tmp_path / "x.html", cancelled=lambda: True)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_missing_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_report(sample("plain_csv"), tmp_path / "none" / "x.html")


def test_progress_ends_with_all_of_it(tmp_path):
    seen = []
    write_report(sample("plain_csv"), tmp_path / "x.html", progress=lambda *x: seen.append(x))
    assert seen[-1][0] == seen[-1][1]


def test_a_record_alone_has_its_origin(tmp_path):
    workspace = workspace_of(SAMPLES[0].paths()[1])
    assert sections(page_of(workspace, tmp_path)) == ["provenance"]
