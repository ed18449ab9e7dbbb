"""The main figures as data are those of the analyses behind the Summary panel."""

import pytest

from tests.builders.workspaces import attention, opened
from viewer.reports.delegation import delegation_facts
from viewer.reports.parts import NoSuchRun
from viewer.reports.stats import stats
from viewer.reports.summary import findings_facts, summary_facts


@pytest.fixture(scope="module")
def workspace():
    return attention()


def test_the_figures_are_those_of_the_other_reports(workspace):
    (file,) = summary_facts(workspace)["files"]
    (delegation,) = delegation_facts(workspace)["files"]
    (findings,) = findings_facts(workspace)["files"]
    assert file["scope"] == findings["scope"] == "4 inferences after warm-up"
    assert file["delegation"]["delegated_ns"] == delegation["delegated_ns"]
    assert file["delegation"]["whole_ns"] == delegation["whole_ns"] == file["whole_ns"]
    titles = [one["title"] for one in findings["findings"]]
    assert [one["title"] for one in file["findings"]] == titles


def test_the_most_expensive_operators_have_their_lines(workspace):
    (file,) = summary_facts(workspace)["files"]
    first = file["most_expensive"]["rows"][0]
    assert first["label"] == "blocks.0 · scaled_dot_product_attention"
    assert first["source"] == {"file": "/home/user/models/models.py", "lines": "52"}
    assert first["share"] == round(first["ns"] / file["whole_ns"], 6)


def test_sums_say_of_what_and_have_the_mean_next_to_them(workspace):
    (file,) = summary_facts(workspace)["files"]
    assert (file["ns_is"], file["per_inferences"]) == ("sum of 4 inferences", 4)
    figures = [(file["whole_ns"], file["whole_per_inference_ns"])]
    figures += [
        (row["ns"], row["per_inference_ns"])
        for row in (*file["most_expensive"]["rows"], *file["modules"])
    ]
    assert len(figures) > 3
    assert all(mean == total // 4 for total, mean in figures)
    rows = stats(workspace, "operator", per_inference=True)["rows"]
    first = file["most_expensive"]["rows"][0]
    (row,) = (row for row in rows if row["label"] == first["label"])
    assert row["self_per_inference_ns"] == first["per_inference_ns"]
    (file,) = summary_facts(workspace, 1)["files"]
    assert (file["ns_is"], file["per_inferences"]) == ("sum of 1 inference", None)
    assert "per_inference_ns" not in file["most_expensive"]["rows"][0]


def test_one_inference_or_none_of_that_number(workspace):
    (file,) = summary_facts(workspace, 1)["files"]
    assert (file["inference"], file["whole_ns"], file["scope"]) == (1, 115072, "inference 1")
    with pytest.raises(NoSuchRun):
        summary_facts(workspace, 6)


def test_a_model_alone_has_its_contents():
    facts = summary_facts(opened("cnn_teal_xnnpack.etrecord"))
    (model,) = facts["models"]
    assert facts["files"] == []
    assert {"what": "method", "count": 1} in model["contents"]


def test_a_profile_without_a_model_has_its_events():
    (file,) = summary_facts(opened("attn_xnnpack_x5.etdp"))["files"]
    assert not file["most_expensive"]["are_operators"]
    assert all(row["source"] is None for row in file["most_expensive"]["rows"])
