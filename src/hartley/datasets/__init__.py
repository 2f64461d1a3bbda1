"""Data to try things on: seeded generators."""
