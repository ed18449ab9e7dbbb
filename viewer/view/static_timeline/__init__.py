"""The timeline of open traces as data and as SVG, for files that are read without Opscope."""
