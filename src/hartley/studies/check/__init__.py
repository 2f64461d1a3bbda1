"""Check, gates, doctor."""
