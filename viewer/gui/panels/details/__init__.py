"""The Details panel."""

from viewer.gui.panels.base.panel_spec import PageSpec, PanelArea, PanelGroup, panel_of_page

PAGE = PageSpec("details", "Details", f"{__name__}.panel:DetailsPanel")
PANEL = panel_of_page(PAGE, PanelArea.SIDE, PanelGroup.SELECTION)
