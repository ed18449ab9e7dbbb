"""What a trace and a program say together. Only folders; no module of its own."""
