"""`GraphicsView` of pyqtgraph, without the rest of pyqtgraph until a chart needs it.

pyqtgraph imports all its plots, items and widgets at once: 145 modules, a fifth of the time from
the start to the first frame, for one class. Here its package exists first without its contents, and
the module of that class is imported from it. The first use of anything else of the package, such as
`pyqtgraph.PlotItem`, executes its contents.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

_NAME = "pyqtgraph"
_VIEW = f"{_NAME}.widgets.GraphicsView"


def _import_view() -> Any:
    """Import the module of the view, alone if possible."""
    spec = importlib.util.find_spec(_NAME)
    if _NAME in sys.modules or spec is None or spec.loader is None:
        return importlib.import_module(_VIEW)
    package = sys.modules[_NAME] = importlib.util.module_from_spec(spec)
    loader = spec.loader

    def contents(name: str) -> Any:
        """Execute the package, which has its names from then on."""
        if name.startswith("__"):
            raise AttributeError(name)  # of an import or a look at all modules
        del package.__getattr__
        loader.exec_module(package)
        return getattr(package, name)

    def option(name: str) -> Any:
        return package.CONFIG_OPTIONS[name]

    # What the module of the view takes from its package.
    package.getConfigOption = option  # type: ignore[attr-defined]
    package._connectCleanup = _nothing_to_clean_up  # type: ignore[attr-defined]
    try:
        view = importlib.import_module(_VIEW)
    except (ImportError, AttributeError):  # another version takes more
        _forget(package)
        return importlib.import_module(_VIEW)
    package.__getattr__ = contents  # type: ignore[method-assign]
    return view


def _nothing_to_clean_up() -> None:
    """pyqtgraph's own function stops its plots at the exit, of which there are none yet."""


def _forget(package: ModuleType) -> None:
    for name in [name for name in sys.modules if name == _NAME or name.startswith(f"{_NAME}.")]:
        del sys.modules[name]


GraphicsView = _import_view().GraphicsView
