"""What every widget needs: guard, background work, settings, accessibility. Knows no trace."""
