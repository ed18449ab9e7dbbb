"""Checks in a real browser. They are no part of the default test command: run them by name,

    packaging/test tests/browser

on a machine with Chromium (Debian: `apt install chromium`).
"""
