"""What panels share: answer panels, grouped tables, cost footer, swatches."""
