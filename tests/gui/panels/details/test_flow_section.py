"""What the details card says of flows: names, costs of the run, links, and what is not known."""

from collections import Counter

import numpy as np
import pytest

from viewer.analysis.flows.dataflow import dataflow_of
from viewer.codecs.reading import never_cancelled, no_progress
from viewer.gui.panels.details.panel import DetailsPanel
from viewer.gui.session.feeds.selection import FlowFeed
from viewer.model.times import format_time, tick_to_ns
from viewer.resources import SAMPLES
from viewer.view.state import SliceRef
from viewer.workspace.perfetto_export import PerfettoJob, PerfettoOptions
from viewer.workspace.snapshot import Snapshot
from viewer.workspace.workspace import Workspace

MLP = (15, 16, 17, 18)


@pytest.fixture
def card(sample, show_details):
    """The card of a session's selection, made anew."""
    session = sample("attention_xnnpack")
    panel = show_details(session)

    def make():
        panel.refresh()
        return panel.widget()

    make.session = session
    return make


def call_of(session, operators, run=2):
    shown = session.traces[0]
    trace, inference = shown.trace, shown.trace.runs[run]
    return next(
        SliceRef(0, i) for i in range(len(trace.slices))
        if shown.link(i).operators == operators
        and inference.start <= trace.slices.start[i] < inference.end
    )  # fmt: skip


def test_the_operators_around_a_call_with_what_they_cost_in_the_run(card):
    session = card.session
    ref = call_of(session, MLP)
    session.select_slice(ref)
    shown = session.traces[0]
    table = shown.costs.of_run(shown.trace.runs[session.state.run[1]])
    cost = {
        row.operators: format_time(tick_to_ns(row.ticks, shown.axis.ns_per_tick))
        for row in table.rows
    }
    shared = next(row.operators for row in table.rows if 13 in row.operators)
    made = card()
    assert made.flows["Inputs from"].texts[:2] == [
        f"blocks.0.ln2 · layer_norm · {cost[(14,)]}",
        f"blocks.0 · add · {cost[shared]} shared",
    ]
    assert made.flows["Inputs from"].texts[2].startswith("Parameters blocks.0.mlp.fc1.bias")
    assert [text.partition(" · ")[0] for text in made.flows["Outputs to"].texts] == [
        "blocks.1.ln1", "blocks.1",
    ]  # fmt: skip


def test_its_links_go_to_the_slices_of_the_same_inference(card):
    session = card.session
    session.select_slice(call_of(session, MLP))
    target = FlowFeed.of(session).answer.flows.outputs[0].slice
    card()._follow(f"slice:0:{target}")
    assert session.state.slice == SliceRef(0, target)
    assert "blocks.0 · add" in " ".join(card().flows["Inputs from"].texts)


def test_an_operator_chosen_from_the_table_has_links_to_operators(card):
    session = card.session
    session.select_operators(0, (19,))
    texts = card().flows["Inputs from"].texts
    assert texts[0].startswith("blocks.0 · add · ")
    program = session.traces[0].table.program
    (before,) = dataflow_of(program).inputs_of(19).tolist()
    card()._follow(f"operator:0:{before}")
    assert session.state.operators == (0, (before,))


def test_inputs_of_the_model_are_named_and_an_end_of_the_model_says_so(card):
    session = card.session
    session.select_slice(call_of(session, (0,)))
    texts = card().flows["Inputs from"].texts
    assert texts[0] == "Model inputs x"
    session.select_slice(call_of(session, (34, 35, 36, 37)))
    assert card().flows["Outputs to"].texts == ["No other operator uses its result."]


def test_an_operator_without_a_slice_says_where_its_flow_comes_from(opened):
    """Views that cost nothing run in no slice of their own."""
    paths = next(s.paths() for s in SAMPLES if s.key == "attention_xnnpack")
    session = opened(*paths)
    feed = FlowFeed.of(session)
    through = set()
    slices = session.traces[0].trace.slices
    for i in np.flatnonzero(session.traces[0].table.set_of_key[slices.key] >= 0).tolist():
        session.select_slice(SliceRef(0, i))
        for forward in (False, True):
            for end in feed.answer.flows.ends(forward=forward):
                through |= set(end.through)
    timed = {o for row in session.traces[0].costs.table().rows for o in row.operators}
    assert not through & timed


def test_a_profile_without_a_record_has_no_such_sections(opened, make_panel):
    paths = next(s.paths() for s in SAMPLES if s.key == "attention_xnnpack")
    session = opened(next(p for p in paths if p.endswith(".etdp")))
    session.select_slice(SliceRef(0, 66))
    panel = make_panel(DetailsPanel, session)
    assert panel.widget().flows == {}


@pytest.fixture
def imported(opened, tmp_path):
    """A session with the export of a linked dump, whose flows its file states."""
    paths = next(s.paths() for s in SAMPLES if s.key == "attention_xnnpack")
    workspace = Workspace()
    for path in paths:
        workspace.open(path)
    out = tmp_path / "attention.pftrace"
    PerfettoJob(Snapshot.of(workspace), PerfettoOptions()).write(
        str(out), no_progress, never_cancelled
    )
    return opened(str(out))


def test_flows_that_a_file_states_are_listed_without_a_record(imported, make_panel):
    trace = imported.traces[0].trace
    taker, count = Counter(trace.flows.consumer.tolist()).most_common(1)[0]
    givers = trace.flows.producer[trace.flows.consumer == taker].tolist()
    imported.select_slice(SliceRef(0, taker))
    panel = make_panel(DetailsPanel, imported)
    made = panel.widget()
    section = made.flows["Inputs from"]
    assert section.count == count > 1
    assert {text.rpartition(" · ")[0] for text in section.texts} == {
        imported.traces[0].label(i) for i in givers
    }
    last = next(iter(set(trace.flows.consumer.tolist()) - set(trace.flows.producer.tolist())))
    imported.select_slice(SliceRef(0, last))
    panel.refresh()
    assert panel.widget().flows["Outputs to"].texts == ["No flows in the file."]
