"""Published tables: reading them, and what each published cell says."""
