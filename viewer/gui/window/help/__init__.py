"""Help pages, help window, tour."""
