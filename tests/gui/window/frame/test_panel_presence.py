"""Which panels have something to show for the open files."""

from viewer.gui.window.frame.panel_presence import Presence, presence_in_files, presence_in_view
from viewer.resources import SAMPLES

OPEN, AVAILABLE = Presence.OPEN, Presence.AVAILABLE
IN_VIEW = {"search", "selection", "marks", "compare"}


def named(session, presence, problems=0):
    found = presence_in_files(session, problems)
    return {name for name, own in found.items() if own is presence} - IN_VIEW


def test_few_panels_open_for_a_profile_with_its_record(sample):
    session = sample("attention_xnnpack")
    assert named(session, OPEN) == {
        "summary", "details", "operators", "calls", "model", "graph", "delegation", "source",
    }  # fmt: skip
    assert named(session, AVAILABLE) >= {"findings", "statistics", "events", "links"}
    assert "problems" in named(session, OPEN, problems=2)


def test_a_profile_alone_has_no_panel_that_needs_a_record(opened):
    profile, _ = next(s for s in SAMPLES if s.key == "attention_xnnpack").paths()
    session = opened(profile)
    assert named(session, OPEN) == {
        "summary", "details", "operators", "calls", "findings", "statistics",
    }  # fmt: skip


def test_a_record_alone_has_no_panel_that_needs_a_profile(opened, attention_record):
    session = opened(attention_record)
    assert named(session, OPEN) == {
        "summary", "details", "operators", "model", "graph", "delegation", "source",
    }  # fmt: skip
    assert named(session, AVAILABLE) == set()


def test_a_pytorch_profile_alone_has_modules_and_source_lines(opened, data):
    session = opened(data / "chrome_json" / "torch_training.json.gz")
    assert named(session, OPEN) == {
        "summary", "details", "operators", "calls", "model", "source", "findings", "statistics",
    }  # fmt: skip


def test_an_onnx_runtime_profile_has_no_source_lines(opened, data):
    session = opened(data / "chrome_json" / "onnxruntime_profile.json")
    assert "operators" in named(session, OPEN)
    assert "source" not in named(session, OPEN) | named(session, AVAILABLE)


def test_special_panels_open_for_the_files_that_have_something_for_them(sample, opened, data):
    assert "handle_map" in named(sample("delegate_handle_map"), OPEN)
    torq = named(sample("torq_npu"), OPEN)
    assert "estimates" in torq
    assert "model" not in torq, "a text of operations has no modules"
    assert named(opened(data / "pte" / "part_x.pte"), OPEN) == {
        "summary", "details", "memory", "sizes", "program",
    }  # fmt: skip
    assert "memory" not in named(opened(data / "pte" / "part_x.etdp"), OPEN)


def test_nothing_is_offered_without_files(opened):
    assert set(presence_in_files(opened(), 0).values()) == {Presence.NOTHING}
    assert set(presence_in_view(opened()).values()) == {Presence.NOTHING}


def test_logged_values_have_a_panel(opened, data):
    assert "numbers" in named(opened(data / "numbers" / "portable.etdp"), OPEN)
    assert "numbers" not in named(opened(data / "pte" / "llama.etdp"), OPEN)
