"""The shared state of a window: files, view, history, selection and background results."""
