"""The price of a batch of questions: atoms, regions and the worst case; no data is read."""
