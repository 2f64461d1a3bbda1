"""WHAT COULD BE TRUE, for numbers in intervals."""
