"""Small widgets and table bases that know no trace."""
