"""What panels tell a window, and what they ask of it: none of this needs a window."""

from PySide6.QtWidgets import QListWidget

from tests.gui.fake_host import FakeHost
from viewer.formats import open_file
from viewer.gui.panels.base.panel import PagePanel
from viewer.gui.panels.base.panel_spec import Presence
from viewer.gui.session.feeds.feed import ProblemsFeed
from viewer.gui.session.session import Session
from viewer.gui.window.frame.panel_table import TABLE
from viewer.resources import SAMPLES

OPEN, AVAILABLE = Presence.OPEN, Presence.AVAILABLE


class FilesPanel(PagePanel):
    """A panel as a stranger would write it: the open files, or a button that opens some."""

    def __init__(self, host):
        super().__init__(host)
        self.list = QListWidget()
        self.list.itemActivated.connect(lambda item: self.host.show_source(item.text(), 1))
        self.set_page(self.list)
        self.refresh_on(host.session.workspace_changed)
        self.refresh()

    def refresh(self):
        self.list.clear()
        self.list.addItems(self.host.session.workspace.paths)
        self.host.show_count(self.list.count())
        if self.list.count():
            self.show_page()
        else:
            self.show_sentence("No files.", "Open files…", self.host.open_files)


def test_a_panel_lives_with_a_fake_host(theme, qtbot, data):
    host = FakeHost(Session(), theme)
    panel = FilesPanel(host)
    qtbot.addWidget(panel)
    assert panel.sentence == "No files."
    panel.empty.pressed.emit()
    path = str(data / "pte" / "cond.pte")
    host.session.add([open_file(path)])
    assert not panel.is_empty
    panel.list.itemActivated.emit(panel.list.item(0))
    assert host.asked == [("open_files",), ("show_source", path, 1)]
    assert host.counts[0] == 0
    assert host.counts[-1] == 1


def test_by_default_a_panel_adds_nothing_to_its_window(theme, qtbot):
    panel = FilesPanel(FakeHost(Session(), theme))
    qtbot.addWidget(panel)
    assert not panel.stop()
    assert not panel.marked_areas()


def presences(session, *, in_view=False):
    return {
        name: page.presence(session)
        for name, page in TABLE.pages.items()
        if page.in_view is in_view
    }


def named(session, presence):
    return {name for name, own in presences(session).items() if own is presence}


def test_few_panels_open_for_a_profile_with_its_record(sample):
    session = sample("attention_xnnpack")
    assert named(session, OPEN) == {
        "summary", "details", "operators", "calls", "model", "graph", "delegation", "source",
    }  # fmt: skip
    assert named(session, AVAILABLE) >= {"findings", "statistics", "events", "links"}
    ProblemsFeed.of(session).add_failure("/some/bad.etdp", "the file is empty")
    assert "problems" in named(session, OPEN)


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
    assert named(session, AVAILABLE) == {"query"}


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


def test_nothing_is_offered_in_the_view_without_files(opened):
    assert set(presences(opened(), in_view=True).values()) == {Presence.NOTHING}


def test_logged_values_have_a_panel(opened, data):
    assert "numbers" in named(opened(data / "numbers" / "portable.etdp"), OPEN)
    assert "numbers" not in named(opened(data / "pte" / "llama.etdp"), OPEN)
