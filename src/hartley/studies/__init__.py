"""The use cases: audit a table."""
