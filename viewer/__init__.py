"""Opscope: a desktop trace viewer for on-device ML profiles and the models behind them."""

__version__ = "0.1.0"

APPLICATION_ID = "org.opscope.Opscope"
