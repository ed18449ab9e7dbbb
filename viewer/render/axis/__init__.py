"""The horizontal axis: lines and labels of the ruler, and gaps in the axis. No Qt."""
