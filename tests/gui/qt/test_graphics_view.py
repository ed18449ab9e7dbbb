"""The class of pyqtgraph without the rest, and all of pyqtgraph on its first use."""

import subprocess
import sys

import pytest

ALONE = """
import sys
from viewer.gui.qt.canvases import GraphicsView
assert not any(name.startswith("pyqtgraph.graphicsItems") for name in sys.modules)
import pyqtgraph
from PySide6.QtWidgets import QApplication, QGraphicsView
app = QApplication([])
view = GraphicsView(None, useOpenGL=False, background=None)
assert isinstance(view, QGraphicsView)
assert not any(name.startswith("pyqtgraph.graphicsItems") for name in sys.modules)
assert not hasattr(pyqtgraph, "__wrapped__")
assert not any(name.startswith("pyqtgraph.graphicsItems") for name in sys.modules)
"""
WHOLE = """
assert pyqtgraph.GraphicsView is GraphicsView
assert issubclass(pyqtgraph.PlotWidget, GraphicsView)
assert pyqtgraph.getConfigOption("background") == "k"
pyqtgraph.setConfigOption("background", "w")
plot = pyqtgraph.PlotWidget()
assert plot.backgroundBrush().color().name() == "#ffffff"
app.quit()
"""
LATE = """
import pyqtgraph
from viewer.gui.qt.canvases import GraphicsView
assert pyqtgraph.GraphicsView is GraphicsView
"""
# Another version, whose view takes more of its package than is there.
OTHER = """
import importlib, sys
from importlib.util import find_spec
path = find_spec("pyqtgraph").submodule_search_locations[0]
class Wants:
    @staticmethod
    def find_spec(name, path=None, target=None):
        package = sys.modules.get("pyqtgraph")
        if name == "pyqtgraph.GraphicsScene" and not hasattr(package, "__version__"):
            raise ImportError(name)
sys.meta_path.insert(0, Wants)
from viewer.gui.qt.canvases import GraphicsView
import pyqtgraph
assert pyqtgraph.GraphicsView is GraphicsView
assert pyqtgraph.PlotItem
"""


@pytest.mark.slow
@pytest.mark.parametrize("code", [ALONE + WHOLE, LATE, OTHER], ids=["alone", "late", "other"])
def test_the_view_is_that_of_pyqtgraph(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
