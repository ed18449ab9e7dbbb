"""Analyses that combine a trace and a program. Contains packages only."""
