"""What a trace is: columns of slices on tracks, their clock, and queries about them.

May import `viewer.arrays`, `viewer.codecs`, numpy and the standard library; no Qt.
"""
