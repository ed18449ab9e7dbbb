"""The only way to make a trace: joins chunks, nests, packs lanes, checks."""
