"""Profiles that other runtimes and compilers write: QNN, SNPE, LiteRT, Vela and Nsight Systems."""
