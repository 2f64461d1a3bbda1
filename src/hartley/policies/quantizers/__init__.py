"""Numbers released as cells: uniform and optimal quantizers, and budgets shared among them."""
