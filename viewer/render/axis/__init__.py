"""The horizontal axis: times as columns of pixels, lines of the ruler, and gaps. No Qt."""
