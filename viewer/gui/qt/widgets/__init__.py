"""Small widgets and table base classes that do not depend on traces."""
