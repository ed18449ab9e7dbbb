"""What a trace is: columns of slices on tracks, their clock, and questions about them.

May import numpy, pandas and the standard library; nothing else of the project, and no Qt.
"""
