"""The hub of a window: state, history, selection, and what panels ask about them."""
