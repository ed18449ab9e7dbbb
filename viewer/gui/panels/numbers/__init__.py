"""The Numbers panel."""

from viewer.gui.panels.base.panel_spec import CHOSEN, PageSpec, PanelArea, PanelGroup, panel_of_page

PAGE = PageSpec(
    "numbers",
    "Numbers",
    f"{__name__}.panel:NumbersPanel",
    (*CHOSEN, "panel.source", "panel.graph", "panel.untimed"),
)
PANEL = panel_of_page(PAGE, PanelArea.LEFT, PanelGroup.MODEL)
