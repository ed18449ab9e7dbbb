"""The Findings panel."""

from viewer.gui.panels.base.panel_spec import CHOSEN, LINE, PageSpec

PAGE = PageSpec(
    "findings",
    "Findings",
    f"{__name__}.panel:FindingsPanel",
    (*CHOSEN, "panel.operators", "panel.source", LINE, "mark.keep"),
)
