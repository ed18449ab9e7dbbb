"""A model's source: programs, operators and debug handle maps.

May import viewer.model, viewer.codecs, numpy and the standard library; no Qt.
"""
