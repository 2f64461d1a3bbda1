"""Policies that make whole records equal: generalisation and microaggregation."""
