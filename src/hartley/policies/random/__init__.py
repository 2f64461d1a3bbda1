"""PRAM."""
