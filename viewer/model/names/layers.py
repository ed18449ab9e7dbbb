"""Columns that say what a layer is, in the profiles of runtimes: groups of statistics.

Readers name columns so whatever the tool calls them, and layers that differ in one of them have
keys of their own.
"""

from __future__ import annotations

TYPE, UNIT, KERNEL, BACKEND, COUNT = "type", "unit", "kernel", "backend", "count"
DESCRIBING = (TYPE, UNIT, KERNEL, BACKEND, COUNT)
