"""What the papers leave open: a comparison with what else a user would pick, and time."""
