"""Planned memory of a program: which bytes are in use at which instruction, and for what."""
