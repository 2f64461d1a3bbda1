"""Which records a batch distinguishes, and how many answers one person can cause."""
