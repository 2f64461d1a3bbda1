"""The public description of a table: read, drafted, put into words, filled with dummy rows."""
