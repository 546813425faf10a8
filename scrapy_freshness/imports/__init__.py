"""What do others know?  Files of clicks, importances and queries: bytes -> lines -> records, and how far."""
