"""Dumps made to order, as the reader's own tests make them."""

from tests.formats.test_etdump import dump

__all__ = ["dump"]
