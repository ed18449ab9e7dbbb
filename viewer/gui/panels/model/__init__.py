"""The Model panel."""

from viewer.gui.panels.base.panel_spec import CHOSEN, PageSpec, PanelArea, PanelGroup, panel_of_page

PAGE = PageSpec(
    "model",
    "Model",
    f"{__name__}.panel:ModelPanel",
    (*CHOSEN, "panel.source", "panel.graph", "panel.operators"),
)
PANEL = panel_of_page(PAGE, PanelArea.LEFT, PanelGroup.MODEL)
