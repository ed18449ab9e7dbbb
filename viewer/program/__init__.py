"""What the model's source is: programs, operators, debug handle maps and links to slices.

May import viewer.model, numpy and the standard library; no Qt.
"""
