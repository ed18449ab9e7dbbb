"""Derives the figures of reports a second way, with SQL from raw ticks and identities.

Nothing here imports `viewer.analysis`, whose figures it checks: the definitions are written again.
What a slice is (its group, whether it is only a scope, whether it has a link) is an identity, and
is given; every total, count, median and ratio is derived.
"""
