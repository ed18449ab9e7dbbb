"""Tables of panels as data: columns, one model and one view for all of them."""
