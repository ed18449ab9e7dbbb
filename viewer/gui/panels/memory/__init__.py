"""The Memory panel."""

from viewer.gui.panels.base.panel_spec import CHOSEN, PageSpec, PanelArea, PanelGroup, panel_of_page

PAGE = PageSpec(
    "memory",
    "Memory",
    f"{__name__}.panel:MemoryPanel",
    (*CHOSEN, "panel.source", "panel.graph", "panel.program"),
)
PANEL = panel_of_page(PAGE, PanelArea.LEFT, PanelGroup.MODEL)
