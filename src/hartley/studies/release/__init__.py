"""Design, tradeoff, release and the others that write data."""
