"""The application: QApplication, windows, single instance."""
