"""The Graph panel."""

from viewer.gui.panels.base.panel_spec import PageSpec, PanelArea, PanelGroup, panel_of_page

PAGE = PageSpec("graph", "Graph", f"{__name__}.panel:GraphPanel")
PANEL = panel_of_page(PAGE, PanelArea.LEFT, PanelGroup.MODEL)
