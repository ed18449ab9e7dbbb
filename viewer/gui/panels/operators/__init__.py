"""The Operators panel."""

from viewer.gui.panels.base.panel_spec import CHOSEN, PageSpec

PAGE = PageSpec(
    "operators",
    "Operators",
    f"{__name__}.panel:OperatorsPanel",
    (*CHOSEN, "panel.source", "panel.graph", "panel.model"),
)
