"""Durable, append-only, hash-chained."""
