"""Tables of operators and other groups: contents, model, painting and the widget."""
