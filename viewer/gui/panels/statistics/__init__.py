"""The Statistics panel."""

from viewer.gui.panels.base.panel_spec import LINE, PageSpec

PAGE = PageSpec(
    "statistics",
    "Statistics",
    f"{__name__}.panel:StatisticsPanel",
    ("view.fit", "selection.area", LINE, "panel.selection", "panel.details"),
)
