"""What a batch of questions costs: atoms, regions, the worst case; no data is touched."""
