"""The Sizes panel."""

from viewer.gui.panels.base.panel_spec import CHOSEN, PageSpec

PAGE = PageSpec(
    "sizes",
    "Sizes",
    f"{__name__}.panel:SizesPanel",
    (*CHOSEN, "panel.source", "panel.graph", "panel.program"),
    choice="Treemap",
)
