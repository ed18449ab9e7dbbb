"""The toolbar with search field and link state."""
