"""General Qt utilities: guard, background work, settings, accessibility, theme, widgets."""
