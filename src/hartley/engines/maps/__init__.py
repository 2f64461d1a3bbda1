"""How a release is executed: cells, lookups and formulas, written to a file."""
