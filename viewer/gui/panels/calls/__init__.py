"""The Calls panel."""

from viewer.gui.panels.base.panel_spec import LINE, PageSpec, PanelArea, PanelGroup, panel_of_page

PAGE = PageSpec(
    "calls",
    "Calls",
    f"{__name__}.panel:CallsPanel",
    ("view.fit", "selection.area", LINE, "panel.selection", "panel.details", "panel.source"),
)
PANEL = panel_of_page(PAGE, PanelArea.LEFT, PanelGroup.TIME)
