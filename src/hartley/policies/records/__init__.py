"""Whole records made alike: generalisation and microaggregation."""
