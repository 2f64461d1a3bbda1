"""Audit, scan, anonymity."""
