"""The operators, modules and source lines that a profile itself records."""
