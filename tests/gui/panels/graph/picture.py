"""What tests of the graph panel ask of it: operators, neighbors, nodes and clicks on them."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from viewer.analysis.flows.dataflow import dataflow_of
from viewer.gui.qt.background import Latest

# Of the sample: ln1 → qkv → chunk → three views → three transposes → attention → transpose …
QKV, CHUNK, ATTENTION = 1, 2, 9
THIN = "\u202f"


def settle(qtbot, panel):
    qtbot.waitUntil(lambda: not any(x.pending for x in panel.findChildren(Latest)))


def operators(panel):
    picture = panel.view.picture
    return set(picture.tree.operator[picture.boxes].tolist())


def leaf(panel, operator):
    return int(panel.view.picture.tree.leaf[operator])


def node(panel, operator):
    """What an operator looks like."""
    return panel.view.picture.looks[leaf(panel, operator)]


def seeds(panel):
    picture = panel.view.picture
    return {int(picture.tree.operator[node]) for node in picture.seeds}


def marked(panel):
    """The operators that are marked."""
    return {int(panel.view.picture.tree.operator[node]) for node in panel.view.marked}


def middle(panel, operator):
    return panel.view.place_of(leaf(panel, operator)).center().toPoint()


def click(panel, operator):
    QTest.mouseClick(panel.view, Qt.MouseButton.LeftButton, pos=middle(panel, operator))


def walk(panel, operator):
    """As the window system tells a double click: press, release, double click, release."""
    at = middle(panel, operator)
    QTest.mouseClick(panel.view, Qt.MouseButton.LeftButton, pos=at)
    QTest.mouseDClick(panel.view, Qt.MouseButton.LeftButton, pos=at)


def selected(panel):
    chosen = panel.session.state.operators
    return () if chosen is None else chosen[1]


def neighbors(panel, operator, hops):
    """By the record's edges alone, one after the other."""
    flow = dataflow_of(panel.session.traces[0].table.program)
    found = {operator}
    for _ in range(hops):
        found |= {int(n) for o in found for n in (*flow.inputs_of(o), *flow.outputs_of(o))}
    return found
