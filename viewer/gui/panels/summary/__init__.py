"""The Summary panel."""

from viewer.gui.panels.base.panel_spec import PageSpec, PanelArea, PanelGroup, panel_of_page

PAGE = PageSpec("summary", "Summary", f"{__name__}.panel:SummaryPanel")
PANEL = panel_of_page(PAGE, PanelArea.SIDE, PanelGroup.TIME)
