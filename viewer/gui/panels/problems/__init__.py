"""The Problems panel."""

from viewer.gui.panels.base.panel_spec import PageSpec

PAGE = PageSpec(
    "problems",
    "Problems",
    f"{__name__}.panel:ProblemsPanel",
    ("panel.links", "file.reload"),
    of_all=True,
)
