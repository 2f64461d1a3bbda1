"""Published tables: which whole tables fit all that they state."""
