"""What answers leave possible: consistent records, bounds with proofs."""
