"""Every figure of the five papers, recomputed."""
