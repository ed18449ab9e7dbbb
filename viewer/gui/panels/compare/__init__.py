"""The Compare panel."""

from viewer.gui.panels.base.panel_spec import PageSpec, PanelArea, PanelGroup, panel_of_page

PAGE = PageSpec("compare", "Compare", f"{__name__}.panel:ComparePanel", in_view=True)
PANEL = panel_of_page(PAGE, PanelArea.SIDE, PanelGroup.TIME)
