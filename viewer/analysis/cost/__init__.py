"""What operators, lines and modules took; every instant charged once."""
