"""Finds the source files of recorded paths on this machine."""
