"""What changed by operator and in delegation, for panels."""
