"""Color tokens, palettes, style sheet, fonts and icons."""
