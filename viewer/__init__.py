"""Opscope: a desktop trace viewer for on-device ML profiles and the models behind them."""

__version__ = "0.1.0"

# The version of the keys of `--json` and of the columns of tables. Raised when a meaning changes; a
# new key or column leaves it.
SCHEMA = 2

APPLICATION_ID = "org.opscope.Opscope"
