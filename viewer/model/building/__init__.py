"""Builds traces: joins chunks, nests slices, packs lanes and checks the result."""
