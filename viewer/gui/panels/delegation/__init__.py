"""The Delegation panel."""

from viewer.gui.panels.base.panel_spec import CHOSEN, PageSpec

PAGE = PageSpec(
    "delegation",
    "Delegation",
    f"{__name__}.panel:DelegationPanel",
    (*CHOSEN, "panel.source", "panel.links"),
    choice="Report",
)
