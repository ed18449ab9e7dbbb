"""What a trace is: columns of slices on tracks, their clock, and queries about them.

May import numpy, pandas and the standard library, but nothing else from the project, and no Qt.
"""
