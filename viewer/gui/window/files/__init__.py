"""Everything that works with files: opening, saving, closing, exporting."""
