"""Session files: the open files, the choices and the view on disk. No Qt."""
