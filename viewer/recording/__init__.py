"""Runs programs on devices and on this machine, and keeps an ETDump of each session."""
