"""Open whatever holds a table, and know it by its columns."""
