"""Checks over a real accessibility bus. They are no part of the default test command: by name,

packaging/test tests/atspi
"""
