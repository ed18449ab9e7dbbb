"""The Qt application: its windows, and the handover that keeps it to one process per user."""
