"""The Estimates panel."""

from viewer.gui.panels.base.panel_spec import CHOSEN, PageSpec, PanelArea, PanelGroup, panel_of_page

PAGE = PageSpec("estimates", "Estimates", f"{__name__}.panel:EstimatesPanel", CHOSEN, of_all=True)
PANEL = panel_of_page(PAGE, PanelArea.LEFT, PanelGroup.TIME)
