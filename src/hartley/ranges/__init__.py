"""WHAT COULD BE TRUE: ranges of uncertain variables, and their relations."""
