"""Reads the debug info of the Torq compiler."""
