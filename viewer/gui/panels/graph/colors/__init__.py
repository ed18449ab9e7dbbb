"""Fills of nodes, their colors and legends."""
