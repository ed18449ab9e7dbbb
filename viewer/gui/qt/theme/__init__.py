"""Tokens, palettes, style sheet, fonts, icons."""
