"""Inferences of a trace: which methods they ran, and views of a typical one."""
