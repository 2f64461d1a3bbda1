"""Categories merged into groups."""
